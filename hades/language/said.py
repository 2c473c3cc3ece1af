"""Sentences of a conversation, each with the text before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hades.domain.fitting import fitting
from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences

WORDS_BEFORE = 50
WORDS_OWN = 25
WORDS_AFTER = 25
"""How many words of context a sentence gets: from the turn before, before it in its own turn, and
after it."""
TURN_CHARACTERS_AT_MOST = 4_000
"""A longer turn is read in part: half of this from its beginning and half from its end. The middle
of a long turn is mostly pasted text."""
ANSWERING = " (answering “"
"""The text between a statement and its quotation of the turn before."""
USERS = ("user", "human")
ASSISTANTS = ("assistant", "ai", "bot", "model")
_QUOTED = lazy_pattern(r"```[^`]{0,20000}(?:```|$)|^ {0,3}>.*$", 8)


@dataclass(frozen=True, slots=True)
class SaidSentence:
    """A sentence of a turn, with its context."""

    turn: int
    """The number of its turn, from 0."""
    start: int
    end: int
    """Its place in the text of the turn."""
    text: str
    speaker: str
    asked: str
    """The end of the turn before."""
    asked_by: str
    """The speaker of the turn before."""
    own: str
    """The last words before the sentence in its own turn."""
    after: str
    """The first words after the sentence in its own turn, and of the next turn."""

    @property
    def is_alone(self) -> bool:
        """Whether it is read without anything before or after it."""
        return not any(self.read[1:])

    @property
    def read(self) -> tuple[str, str, str]:
        """The texts that the keeper reads together: the sentence, the text before it, and after."""
        before = (f"{self.asked_by}: {self.asked}" if self.asked else "", self.own)
        return f"{self.speaker}: {self.text}", " / ".join(filter(None, before)), self.after


def said_sentences(turns: Sequence[tuple[str, str]]) -> Iterator[SaidSentence]:
    """Yield the sentences of turns (speaker, text); code and quoted lines are left out.

    The sentences of a single message have no context: its other sentences are often other facts.
    """
    plain = [_plain(text) for _, text in turns]
    for number, ((speaker, _), text) in enumerate(zip(turns, plain, strict=True)):
        own = [part.strip() for part in sentences(text) if part.strip()]
        then = _first(turns[number + 1][0], plain[number + 1]) if number + 1 < len(turns) else ""
        asked = _last(plain[number - 1]) if number else ""
        end = 0
        for place, part in enumerate(own):
            start = max(text.find(part, end), end)
            end = start + len(part)
            before = own[:place] if len(turns) > 1 else []
            after = own[place + 1 :] if len(turns) > 1 else []
            yield SaidSentence(
                turn=number,
                start=start,
                end=end,
                text=part,
                speaker=speaker,
                asked=asked,
                asked_by=turns[number - 1][0] if number else "",
                own=_cut_front(" ".join(before), WORDS_OWN),
                after=" / ".join(filter(None, (_cut(" ".join(after)), then))),
            )


def as_statement(neighbours: Sequence[SaidSentence], *, leans: bool) -> str:
    """Return neighbouring sentences of a turn as one text that can be read alone.

    With `leans`, the sentences need the turn before to be understood, so its end is quoted. The
    speaker is named first, unless it is the user.

    >>> turns = [("assistant", "Shall we use Actions?"), ("user", "yes, do that")]
    >>> as_statement([*said_sentences(turns)][1:], leans=True)
    'yes, do that (answering “Shall we use Actions?”)'
    """
    text = " ".join(one.text for one in neighbours)
    name = "" if neighbours[0].speaker.casefold() in USERS else f"{neighbours[0].speaker}: "
    if not leans or not neighbours[0].asked:
        return f"{name}{text}"
    # Join the sentences of the quotation, so that the text stays one sentence.
    asked = "; ".join(part.strip(" .…") for part in sentences(neighbours[0].asked))
    return f"{name}{text.rstrip('.')}{ANSWERING}{asked}”)"


def _plain(text: str) -> str:
    """Replace code, quoted lines and the middle of a long turn by spaces; keep all positions."""
    half = TURN_CHARACTERS_AT_MOST // 2
    if len(text) > TURN_CHARACTERS_AT_MOST:
        text = text[:half] + " " * (len(text) - 2 * half) + text[-half:]
    return _QUOTED.sub(lambda match: " " * len(match[0]), text)


def _last(text: str) -> str:
    """Return the last sentences of a turn that fit into WORDS_BEFORE, or else its last words."""
    parts = [part.strip() for part in sentences(text) if part.strip()]
    fits = len(fitting((len(part.split()) for part in reversed(parts)), WORDS_BEFORE))
    return " ".join(parts[-fits:]) if fits else _cut_front(text, WORDS_BEFORE)


def _first(speaker: str, text: str) -> str:
    return f"{speaker}: {_cut(text)}"


def _cut(text: str) -> str:
    return " ".join(text.split()[:WORDS_AFTER])


def _cut_front(text: str, words: int) -> str:
    return " ".join(text.split()[-words:])
