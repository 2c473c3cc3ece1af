"""Rules of the memory agent: decide which parts of a text to keep, and how.

The write gate and the readers of facts and of settled topics decide; nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hades.agents.results import MemoryAction
from hades.domain.graph import Edge
from hades.domain.proposal import DEFAULT_THRESHOLD, SAID_ALREADY
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.hooks.redact import redact
from hades.language.english.contradiction import entails
from hades.language.english.proper_names import extract_names
from hades.language.english.prose_facts import ProseFact, facts_in
from hades.language.english.settled import settled
from hades.language.english.small_talk import is_talk
from hades.language.names import name_key, says, spoken
from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences
from hades.language.words import words
from hades.lifecycle.gate import refusal
from hades.lifecycle.similar_notes import sentences_of, similar_notes
from hades.memory import Memory
from hades.store.records import Draft

TEXT_CHARACTERS_AT_MOST = 200_000
PARTS_AT_MOST = 200
"""The most parts of a text that are looked at: paragraphs, or messages of a conversation."""
TOPICS_COMPARED = 5
SLUG_WORDS = 5
WORDS_AT_LEAST = 3
_GUESS = lazy_pattern(
    r"\b(?:maybe|perhaps|possibly|probably|might|could|would|not sure"
    r"|I (?:think|guess|suppose|wonder|hope))\b",
    re.IGNORECASE,
)

Conversation = Sequence[Mapping[str, Any]]


def parts_of_text(text: str | Conversation) -> list[str]:
    """Return the paragraphs of a document, or the messages of a user, without secrets."""
    if isinstance(text, str):
        lines = "\n".join(line.strip() for line in text.splitlines())
        parts = [part.strip() for part in lines.split("\n\n")]
    else:
        parts = [_content(message) for message in text]
    parts = [redact(part) for part in parts if part]
    if sum(map(len, parts)) > TEXT_CHARACTERS_AT_MOST or len(parts) > PARTS_AT_MOST:
        most = f"{TEXT_CHARACTERS_AT_MOST:,} characters and {PARTS_AT_MOST} parts"
        raise InvalidInput(f"A memory agent reads at most {most}: use `ingest` for more.")
    if not parts:
        raise InvalidInput("There is nothing to decide on: the text is empty.")
    return parts


def _content(message: Mapping[str, Any]) -> str:
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
        raise InvalidInput('A message is an object such as {"role": "user", "content": "…"}.')
    return str(message["content"]).strip() if message.get("role", "user") == "user" else ""


@dataclass(frozen=True, slots=True)
class Sorter:
    """Chooses the actions for each part of a text."""

    memory: Memory

    def actions(self, parts: Iterable[str]) -> Iterator[MemoryAction]:
        """Yield the actions for all parts, in their order."""
        for part in parts:
            yield from self.of_part(part)

    def of_part(self, part: str, topic: str = "", why: str = "") -> Iterator[MemoryAction]:
        """Yield the actions for one part: leave it, or write it with the facts it states."""
        if reason := _not_worth(part):
            yield MemoryAction("leave", "", part, reason, {})
            return
        topic = topic or self._topic(part)
        if reason := self._refusal(topic, part):
            yield MemoryAction("leave", topic, part, reason, {})
            return
        known = self.note(topic)
        done = settled(topic, part) if known else ""
        if done:
            why = f"it says that this is {done}"
            yield MemoryAction("promote", topic, part, why, {"topic": topic, "reason": part})
        else:
            fields = {"topic": topic, "content": part}
            new = f"added to {known.id}" if known else "a new note"
            yield MemoryAction("write", topic, part, why or new, fields)
        for fact in facts_in(part, topic):
            if action := self._of_fact(fact, part, topic):
                yield action

    def _of_fact(self, fact: ProseFact, part: str, topic: str) -> MemoryAction | None:
        """Return the action for a fact; None if it is known, or if it denies an unknown fact."""
        keys = {name_key(topic), name_key(topic.rpartition("/")[2])}
        subject = topic if name_key(fact.subject) in keys else fact.subject
        held = self._held(subject, fact.relation)
        same = [edge for edge in held if name_key(edge.target.name) == name_key(fact.object)]
        if bool(same) != fact.negated:
            return None
        evidence = part[fact.start : fact.end]
        fields = {"relation": fact.relation, "evidence": evidence}
        text = f"{subject} {fact.relation} {fact.object}"
        if fact.negated:
            ended = {"source": same[0].id}
            return MemoryAction("change", subject, text, f"ends {same[0]}", ended, fact.confidence)
        others = held if fact.exclusive else []
        if others:
            fields |= {"subject": subject, "to": fact.object}
            why = f"replaces {others[0]}"
            return MemoryAction("change", subject, text, why, fields, fact.confidence)
        fields |= {"subject": subject, "target": fact.object}
        return MemoryAction("relate", subject, text, "a new fact", fields, fact.confidence)

    def _held(self, subject: str, relation: str) -> list[Edge]:
        try:
            return self.memory.edges(subject, relation=relation, direction="out")
        except (NotFound, InvalidInput):
            return []

    def _refusal(self, topic: str, part: str) -> str:
        memory = self.memory
        if state := self.note(topic):
            # The gate lets a shorter version of a note pass; here it would only repeat the note.
            known = sentences_of(state.content)
            if all(any(entails(old, new) for old in known) for new in sentences_of(part)):
                return f"{state.id} {SAID_ALREADY}"
        notes = similar_notes(memory._store, memory._space_id, sentences_of(part))
        return refusal(topic, Draft(content=part), memory._actor, notes)

    def note(self, topic: str) -> State | None:
        """Return the state of a note that holds and has text, else None."""
        if self.memory._store.topics.kind(self.memory._space_id, topic) != "note":
            return None
        with suppress(NotFound):
            state = self.memory.get(topic)
            return state if state.content else None
        return None

    def _topic(self, part: str) -> str:
        """Return the note that a part names, or a new name for it."""
        for hit in self.memory.search(part[:1_000], TOPICS_COMPARED, kind="note"):
            if says(part, spoken(hit.chunk.topic.rpartition("/")[2])):
                return hit.chunk.topic
        named = next(iter(extract_names(part[:1_000])), "") or " ".join(words(part)[:SLUG_WORDS])
        return f"notes/{'_'.join(words(named.casefold()))[:80] or 'note'}"


def _not_worth(part: str) -> str:
    """Return why a part is not worth keeping; "" if it is."""
    if is_talk(part):
        return "it looks like small talk"
    if len(words(part)) < WORDS_AT_LEAST:
        return "it says too little"
    said = [sentence.strip() for sentence in sentences(part)] or [part]
    if all(sentence.endswith("?") for sentence in said):
        return "it is a question"
    if all(sentence.endswith("?") or _GUESS.search(sentence) for sentence in said):
        return "it is a guess"
    return ""


def is_sure(action: MemoryAction) -> bool:
    """Return whether an action may be carried out without a person's approval."""
    return action.action != "change" and action.confidence >= DEFAULT_THRESHOLD
