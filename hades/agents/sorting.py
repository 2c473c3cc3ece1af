"""Sorting: turn distilled statements, facts and settled topics into the actions of a memory agent.

The keeper decides which sentences become notes. Facts and settled topics are taken only from what
users said. This module chooses actions and stores nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hades.agents.results import MemoryAction
from hades.domain.distilled import Distilled
from hades.domain.graph import Edge
from hades.domain.plain import plain
from hades.domain.proposal import DEFAULT_THRESHOLD, SAID_ALREADY
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.language.english.prose_facts import ProseFact, facts_in
from hades.language.english.settled import settled
from hades.language.names import name_key, says
from hades.language.said import ASSISTANTS
from hades.language.wording import spoken
from hades.lifecycle.distil import Turn
from hades.lifecycle.near_topics import near_topic
from hades.memory import Memory
from hades.operations.distil import clean_turns

TEXT_CHARACTERS_AT_MOST = 200_000
TOPICS_COMPARED = 5
"""How many of the nearest notes are compared with a turn that may settle one of them."""
NOTHING = "nothing in it is worth keeping"

Conversation = Sequence[Mapping[str, Any]]
Planned = Sequence[tuple[Distilled, Mapping[str, Any]]]
"""Statements, each with the arguments of `remember`."""


def turns_of_input(text: str | Conversation, now: datetime) -> list[Turn]:
    """Return the messages of a conversation, or the paragraphs of a user's text, as turns."""
    if isinstance(text, str):
        lines = "\n".join(line.strip() for line in text.splitlines())
        text = [{"content": paragraph} for paragraph in lines.split("\n\n")]
    turns = clean_turns(text, now)
    if sum(len(turn.text) for turn in turns) > TEXT_CHARACTERS_AT_MOST:
        most = f"{TEXT_CHARACTERS_AT_MOST:,} characters"
        raise InvalidInput(f"A memory agent reads at most {most}: use `ingest` for more.")
    return turns


@dataclass(frozen=True, slots=True)
class Sorter:
    """Chooses the actions for each turn."""

    memory: Memory

    def actions(self, turns: Sequence[Turn], planned: Planned) -> Iterator[MemoryAction]:
        """Yield the actions for all turns, in their order."""
        for number, turn in enumerate(turns):
            is_user = turn.speaker.casefold() not in ASSISTANTS
            told = list(self._told(turn.text)) if is_user else []
            promoted = {action.topic for action in told if action.action == "promote"}
            own = [
                self._of_statement(statement, fields)
                for statement, fields in planned
                if statement.turn == number and fields["topic"] not in promoted
            ]
            yield from [*own, *told] or [MemoryAction("leave", "", turn.text, NOTHING, {})]

    def _of_statement(self, statement: Distilled, fields: Mapping[str, Any]) -> MemoryAction:
        """Return the action for a statement: write it, or leave it if it adds nothing."""
        topic = fields["topic"]
        known = self._note(topic)
        refused = "" if statement.outcome == "kept" else statement.outcome
        if known and known.content == statement.text:
            refused = f"{known.id} {SAID_ALREADY}"
        if refused:
            return MemoryAction("leave", "", statement.text, refused, {})
        why = f"replaces {statement.replaces}" if statement.replaces else "a new note"
        fields = {**fields, "expect_version": known and known.version}
        if statement.replaced:
            fields["supersedes"] = plain(statement)
        return MemoryAction("write", topic, statement.text, why, fields)

    def _told(self, text: str) -> Iterator[MemoryAction]:
        """Yield an action for each topic that a text says is settled, and for each fact in it."""
        hits = self.memory.search(text, TOPICS_COMPARED, kind="note")
        for topic in dict.fromkeys(hit.chunk.topic for hit in hits):
            is_named = says(text, spoken(topic.rpartition("/")[2]))
            if is_named and (done := settled(topic, text)):
                fields = {"topic": topic, "reason": text}
                yield MemoryAction("promote", topic, text, f"it says that this is {done}", fields)
        for fact in facts_in(text):
            if action := self._of_fact(fact, text[fact.start : fact.end]):
                yield action

    def _of_fact(self, fact: ProseFact, evidence: str) -> MemoryAction | None:
        """Return the action for a fact; None if it is known, or if it denies an unknown fact."""
        store = self.memory.inside.store
        space = self.memory.inside.space_id
        subject = fact.subject
        held = self._held(subject, fact.relation)
        is_topic = store.topics.kind(space, subject) is not None
        near = None if held or is_topic else near_topic(store, space, subject)
        if near is not None:  # a fact about Maya belongs to people/maya
            subject = near
            held = self._held(near, fact.relation)
        same = [edge for edge in held if name_key(edge.target.name) == name_key(fact.object)]
        if bool(same) != fact.negated:
            return None
        fields = {"relation": fact.relation, "evidence": evidence}
        text = f"{subject} {fact.relation} {fact.object}"
        if fact.negated:
            ended = {"source": same[0].id}
            return MemoryAction("change", subject, text, f"ends {same[0]}", ended, fact.confidence)
        others = held if fact.exclusive else []
        if others:
            fields |= {"source": subject, "to": fact.object}
            why = f"replaces {others[0]}"
            return MemoryAction("change", subject, text, why, fields, fact.confidence)
        fields |= {"source": subject, "target": fact.object}
        return MemoryAction("relate", subject, text, "a new fact", fields, fact.confidence)

    def _held(self, subject: str, relation: str) -> list[Edge]:
        try:
            return self.memory.edges(subject, relation=relation, direction="out")
        except (NotFound, InvalidInput):
            return []

    def _note(self, topic: str) -> State | None:
        """Return the current state of a topic, or None if it is new."""
        with suppress(NotFound):
            return self.memory.get(topic)
        return None


def is_sure(action: MemoryAction) -> bool:
    """Return whether an action may be carried out without a person's approval."""
    return action.action != "change" and action.confidence >= DEFAULT_THRESHOLD
