"""Language models behind OpenAI-compatible endpoints: vLLM, OpenRouter, Ollama, llama.cpp.

A model is called only on request. Its replies are not trusted: they are limited in time and bytes,
and JSON is validated here even if the server promises a schema. Keys come only from the
environment and appear in no message.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from hades.breaker import breaker_of
from hades.domain.answer import Usage as Usage
from hades.errors import Denied, HadesError, InvalidInput, Unavailable, lacking
from hades.models.event_loop import run_async

if TYPE_CHECKING:
    import openai
    from pydantic import BaseModel

    from hades.settings import ModelSetting

T = TypeVar("T", bound="BaseModel")
Result = TypeVar("Result")

REPLY_BYTES_AT_MOST = 2**20
"""The most bytes of a reply: 100,000 tokens fit."""
TOKEN_CHARACTERS_AT_MOST = 32
"""The most characters of a reply for each requested token. A longer reply is cut."""
QUOTED_CHARACTERS = 200
MESSAGE_TOKENS = 8
"""Approximate tokens that a chat template adds to a message."""
OUR_TOKENS = 0.75
"""The least number of tokens of the built-in encoder for a token of a model. SmolLM2 has 1.1 to 1.2
tokens for one of the encoder's."""
DEFAULT = "default"


class UnusableReply(Unavailable):
    """The model replied, but its reply is empty, not JSON or, even after a retry, not valid."""


@dataclass(frozen=True, slots=True)
class ModelTotals:
    """The calls, tokens and cost of one model in this process."""

    calls: int = 0
    failures: int = 0
    """Calls without a usable reply."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model of the settings, with its totals in this process."""

    name: str
    model: str
    """Its name at the server."""
    input_price: float | None
    output_price: float | None
    """Both prices are per million tokens."""
    context_tokens: int
    totals: ModelTotals
    answers: bool | None = None
    """Whether it answers, or None if it was not tried."""
    why: str = ""
    """The reason why it does not answer."""


_totals: dict[str, ModelTotals] = {}
_adding = Lock()


def totals() -> dict[str, ModelTotals]:
    """Return the totals of each model in this process, by name."""
    with _adding:
        return dict(_totals)


def tokens_of(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text for the built-in encoder, which is loaded then."""
    from hades.models.encoder import count_tokens

    return count_tokens(texts)


def _count(name: str, **more: Any) -> None:
    with _adding:
        was = _totals.get(name, ModelTotals())
        now = {field: getattr(was, field) + by for field, by in more.items()}
        _totals[name] = replace(was, **now)


def open_chat_model(name: str = DEFAULT) -> ChatModel:
    """Return a model by its name in the settings; `default` tries all of them in order.

    No request is sent yet. Raise InvalidInput for another name, Unavailable without any model.
    """
    from hades.settings import load_settings

    known = load_settings().all_models()
    chosen = known if name == DEFAULT else tuple(model for model in known if model.name == name)
    if not known:
        raise Unavailable("No language model is set: name one with HADES_MODEL or `models:`.")
    if not chosen:
        names = ", ".join(model.name for model in known)
        raise InvalidInput(f"No model is called {name!r}: use default, {names}.")
    return ChatModel(chosen)


class ChatModel:
    """A model, and others to try in order if it fails or gives no usable reply."""

    def __init__(self, models: Sequence[ModelSetting]) -> None:
        self._models = tuple(models)

    @property
    def name(self) -> str:
        """The name of the first model."""
        return self._models[0].name

    def room(self, instructions: str, *, max_tokens: int) -> int:
        """Return how many tokens, as the built-in encoder counts them, the first model's window has
        left for a text."""
        taken = self.estimate(instructions, "", max_tokens=max_tokens)
        left = self._models[0].context_tokens - taken.prompt_tokens - max_tokens
        return int(left * OUR_TOKENS)

    def estimate(self, instructions: str, text: str, *, max_tokens: int) -> Usage:
        """Return the most tokens and cost of a call, if the first model answers without a retry."""
        prompt = sum(tokens_of([instructions, text])) + 2 * MESSAGE_TOKENS
        return _usage(self._models[0], prompt, max_tokens, 0.0)

    def complete(self, instructions: str, text: str, *, max_tokens: int) -> tuple[str, Usage]:
        """Send instructions and a text. Return the reply and its usage."""
        sent = instructions, text, max_tokens
        return self._first(*sent, lambda endpoint: endpoint.ask(instructions, [text], max_tokens))

    def complete_json(
        self, instructions: str, text: str, schema: type[T], *, max_tokens: int
    ) -> tuple[T, Usage]:
        """Like `complete`, but return an object of a schema. If it is invalid, ask once more."""
        sent = instructions, text, max_tokens
        return self._first(*sent, lambda endpoint: endpoint.ask_json(*sent, schema))

    def _first(
        self,
        instructions: str,
        text: str,
        max_tokens: int,
        ask: Callable[[_Endpoint], tuple[Result, Usage]],
    ) -> tuple[Result, Usage]:
        """Return the reply of the first model that gives one, or raise the error of the last."""
        needed = self.estimate(instructions, text, max_tokens=max_tokens)
        tokens = needed.prompt_tokens + max_tokens
        faults: list[HadesError] = []
        for setting in self._models:
            if tokens > setting.context_tokens:
                trouble = f"{setting.name} reads {setting.context_tokens} tokens, not {tokens}"
                faults.append(InvalidInput(f"{trouble}: ask with a smaller budget."))
                continue
            try:
                return ask(_Endpoint(setting))
            except (Unavailable, Denied, InvalidInput) as fault:
                _count(setting.name, failures=1)
                faults.append(fault)
        raise faults[-1]


class _Endpoint:
    """One model on one server."""

    def __init__(self, setting: ModelSetting) -> None:
        self._setting = setting
        self._key = setting.read_key()
        self._breaker = breaker_of(setting.url)
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise Denied(
                f"The key of the model {setting.name} contains characters that a key cannot have."
            )

    def ask(
        self, instructions: str, texts: Sequence[str], max_tokens: int, **more: Any
    ) -> tuple[str, Usage]:
        """Return the reply to a conversation; `texts` alternate between user and model."""
        roles = ("user", "assistant")
        messages = [{"role": "system", "content": _encodable(instructions)}]
        for at, text in enumerate(texts):
            messages.append({"role": roles[at % 2], "content": _encodable(text)})
        body = {"model": self._setting.model, "messages": messages}
        limits = {"max_tokens": max_tokens, "temperature": 0}
        begun = time.monotonic()
        import asyncio

        try:
            import openai
        except ImportError:
            raise lacking("Language models need", "llm") from None
        client = self._client()
        send: Any = client.chat.completions.create

        async def answer() -> Any:
            async with asyncio.timeout(self._setting.timeout_s), client:
                try:
                    return await send(**body, **more, **limits)
                except (openai.BadRequestError, openai.UnprocessableEntityError):
                    if more:
                        raise
                    # Reasoning models accept neither max_tokens nor temperature.
                    return await send(**body, max_completion_tokens=max_tokens)

        with self._breaker.guard():
            try:
                done = run_async(answer)
            except TimeoutError:
                within = f"within {self._setting.timeout_s:g} seconds"
                raise Unavailable(f"{self._address} did not answer {within}.") from None
            # Errors of the client quote the server, and servers quote keys.
            except openai.APIStatusError as error:
                raise self._refused(error) from None
            except openai.OpenAIError as error:
                trouble = type(error.__cause__ or error).__name__
                raise Unavailable(f"{self._address} did not answer: {trouble}.") from None
            except (ValueError, RecursionError):
                raise UnusableReply(f"{self._address} did not answer with JSON.") from None
        text = _text_of(done)[: max_tokens * TOKEN_CHARACTERS_AT_MOST]
        usage = self._used(done, [instructions, *texts], text, time.monotonic() - begun)
        if not text.strip():
            raise UnusableReply(f"{self._address} sent an empty or unreadable reply.")
        return text, usage

    def ask_json(
        self, instructions: str, text: str, max_tokens: int, schema: type[T]
    ) -> tuple[T, Usage]:
        """Return an object of a schema, by the server's schema support or by instructions."""
        from pydantic import ValidationError

        form = schema.model_json_schema()
        in_words = f"{instructions}\nAnswer with one JSON object of this schema, nothing else:\n"
        in_words += json.dumps(form, ensure_ascii=False, separators=(",", ":"))
        asked_for = {"type": "json_schema", "json_schema": {"name": "reply", "schema": form}}
        texts = [text]
        usage = None
        fault = ""
        for _ in range(2):
            try:
                reply, took = self.ask(instructions, texts, max_tokens, response_format=asked_for)
            except InvalidInput:  # the server does not support schemas, or not this one
                reply, took = self.ask(in_words, texts, max_tokens)
            usage = took if usage is None else usage + took
            try:
                # Models may put the object in a fence or between words.
                json_text = reply[max(reply.find("{"), 0) : reply.rfind("}") + 1]
                return schema.model_validate_json(json_text), usage
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(str(part) for part in first["loc"])
                fault = f"{where}: {first['msg']}".removeprefix(": ")[:QUOTED_CHARACTERS]
                wanted = "Answer again, with the JSON object only."
                texts = [text, reply, f"Wrong: {fault}. {wanted}"]
        raise UnusableReply(f"{self._setting.name} did not answer as asked: {fault}.")

    @property
    def _address(self) -> str:
        return f"The model {self._setting.name} at {self._setting.url}"

    def _client(self) -> openai.AsyncOpenAI:
        import openai

        from hades.models.bounded_http import bounded_client

        client = openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._setting.url,
            timeout=None,  # the deadline of the whole call is enough
            max_retries=self._setting.retries,
            http_client=bounded_client(REPLY_BYTES_AT_MOST),
        )
        # The client reads these from the environment, where they are meant for OpenAI.
        client.organization = client.project = None
        return client

    def _refused(self, error: openai.APIStatusError) -> HadesError:
        # The error's own text would be a Python dictionary.
        message = str(error.body.get("message", error) if isinstance(error.body, dict) else error)
        if self._key:
            message = message.replace(self._key, "(key)")
        trouble = " ".join(message.split())[:QUOTED_CHARACTERS]
        if error.status_code in (401, 403):
            return Denied(f"{self._address} refused the key: status {error.status_code}.")
        if error.status_code in (408, 409, 429) or error.status_code >= 500:
            return Unavailable(f"{self._address} did not answer: {trouble}")
        return InvalidInput(f"{self._address} refused the request: {trouble}")

    def _used(self, done: Any, sent: Sequence[str], text: str, seconds: float) -> Usage:
        """Record and return the tokens used, as the server counts them, or else the built-in
        encoder."""
        counted = getattr(done, "usage", None)
        prompt = getattr(counted, "prompt_tokens", None)
        completion = getattr(counted, "completion_tokens", None)
        if not isinstance(prompt, int) or not isinstance(completion, int):
            prompt = sum(tokens_of(sent))
            completion = tokens_of([text])[0]
        prompt = max(prompt, 0)
        completion = max(completion, 0)
        usage = _usage(self._setting, prompt, completion, seconds)
        used = {"prompt_tokens": prompt, "completion_tokens": completion}
        _count(self._setting.name, calls=1, cost=usage.cost or 0.0, **used)
        return usage


def _text_of(done: Any) -> str:
    """Return the text of a reply, or "" if the reply has another form."""
    try:
        text = done.choices[0].message.content
    except (AttributeError, IndexError, KeyError, TypeError):
        return ""
    return _encodable(text) if isinstance(text, str) else ""


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, which cannot be sent or stored."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _usage(setting: ModelSetting, prompt: int, completion: int, seconds: float) -> Usage:
    cost = None
    if setting.input_price is not None and setting.output_price is not None:
        cost = (prompt * setting.input_price + completion * setting.output_price) / 1_000_000
    return Usage(setting.name, prompt, completion, cost, seconds)
