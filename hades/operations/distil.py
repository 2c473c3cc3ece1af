"""Distilling: turn conversations into short statements, and list sessions by what they left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import exp
from typing import TYPE_CHECKING, Annotated, Any

from hades.domain.distilled import SAID, Distillation, Distilled, SessionSummary
from hades.domain.rules import clean_name
from hades.domain.times import from_micros
from hades.domain.topics import State
from hades.domain.usage import Usage
from hades.errors import InvalidInput, NotFound
from hades.operations.declare import Param, Role, operation
from hades.operations.parameters import (
    TEXT_CHARACTERS_AT_MOST,
    DryRun,
    ModelName,
    PageLimit,
    Since,
    TopicGlob,
    Until,
)
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.lifecycle.distil import Candidate, Turn
    from hades.memory import Memory, View

MESSAGES_AT_MOST = 2_000
CONVERSATIONS = "conversations"
"""The folder of the topics of conversations."""
NEAR_NOTES = 8
"""The nearest notes that a new statement may replace."""
OLD_CHARACTERS = 600
"""What is read of a note that may be replaced."""
REPLY_TOKENS_AT_MOST = 800
REWRITE = (
    "The texts are parts of a conversation: the turn before, then the statement to rewrite. Rewrite "
    "each statement as one sentence that is understood alone, months later: say who, what and "
    "since when, with all its numbers and names."
)


@operation("POST", "/distil", role=Role.WRITER, command="distil", job=True)
def distil(
    memory: Memory,
    messages: Annotated[
        Sequence[Mapping[str, Any]] | None,
        Param(
            'Messages [{"role": "user", "content": "…"}], or @FILE (default: what is stored).',
            example=[{"role": "user", "content": "From now on we deploy with Actions."}],
            json=True,
        ),
    ] = None,
    *,
    glob: TopicGlob = None,
    user: Annotated[
        str | None,
        Param(
            "The user it is about; `recall` finds it with `about`.", flag="--user", rule=clean_name
        ),
    ] = None,
    model: ModelName = None,
    dry_run: DryRun = False,
    on_progress: Progress | None = None,
) -> Distillation:
    """Keep what was said: decisions, rules, facts and plans of conversations, as short notes.

    Reads `messages`, which are stored as a conversation first, or all stored conversations that
    match `glob`. A small model in the package judges each sentence, so no language model is needed.
    Each statement becomes a note such as `decisions/deploy_staging`, with its kind as a tag and the
    turn as its source; `drill` shows the conversation. A statement that makes an earlier one of the
    same author outdated becomes the next version of its topic. Running it again adds nothing. With
    a `model`, statements are rewritten, and a sentence that its turns do not support is dropped.
    """
    run = DistilRun(memory, user, model, dry_run)
    if messages is not None:
        return run.messages(messages)
    report = on_progress or (lambda _what, _done, _total: None)
    topics = memory.topics(glob, kind="conversation")
    for number, topic in enumerate(topics):
        report("distilling", number, len(topics))
        run.conversation(memory.get(topic.name))
    report("distilling", len(topics), len(topics))
    return run.result()


class DistilRun:
    """One run, with its statements so far."""

    def __init__(
        self, memory: Memory, user: str | None = None, model: str | None = None, dry: bool = False
    ) -> None:
        self.memory, self.user, self.model, self.dry = memory, user, model, dry
        self.statements: list[Distilled] = []
        self.conversations = self.turns = self.known = 0
        self.usage: Usage | None = None

    def result(self) -> Distillation:
        """Return what the run has kept so far."""
        return Distillation(
            self.conversations, self.turns, tuple(self.statements), self.known, self.usage, self.dry
        )

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> Distillation:
        """Store messages as a conversation, without secrets, and distil it."""
        from hades.hooks.redact import redact
        from hades.lifecycle.distil import folder_of, turns_of_messages

        memory = self.memory
        _check(messages)
        now = from_micros(memory._store.now())
        turns = [turn._replace(text=redact(turn.text)) for turn in turns_of_messages(messages, now)]
        if not turns:
            raise InvalidInput("There is nothing to distil: all messages are empty.")
        text = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
        # The name follows the first message, so that a conversation that grew is a new version.
        first = sha256(f"{turns[0].speaker}\0{turns[0].text}".encode("utf-8", "replace"))
        topic = f"{folder_of(self.user)}{CONVERSATIONS}/{first.hexdigest()[:12]}"
        fields: dict[str, Any] = {
            "metadata": {"participants": list(dict.fromkeys(turn.speaker for turn in turns))},
            "valid_from": min(turns[0].at, now),
        }
        if self.dry:
            self.read(None, turns, topic)
        else:
            state = memory.remember(topic, text, kind="conversation", **fields)
            self.read(state, turns, topic)
        return self.result()

    def conversation(self, state: State) -> None:
        """Distil a stored conversation."""
        from hades.lifecycle.distil import turns_of

        self.read(state, turns_of(state), state.topic)

    def read(self, state: State | None, turns: Sequence[Turn], source: str, first: int = 0) -> None:
        """Distil turns from number `first` on. `state` has their text; None stores nothing."""
        from hades.lifecycle.distil import candidates

        memory = self.memory
        self.conversations += 1
        self.turns += len(turns) - first
        rows = memory._store.summaries.distilled(memory._space_id, source)
        marks = {metadata.get(SAID, {}).get("mark") for _, _, metadata in rows}
        found = [one for one in candidates(turns, first) if one.mark not in marks]
        for candidate in self._rewritten(found, turns):
            marks.add(candidate.mark)
            self._keep(candidate, state, source)

    def _rewritten(self, found: Sequence[Candidate], turns: Sequence[Turn]) -> Iterator[Candidate]:
        """Yield candidates in the words of the model where their turns support these."""
        if self.model is None or not found:
            yield from found
            return
        from hades.models.chat import open_chat_model
        from hades.models.checked import cited_sentences

        texts = []
        for one in found:
            before = turns[one.turn - 1] if one.turn else None
            asked = f"{before.speaker}: {before.text}\n" if before else ""
            texts.append(f"{asked}{one.by}: {one.text}")
        model = open_chat_model(self.model)
        reply = cited_sentences(
            model, REWRITE, texts, max_tokens=REPLY_TOKENS_AT_MOST, dry_run=self.dry
        )
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        for number, one in enumerate(found, 1):
            said = [held.text for held in reply.held if held.cited == (number,)]
            yield replace(one, text=" ".join(said)) if said else one

    def _keep(self, candidate: Candidate, source: State | None, name: str) -> None:
        """Store a statement, as the next version of what it replaces or as a new note."""
        from hades.lifecycle.distil import topic_name
        from hades.lifecycle.gate import refusal
        from hades.lifecycle.near_topics import near_topic
        from hades.lifecycle.similar_notes import sentences_of, similar_notes
        from hades.store.records import Draft

        memory = self.memory
        store, space = memory._store, memory._space_id
        done = Distilled(
            kind=candidate.kind,
            text=candidate.text,
            by=candidate.by,
            at=candidate.at,
            source=name,
            turn=candidate.turn,
            probability=round(1 / (1 + exp(-candidate.worth)), 3),
        )
        old = self._replaced(candidate)
        topic = old.topic if old else topic_name(candidate, self.user)
        if old is None:
            topic = near_topic(store, space, topic) or topic
        draft = Draft(content=candidate.text)
        similar = similar_notes(store, space, sentences_of(candidate.text))
        why = refusal(topic, draft, memory._actor, similar)
        if why:
            self.known += 1
            return
        if source is None:
            self.statements.append(replace(done, replaces=old.id if old else ""))
            return
        now = from_micros(store.now())
        with memory.batch():
            state = memory.remember(
                topic,
                candidate.text,
                tags=[candidate.kind],
                metadata={
                    SAID: {"by": candidate.by, "turn": candidate.turn, "mark": candidate.mark}
                },
                valid_from=min(candidate.at, now),
            )
            store.summaries.put_distilled(
                space, (state.topic, state.version), (source.topic, source.version)
            )
        self.statements.append(replace(done, state=state.id, replaces=old.id if old else ""))

    def _replaced(self, candidate: Candidate) -> State | None:
        """Return the note that a statement makes outdated: the same author's, written before."""
        from hades.lifecycle.distil import REPLACES, folder_of
        from hades.models.keeper import load_keeper

        memory = self.memory
        glob = f"{folder_of(self.user)}*" if self.user else None
        hits = memory.search(candidate.text, NEAR_NOTES, kind="note", glob=glob)
        notes = []
        for topic in dict.fromkeys(hit.chunk.topic for hit in hits):
            state = memory.get(topic)
            author = memory._store.topics.author(memory._space_id, topic, state.version)
            if author == memory._actor and state.valid_from <= candidate.at:
                notes.append(state)
        texts = [note.content[:OLD_CHARACTERS] for note in notes]
        logits = load_keeper().replaces(candidate.text, texts)
        best = int(logits.argmax()) if len(logits) else -1
        return notes[best] if best >= 0 and logits[best] >= REPLACES else None


def _check(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise InvalidInput if messages are not as documented, or too many."""
    if isinstance(messages, str) or len(messages) > MESSAGES_AT_MOST:
        raise InvalidInput(f"Give a list of at most {MESSAGES_AT_MOST:,} messages.")
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(content, str) or len(content) > TEXT_CHARACTERS_AT_MOST:
            raise InvalidInput('A message is an object such as {"role": "user", "content": "…"}.')
        clean_name(message.get("name") or message.get("role", "user"), "speaker")


@operation("GET", "/sessions", command="sessions list", timed=True)
def sessions(
    view: View,
    *,
    glob: TopicGlob = None,
    since: Since = None,
    until: Until = None,
    limit: PageLimit = None,
) -> list[SessionSummary]:
    """List conversations, the latest first, with what each was about and left behind.

    A session has its date, its goal (the first request), what was decided, done and left open, and
    the files that were edited, if hooks noted them. `since` and `until` bound its date.
    """
    topics = view.topics(glob, kind="conversation", since=since, until=until)
    latest = sorted(topics, key=lambda topic: topic.valid_from, reverse=True)
    return [session(view, topic.name) for topic in latest[: limit or len(latest)]]


@operation("GET", "/sessions/{conversation}", command="sessions show", timed=True)
def session(
    view: View,
    conversation: Annotated[
        str,
        Param("The conversation, or the end of its name.", example="conversations/s2"),
    ],
) -> SessionSummary:
    """Show what one conversation was about and what it left behind.

    Each line names the state that keeps it and the turn in which it was said.
    """
    from hades.lifecycle.sessions import read_session

    state = view.get(conversation)
    if view._store.topics.kind(view._space_id, state.topic) != "conversation":
        raise NotFound(f"{state.topic} is no conversation: `sessions list` lists them.")
    return read_session(view._store, view._space_id, state)
