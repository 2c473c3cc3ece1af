"""Distilling: find the sentences of a conversation that are worth keeping.

The keeper judges each sentence with the turn before it. Neighbouring sentences become one
statement. A statement that cannot be understood alone quotes the end of the turn before. Only
the words of people and assistants are read. Code, quoted lines and the middle of long turns are
left out, because they are mostly pasted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote

from hades.domain.topics import State
from hades.language.english.lexicon import STOP_WORDS
from hades.language.english.moments import said_moment
from hades.language.english.small_talk import is_talk
from hades.language.english.written_times import read_written_time
from hades.language.patterns import lazy_pattern
from hades.language.said import (
    ANSWERING,
    ASSISTANTS,
    USERS,
    SaidSentence,
    as_statement,
    said_sentences,
)
from hades.language.words import words
from hades.models.keeper import JudgedSentence, load_keeper

WORTH = -1.0
"""The least logit of the keeper to keep a sentence. This and the next two were chosen on four
projects of `training/said` that the keeper did not learn from."""
LEANS = -1.0
"""The least logit to quote the turn before."""
REPLACES = 0.0
"""The least logit to replace another statement; 80 % of these replacements are right."""
JOINS = -3.0
"""The logit from which a sentence joins a neighbour that is kept."""
FEW_TURNS = 6
"""In a talk of at most this many turns, what a user says is also judged without its context, like a
message that comes alone. The keeper learnt from long talks, and the context of a short one makes it
doubt plain decisions. In long talks this would keep too much that is not worth it
(docs/lab/details.md)."""
SURE_ALONE = 0.0
"""The least logit to keep a sentence that is judged without context."""
SENTENCES_AT_ONCE = 3
"""The most neighbouring sentences that become one statement."""
NAME_WORDS = 4
"""The most words of a new topic's name."""
USERS_FOLDER = "users"
_UNSAFE = lazy_pattern(r"[%/*?\[]")
OTHER_ROLES = ("system", "tool", "function", "developer")
"""Roles whose messages are instructions or the output of programs, not something that somebody
said."""
_TURN = lazy_pattern(r"(?:\[([^\]\n]{1,60})\] )?([^:\n]{1,80}): +(?=\S)")
_DAY_WORDS = lazy_pattern(
    r"\b(?:today|tonight|tomorrow|yesterday|this weekend|(?:next|last) (?:week|month|year|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b",
    re.IGNORECASE,
)


class Turn(NamedTuple):
    """One turn of a conversation."""

    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement to keep, before it is compared with stored notes."""

    kind: str
    text: str
    by: str
    at: datetime
    turn: int
    worth: float
    mark: str
    """A digest of the words and of the turn before. A second run recognises the statement by it."""


def candidates(turns: Sequence[Turn], first: int = 0) -> Iterator[Candidate]:
    """Yield the statements worth keeping of turn number `first` and later, in order."""
    sentences = [
        sentence
        for sentence in said_sentences([(turn.speaker, turn.text) for turn in turns])
        if sentence.turn >= first
    ]
    for _, judged in groupby(_judged(sentences, len(turns)), key=lambda one: one.said.turn):
        for group in _groups(list(judged)):
            yield _candidate(group, turns)


def _judged(sentences: Sequence[SaidSentence], turns: int) -> Sequence[JudgedSentence]:
    """Return the keeper's judgement of sentences; in a short talk the better of two."""
    judged = load_keeper().judge(sentences)
    if turns > FEW_TURNS:
        return judged
    alone = [replace(one, asked="", asked_by="", own="", after="") for one in sentences]
    return [
        replace(one, worth=max(one.worth, other.worth))
        if one.said.speaker in USERS and one.worth >= JOINS and other.worth >= SURE_ALONE
        else one
        for one, other in zip(judged, load_keeper().judge(alone), strict=True)
    ]


def whole_turns(turns: Sequence[Turn]) -> Iterator[Candidate]:
    """Yield each turn as one statement, for turns whose speaker asked to keep them.

    A turn that the keeper would not keep gets the kind `fact`.
    """
    sentences = [
        SaidSentence(
            turn=number,
            start=0,
            end=len(turn.text),
            text=turn.text,
            speaker=turn.speaker,
            asked="",
            asked_by="",
            own="",
            after="",
        )
        for number, turn in enumerate(turns)
    ]
    for judged in load_keeper().judge(sentences):
        candidate = _candidate([judged], turns)
        yield candidate if judged.worth >= WORTH else replace(candidate, kind="fact")


def _groups(judged: Sequence[JudgedSentence]) -> Iterator[list[JudgedSentence]]:
    """Yield groups of neighbouring sentences with at least one that is worth keeping.

    A sentence with a logit of at least JOINS joins its neighbours, because it may name their
    subject.
    """
    group: list[JudgedSentence] = []
    for sentence in (*judged, None):
        joins = sentence is not None and sentence.worth >= JOINS and not is_talk(sentence.said.text)
        if group and not (joins and len(group) < SENTENCES_AT_ONCE):
            if any(one.worth >= WORTH for one in group):
                yield group
            group = []
        if sentence is not None and joins:
            group.append(sentence)


def _candidate(group: Sequence[JudgedSentence], turns: Sequence[Turn]) -> Candidate:
    sentences = [one.said for one in group]
    first = sentences[0]
    at = turns[first.turn].at
    text = as_statement(sentences, leans=max(one.leans for one in group) >= LEANS)
    marked = "\0".join((first.asked, first.speaker, *(one.text for one in sentences)))
    return Candidate(
        kind=max(group, key=lambda one: one.worth).kind,
        text=with_dates(text, at),
        by=first.speaker,
        at=at,
        turn=first.turn,
        worth=max(one.worth for one in group),
        mark=sha256(marked.encode("utf-8", "replace")).hexdigest()[:16],
    )


def with_dates(text: str, at: datetime) -> str:
    """Return a text with dates added to words such as `tomorrow`; `at` is when it was said.

    >>> with_dates("we ship tomorrow", datetime(2026, 3, 24, tzinfo=UTC))
    'we ship tomorrow (2026-03-25)'
    """

    def dated(match: re.Match[str]) -> str:
        day = said_moment(match[0].casefold(), at)
        return match[0] if day is None else f"{match[0]} ({day:%Y-%m-%d})"

    return _DAY_WORDS.sub(dated, text)


def topic_name(candidate: Candidate, user: str | None) -> str:
    """Return a name for a new topic: the user, the kind and the first words that mean something."""
    own, _, asked = candidate.text.casefold().partition(ANSWERING)
    telling = [word for word in (*words(own), *words(asked)) if word not in STOP_WORDS]
    name = "_".join(telling[:NAME_WORDS])[:80] or candidate.mark
    return f"{folder_of(user)}{candidate.kind}s/{name}"


def folder_of(user: str | None) -> str:
    """Return the folder of the topics of a user; "" without a user.

    Slashes and wildcards are percent-encoded, so that no user sees the folder of another.

    >>> folder_of("ana"), folder_of("*")
    ('users/ana/', 'users/%2A/')
    """
    if user is None:
        return ""
    name = _UNSAFE.sub(lambda match: quote(match[0], safe=""), user)
    return f"{USERS_FOLDER}/{name}/"


def turns_of(state: State) -> list[Turn]:
    """Return the turns of a stored conversation: paragraphs that begin with a speaker's name."""
    paragraphs = state.content.split("\n\n")
    heads = [_TURN.match(paragraph) for paragraph in paragraphs]
    counts = Counter(head[2] for head in heads if head)
    known = state.metadata.get("participants") or [name for name in counts if counts[name] > 1]
    turns: list[Turn] = []
    for paragraph, head in zip(paragraphs, heads, strict=True):
        name = head[2].casefold() if head else ""
        if head and (head[2] in known or name in USERS + ASSISTANTS + OTHER_ROLES):
            written = read_written_time(head[1])
            at = written.at if written else state.valid_from
            text = "" if name in OTHER_ROLES else paragraph[head.end() :]
            turns.append(Turn(head[2], text, at))
        elif turns:
            last = turns[-1]
            turns[-1] = last._replace(text=f"{last.text}\n\n{paragraph}")
    return turns


def turns_of_messages(messages: Sequence[Mapping[str, Any]], now: datetime) -> list[Turn]:
    """Return the turns of messages {role or name, content, at}.

    Empty messages, and those of tools and programs, are left out.
    """
    turns = []
    for message in messages:
        written = read_written_time(message.get("at"))
        speaker = message.get("name") or message.get("role", "user")
        text = message["content"].strip()
        if text and str(message.get("role", "user")).casefold() not in OTHER_ROLES:
            turns.append(Turn(str(speaker), text, written.at if written else now))
    return turns
