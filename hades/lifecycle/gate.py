"""The write gate: refuses a note that says nothing new.

It refuses small talk, sentences that current notes already contain, and output of HADES that is
fed back. A sentence is a repetition only if one earlier sentence has all its words in the same
order, so a new number, date, name or negation always passes. A sentence about another day passes
too: the event happened again.

Only notes of the same author count as repeated, if they are at least as sure as the new note and
all their other sentences are plain statements. When such a note is forgotten or changed, the notes
that were refused because of it wait for review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from hades.domain.proposal import SAID_ALREADY, SAID_NO_MORE, Proposal
from hades.domain.times import from_micros
from hades.language.english.contradiction import entails, is_about_one_thing
from hades.language.english.moments import parse_time
from hades.language.english.small_talk import is_talk
from hades.language.english.speculation import is_asserted
from hades.language.names import DATE
from hades.language.patterns import lazy_pattern
from hades.lifecycle.similar_notes import CurrentNote, sentences_of, similar_notes
from hades.store.records import Draft, Write
from hades.store.store import Store

_HEAD = lazy_pattern(
    r"^(?:(?:\[\w{1,9}\]|\d{1,4}\.) .{1,400}"
    r"(?:@\d+(?:#\d+)?(?:, (?:lines? )?\d| \()|:\d+(?:–\d+)?  )"
    r"|version  true since .{1,90}  content *$|\[F\d{1,4}\] edge \d|F\d{1,4}  .{1,400}  belief \d"
    r"|Facts:\n\[F1\] )",
    re.MULTILINE,
)
"""Matches the head of a passage or fact, as HADES writes it into a context or on a terminal."""
_BESIDE = lazy_pattern(
    r"[\sa-z[(“]|Question: |(?:Facts|Paths|Passages|Latest states|Summaries|Details):|[FP]\d+  "
    r"|\d+ +\d{4}-|[\d,]+ (?:of [\d,]+ )?tokens |.*\[F?\d+\]$"
    r"|(?i:here|this|these|from|according|i (?:found|recalled|know)|hades|recalled|context|memory"
    r"|relevant)\b.{0,100}:$"
)
"""Matches other lines of a context: indented text, remarks in lower case, headings, an
introduction."""
_STATE = r'id":\s*"[^"\n]+@\d+",\s*"topic'
_ANSWER = r'text":\s*"(?:[^"\\\n]|\\.){0,99999}",\s*"shortfall'
_JSON = lazy_pattern(rf'(?s)[\[{{\s]+"(?:{_STATE}|{_ANSWER})":.*[}}\]]\s*')
"""The output of `get`, `history` and `ask` with `--json`."""


def refusal(topic: str, draft: Draft, author: str, similar: Iterable[CurrentNote]) -> str:
    """Return why an author's note is refused, as the end of a sentence; "" if it may be stored.

    A new version of a topic that brings tags, metadata or times is never a repetition of the topic.
    """
    text = draft.content or ""
    own = sentences_of(text)
    sure = 1.0 if draft.confidence is None else draft.confidence
    given = draft.tags, draft.metadata, draft.importance, draft.confidence, draft.valid_from
    notes = []
    for note in similar:
        if note.topic == topic and note.sentences == own:
            return ""  # an identical text makes no new version anyway
        is_news = note.topic == topic and any(value is not None for value in given)
        if note.author == author and note.confidence >= sure and not is_news:
            notes.append(note)
    same = [value for value in notes if _means_what_it_says(value, own)]
    return nothing_new(topic, text, same, draft.valid_from)


def _means_what_it_says(note: CurrentNote, own: Sequence[str]) -> bool:
    """Return whether each sentence of a note is a plain statement, or follows from a sentence of
    `own`."""
    return all(is_asserted(old) or any(entails(new, old) for new in own) for old in note.sentences)


def reconsider(store: Store, write: Write, space: int, topic: str, actor: str) -> None:
    """Let notes that were refused because of a topic wait for review, if no note says the same now.

    The actor is the author of the write in progress, which the change log does not have yet.
    """
    for refused in store.proposals.refused_for(space, topic):
        if not _is_refused(store, space, refused, actor):
            store.proposals.decide(write, refused.id, "waiting", None, SAID_NO_MORE)


def _is_refused(store: Store, space: int, proposal: Proposal, actor: str) -> bool:
    """Return whether a refused note would be refused again or already waits for review."""
    fields = dict(proposal.fields)
    topic = fields.pop("topic")
    since = fields.pop("valid_from", None)
    sure = proposal.confidence if proposal.confidence < 1 else None
    began = None if since is None else parse_time(since, store.now())
    draft = Draft(**fields, confidence=sure, valid_from=began)
    notes = similar_notes(store, space, sentences_of(draft.content or ""))
    authored = [note._replace(author=note.author or actor) for note in notes]
    return (
        bool(refusal(topic, draft, proposal.by, authored))
        or store.proposals.waiting(space, proposal.kind, proposal.fields) is not None
    )


def nothing_new(
    topic: str, text: str, similar: Iterable[CurrentNote], valid_from: datetime | None = None
) -> str:
    """Return why a text says nothing new, as the end of a sentence; "" if it may be stored.

    `valid_from` is None unless the caller said since when the text holds.
    """
    if is_talk(text):
        return "it looks like small talk"
    if is_context(text):
        return "it looks like output of HADES"
    own = sentences_of(text)
    notes = [one for one in similar if not _is_of_another_day(one, topic, valid_from)]
    repeated: dict[str, None] = {}
    for sentence in own:
        note = next((one for one in notes if _says(one, topic, sentence, own)), None)
        if note is None:
            return ""
        repeated[note.id] = None
    return f"{', '.join(repeated)} {SAID_ALREADY}" if repeated else ""


def is_context(text: str) -> bool:
    """Return whether a text is output of HADES, with at most small talk around it."""
    if not _HEAD.search(text):
        return _JSON.fullmatch(text) is not None
    lines = (line for line in text.splitlines() if line.strip())
    own = " ".join(line for line in lines if not (_HEAD.match(line) or _BESIDE.match(line)))
    return not own or is_talk(own)


def _is_of_another_day(note: CurrentNote, topic: str, valid_from: datetime | None) -> bool:
    """Return whether an existing note and the new one are about different days.

    The day of the new note is `valid_from` if given; otherwise the names of both topics decide.
    """
    if valid_from is not None:
        return valid_from.date() != from_micros(note.valid_from).date()
    return are_of_two_days(topic, note.topic)


def are_of_two_days(topic: str, other: str) -> bool:
    """Return whether two topics have different dates in their names, as diary entries do."""
    new = DATE.search(topic)
    old = DATE.search(other)
    return new is not None and old is not None and new.groups() != old.groups()


def _says(note: CurrentNote, topic: str, sentence: str, own: Sequence[str]) -> bool:
    """Return whether a note already entails a sentence, about the same thing.

    If the note is the same topic, the new version must also repeat all of the note's sentences;
    otherwise it removes something, which is news.
    """
    if not any(entails(one, sentence) for one in note.sentences):
        return False
    if note.topic == topic:
        return all(any(entails(new, old) for new in own) for old in note.sentences)
    return is_about_one_thing(sentence, topic, note.topic)
