"""Usage: what calls to a language model took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of calls to a language model, with retries. An estimate is an upper bound."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """In the currency of the settings; None if no price is known."""
    seconds: float

    def __add__(self, more: Usage) -> Usage:
        """Return the sum, with the model name of the later one."""
        cost = None if self.cost is None or more.cost is None else self.cost + more.cost
        return Usage(
            more.model,
            self.prompt_tokens + more.prompt_tokens,
            self.completion_tokens + more.completion_tokens,
            cost,
            self.seconds + more.seconds,
        )

    def __str__(self) -> str:
        """Return a line such as `smol: 120 tokens read, 30 written, cost 0.00018`."""
        cost = "" if self.cost is None else f", cost {self.cost:.6g}"
        tokens = f"{self.prompt_tokens:,} tokens read, {self.completion_tokens:,} written"
        return f"{self.model}: {tokens}{cost}"
