"""The asked question: its words as understood before the memory is opened."""

from __future__ import annotations

from dataclasses import dataclass

from hades.domain.answer import Intent, Mode
from hades.domain.times import AsOf


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its intent, mode, space and moment."""

    text: str
    intent: Intent
    evidence: str
    """The words that decided the intent."""
    mode: Mode
    space: str
    as_of: AsOf
