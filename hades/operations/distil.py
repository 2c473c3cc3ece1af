"""Distilling: turn conversations into short statements, and summarise sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from math import exp
from typing import TYPE_CHECKING, Annotated, Any

from hades.domain.distilled import SAID, Distillation, Distilled, SessionSummary
from hades.domain.graph import SUPERSEDES
from hades.domain.rules import clean_name
from hades.domain.times import from_micros
from hades.domain.topics import State
from hades.domain.usage import Usage
from hades.errors import InvalidInput, NotFound
from hades.operations import edges, questions, states
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import (
    TEXT_CHARACTERS_AT_MOST,
    DryRun,
    ModelName,
    PageLimit,
    Since,
    TopicGlob,
    Until,
    whole_number,
)
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.lifecycle.distil import Candidate, Turn

MESSAGES_AT_MOST = 2_000
CONVERSATIONS = "conversations"
"""The folder of the topics of conversations."""
NEAR_NOTES = 8
"""How many of the nearest notes are compared with a new statement that may replace one."""
OLD_CHARACTERS = 600
"""How many characters of an earlier statement are compared with a new one."""
SENTENCES_COMPARED = 4
"""How many sentences of a note that a person wrote are compared with a new statement."""
REPLY_TOKENS_AT_MOST = 800
REWRITE = (
    "The texts are parts of a conversation: the turn before, then the statement to rewrite. "
    "Rewrite each statement as one sentence that is understood alone, months later: say who, what "
    "and since when, with all its numbers and names."
)


@operation("POST", "/distil", role=Role.WRITER, command="distil", job=True, creates=True)
def distil(
    inside: Inside,
    messages: Annotated[
        Sequence[Mapping[str, Any]] | None,
        Param(
            'Messages [{"role": "user", "content": "…"}] or @FILE (default: stored conversations).',
            example=[{"role": "user", "content": "From now on we deploy with Actions."}],
            json=True,
        ),
    ] = None,
    *,
    glob: TopicGlob = None,
    user: Annotated[
        str | None,
        Param(
            "The user the notes are about; `recall` finds them with `about`.",
            flag="--user",
            rule=clean_name,
        ),
    ] = None,
    from_turn: Annotated[
        int,
        whole_number("Begin at this turn; the first is 0.", "turn", flag="--from-turn"),
    ] = 0,
    model: ModelName = None,
    dry_run: DryRun = False,
    on_progress: Progress | None = None,
) -> Distillation:
    """Store decisions, rules, facts and plans of conversations as notes.

    Stores `messages` as a conversation and reads them; without `messages`, reads all stored
    conversations that match `glob`. A small model in the package judges each sentence, so no
    language model is needed. Each statement becomes a note such as `decisions/deploy_staging`, with
    its kind as a tag and the turn as its source; `drill` shows the conversation. If a statement
    makes an earlier one of the same author outdated, it becomes the next version of that topic.
    Running it again adds nothing. With a `model`, statements are rewritten; a statement keeps its
    own words if the conversation does not support the new ones.
    """
    run = DistilRun(inside, user, model, dry_run)
    if messages is not None:
        return run.messages(messages)
    report = on_progress or (lambda _what, _done, _total: None)
    listed = states.topics(inside, glob, kind="conversation")
    topics = [topic for topic in listed if run.is_ours(topic.name)]
    for number, topic in enumerate(topics):
        report("distilling", number, len(topics))
        run.conversation(states.get(inside, topic.name), from_turn)
    report("distilling", len(topics), len(topics))
    return run.result()


class DistilRun:
    """One run of `distil`, with its statements so far."""

    def __init__(
        self, inside: Inside, user: str | None = None, model: str | None = None, dry: bool = False
    ) -> None:
        self.inside = inside
        self.user = user
        self.model = model
        self.dry = dry
        self.statements: list[Distilled] = []
        self.conversations = self.turns = self.known = 0
        self.usage: Usage | None = None
        self.why = ""
        """Why no sentence of the model could be used."""

    def result(self) -> Distillation:
        """Return what the run has kept so far."""
        return Distillation(
            self.conversations, self.turns, tuple(self.statements), self.known, self.usage, self.dry
        )

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> Distillation:
        """Store messages as a conversation, without secrets, and distil it."""
        from hades.lifecycle.distil import folder_of

        now = from_micros(self.inside.store.now())
        turns = clean_turns(messages, now)
        text = "\n\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
        # The first message gives the name, so that a conversation that grew is a new version.
        first = sha256(f"{turns[0].speaker}\0{turns[0].text}".encode("utf-8", "replace"))
        topic = f"{folder_of(self.user)}{CONVERSATIONS}/{first.hexdigest()[:12]}"
        fields: dict[str, Any] = {
            "metadata": {"participants": list(dict.fromkeys(turn.speaker for turn in turns))},
            "valid_from": min(turns[0].at, now),
        }
        if self.dry:
            self.read(None, turns, topic)
        else:
            state = states.remember(self.inside, topic, text, kind="conversation", **fields)
            self.read(state, turns, topic)
        return self.result()

    def conversation(self, state: State, first: int = 0) -> None:
        """Distil a stored conversation from turn number `first` on."""
        from hades.lifecycle.distil import turns_of

        self.read(state, turns_of(state), state.topic, first)

    def read(self, state: State | None, turns: Sequence[Turn], source: str, first: int = 0) -> None:
        """Distil turns from number `first` on; store nothing if `state`, their source, is None."""
        from hades.lifecycle.distil import candidates

        self.conversations += 1
        self.turns += max(0, len(turns) - first)
        rows = self.inside.store.summaries.distilled(self.inside.space_id, source)
        marks = {metadata.get(SAID, {}).get("mark") for _, _, metadata in rows}
        all_candidates = list(candidates(turns, first))
        unknown = [one for one in all_candidates if one.mark not in marks]
        self.known += len(all_candidates) - len(unknown)
        for statement, fields in self.plan(unknown, turns, source):
            self._store(statement, fields, state)

    def plan(
        self, candidates: Sequence[Candidate], turns: Sequence[Turn], source: str = ""
    ) -> Iterator[tuple[Distilled, dict[str, Any]]]:
        """Yield statements with the arguments of `remember` that would store them.

        The outcome of a statement is `kept`, or why the write gate refuses it. The caller may store
        a statement before the next one is planned.
        """
        for candidate in self._rewritten(candidates, turns):
            yield self._planned(candidate, source)

    def _rewritten(
        self, candidates: Sequence[Candidate], turns: Sequence[Turn]
    ) -> Iterator[Candidate]:
        """Yield candidates in the words of the model, if one is named.

        A candidate keeps its own words if the conversation does not support those of the model.
        """
        if self.model is None or not candidates:
            yield from candidates
            return
        from hades.models.chat import open_chat_model
        from hades.models.checked import cited_sentences

        texts = []
        for one in candidates:
            before = turns[one.turn - 1] if one.turn else None
            asked = f"{before.speaker}: {before.text}\n" if before else ""
            texts.append(f"{asked}{one.by}: {one.text}")
        model = open_chat_model(self.model)
        reply = cited_sentences(
            model, REWRITE, texts, max_tokens=REPLY_TOKENS_AT_MOST, dry_run=self.dry
        )
        self.why = reply.why
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        for number, one in enumerate(candidates, 1):
            supported = [held.text for held in reply.held if held.numbers == (number,)]
            yield replace(one, text=" ".join(supported)) if supported else one

    def _planned(self, candidate: Candidate, source: str) -> tuple[Distilled, dict[str, Any]]:
        """Return a statement and how to store it: as a new note, or as a version of an old one."""
        from hades.lifecycle.distil import topic_name
        from hades.lifecycle.gate import refusal
        from hades.lifecycle.similar_notes import sentences_of, similar_notes
        from hades.store.records import Draft

        store = self.inside.store
        space = self.inside.space_id
        old, sentence = self._replaced(candidate)
        is_distilled = old is not None and SAID in old.metadata
        topic = topic_name(candidate, self.user)
        if old is not None and is_distilled:
            topic = old.topic
        elif store.topics.exists(space, topic):  # another statement has this name
            topic = f"{topic}_{candidate.mark[:4]}"
        draft = Draft(content=candidate.text)
        similar = similar_notes(store, space, sentences_of(candidate.text))
        similar = [note for note in similar if self.is_ours(note.topic)]
        statement = Distilled(
            kind=candidate.kind,
            text=candidate.text,
            by=candidate.by,
            at=candidate.at,
            source=source,
            turn=candidate.turn,
            probability=round(1 / (1 + exp(-candidate.worth)), 3),
            replaces=old.id if old else "",
            replaced="" if is_distilled else sentence,
            outcome=refusal(topic, draft, self.inside.actor, similar) or "kept",
        )
        origin = {"by": candidate.by, "turn": candidate.turn, "mark": candidate.mark}
        return statement, {
            "topic": topic,
            "content": candidate.text,
            "tags": [candidate.kind],
            "metadata": {SAID: origin},
            "valid_from": min(candidate.at, from_micros(store.now())),
        }

    def _store(self, statement: Distilled, fields: Mapping[str, Any], source: State | None) -> None:
        """Collect a planned statement; store it if it has a source and this is no dry run."""
        inside = self.inside
        if statement.outcome != "kept":
            self.known += 1
            return
        if source is not None and not self.dry:
            with inside.batch():
                state = states.remember(inside, **fields)
                inside.store.summaries.put_distilled(
                    inside.space_id,
                    (state.topic, state.version),
                    (source.topic, source.version),
                )
                if statement.replaced:
                    mark_superseded(inside, state.topic, statement)
            statement = replace(statement, state=state.id)
        self.statements.append(statement)

    def is_ours(self, topic: str) -> bool:
        """Return whether a topic is in the user's folder; without a user, in no user's folder."""
        from hades.lifecycle.distil import USERS_FOLDER, folder_of

        own = folder_of(self.user)
        return topic.startswith(own) if own else not topic.startswith(f"{USERS_FOLDER}/")

    def _replaced(self, candidate: Candidate) -> tuple[State | None, str]:
        """Return the note of the same author that a candidate makes outdated, and the sentence.

        An earlier statement gets the candidate as its next version. A note that somebody wrote
        stays as it is, and an edge names the sentence that is superseded.
        """
        from hades.lifecycle.distil import REPLACES
        from hades.lifecycle.similar_notes import sentences_of
        from hades.models.keeper import load_keeper

        inside = self.inside
        hits = questions.search(inside, candidate.text, NEAR_NOTES, kind="note", about=self.user)
        pairs: list[tuple[State, str]] = []
        for topic in dict.fromkeys(hit.chunk.topic for hit in hits):
            state = states.get(inside, topic)
            author = inside.store.topics.author(inside.space_id, topic, state.version)
            is_same = state.content == candidate.text
            is_ours = author == inside.actor and self.is_ours(topic)
            if not is_ours or state.valid_from > candidate.at or is_same:
                continue
            if SAID in state.metadata:
                pairs.append((state, state.content[:OLD_CHARACTERS]))
            else:
                told = sentences_of(state.content)[:SENTENCES_COMPARED]
                pairs += [(state, sentence) for sentence in told]
        logits = load_keeper().replaces([(candidate.text, text) for _, text in pairs])
        best = int(logits.argmax()) if len(logits) else -1
        return pairs[best] if best >= 0 and logits[best] >= REPLACES else (None, "")


def mark_superseded(inside: Inside, topic: str, statement: Distilled) -> None:
    """Record that the statement of a topic supersedes a sentence of a note that somebody wrote."""
    note = statement.replaces.rpartition("@")[0]
    superseded = {"said": statement.replaced}
    edges.relate(inside, topic, SUPERSEDES, note, metadata=superseded, create=True)


def clean_turns(messages: Sequence[Mapping[str, Any]], now: datetime) -> list[Turn]:
    """Return the turns of messages, without secrets.

    Raise InvalidInput if messages are not as documented, too many, or all empty.
    """
    from hades.language.redact import redact
    from hades.lifecycle.distil import turns_of_messages

    if isinstance(messages, str) or len(messages) > MESSAGES_AT_MOST:
        raise InvalidInput(f"Give a list of at most {MESSAGES_AT_MOST:,} messages.")
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(content, str):
            raise InvalidInput('A message is an object such as {"role": "user", "content": "…"}.')
        if len(content) > TEXT_CHARACTERS_AT_MOST:
            raise InvalidInput(f"A message has at most {TEXT_CHARACTERS_AT_MOST:,} characters.")
        clean_name(message.get("name") or message.get("role", "user"), "speaker")
    turns = [turn._replace(text=redact(turn.text)) for turn in turns_of_messages(messages, now)]
    if not turns:
        raise InvalidInput("There is nothing to distil: all messages are empty.")
    return turns


@operation("GET", "/sessions", command="sessions list", timed=True)
def sessions(
    inside: Inside,
    *,
    glob: TopicGlob = None,
    since: Since = None,
    until: Until = None,
    limit: PageLimit = None,
) -> list[SessionSummary]:
    """List conversations, the latest first, with goals, decisions, outcomes and plans.

    A session has its date, its goal (the first request), its statements (decided, done, open), and
    the edited files and failed commands, if hooks noted them. `since` and `until` bound its date.
    """
    topics = states.topics(inside, glob, kind="conversation", since=since, until=until)
    latest = sorted(topics, key=lambda topic: topic.valid_from, reverse=True)
    return [session(inside, topic.name) for topic in latest[:limit]]


@operation("GET", "/sessions/{conversation}", command="sessions show", timed=True)
def session(
    inside: Inside,
    conversation: Annotated[
        str,
        Param("The conversation; `conversations/` may be left out.", example="conversations/s2"),
    ],
) -> SessionSummary:
    """Show the goal of one conversation, and its decisions, outcomes and plans.

    Each line names the state that stores it and the turn in which it was said.
    """
    from hades.lifecycle.sessions import read_session

    try:
        state = states.get(inside, conversation)
    except NotFound:
        state = states.get(inside, f"{CONVERSATIONS}/{conversation}")
    if inside.store.topics.kind(inside.space_id, state.topic) != "conversation":
        raise NotFound(f"{state.topic} is no conversation: `sessions list` lists them.")
    return read_session(inside.store, inside.space_id, state)
