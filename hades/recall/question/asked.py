"""What is asked: a question as its words are understood, before the memory is opened."""

from __future__ import annotations

from dataclasses import dataclass

from hades.domain.answer import Intent, Mode
from hades.domain.times import AsOf


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question, its kind, and where and when it is asked about."""

    text: str
    intent: Intent
    evidence: str
    """The words that decided the intent."""
    mode: Mode
    space: str
    """The name of the space."""
    as_of: AsOf
