"""Random lives of a memory against a naive model of it, on both time axes.

The model keeps flat lists of everything ever recorded and answers by scanning them;
nodes are names. The machine does the same to both and asks both the same questions,
about now and about random moments of either axis.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import hades
from tests.conftest import HeldClock

TOPICS = st.sampled_from(["t/1", "t/2", "t/3"])
PEOPLE = st.sampled_from(["Ann", "Bob", "Cyd", "Dan"])
NAMES = st.one_of(TOPICS, PEOPLE)
RELATIONS = st.sampled_from(["knows", "blocked_by"])
CONTENTS = st.sampled_from(["one", "two", "one\ntwo\n" * 40, "one\n2\n" + "one\ntwo\n" * 39])
SHIFTS = st.sampled_from([None, None, None, -7201, -61, 3601])
FAR = datetime.max.replace(tzinfo=UTC)


@dataclass
class ModelState:
    topic: str
    version: int
    content: str | None
    valid: datetime
    known: datetime
    retired: datetime | None = None


@dataclass
class ModelEdge:
    id: int
    source: str
    relation: str
    target: str
    start: datetime
    end: datetime | None
    known: datetime
    retired: datetime | None = None

    def believed(self, known: datetime) -> bool:
        return self.known <= known and (self.retired is None or self.retired > known)

    def holds(self, valid: datetime) -> bool:
        return self.start <= valid and (self.end is None or self.end > valid)


@dataclass
class ModelMerge:
    name: str
    into: str
    known: datetime
    undone: datetime | None = None


@dataclass
class Model:
    states: list[ModelState] = field(default_factory=list)
    edges: list[ModelEdge] = field(default_factory=list)
    merges: list[ModelMerge] = field(default_factory=list)
    entities: set[str] = field(default_factory=set)

    def root(self, name: str, known: datetime = FAR) -> str:
        into = {
            m.name: m.into
            for m in self.merges
            if m.known <= known and (m.undone is None or m.undone > known)
        }
        while name in into:
            name = into[name]
        return name

    def state(self, topic: str, valid: datetime, known: datetime) -> ModelState | None:
        found = [
            s
            for s in self.states
            if s.topic == topic
            and s.valid <= valid
            and s.known <= known
            and (s.retired is None or s.retired > known)
        ]
        best = max(found, key=lambda s: (s.valid, s.version), default=None)
        return None if best is None or best.content is None else best

    def edges_at(self, valid: datetime, known: datetime) -> list[ModelEdge]:
        return [e for e in self.edges if e.believed(known) and e.holds(valid)]

    def is_topic(self, name: str) -> bool:
        return any(s.topic == name for s in self.states)

    def retire(self, edge: ModelEdge, at: datetime) -> None:
        edge.retired = at

    def revise(
        self, edge: ModelEdge, at: datetime, end: datetime | None, start: datetime | None = None
    ) -> None:
        edge.retired = at
        self.edges.append(
            ModelEdge(
                edge.id, edge.source, edge.relation, edge.target, start or edge.start, end, at
            )
        )

    def say(self, source: str, relation: str, target: str, start: datetime, at: datetime) -> int:
        """Relate: stretch what says the same, else a new edge; its id, 0 when it is new."""
        root = self.root
        same = [
            e
            for e in self.edges
            if e.believed(FAR)
            and (root(e.source), e.relation, root(e.target))
            == (root(source), relation, root(target))
            and (e.end is None or start < e.end)
        ]
        same.sort(key=lambda e: e.id)
        if not same:
            return 0
        first = min([start, *(e.start for e in same)])
        for other in same[1:]:
            self.retire(other, at)
        if (first, None) != (same[0].start, same[0].end):
            self.revise(same[0], at, None, first)
        return same[0].id

    def meet(self, name: str) -> None:
        if not self.is_topic(name):
            self.entities.add(name)

    def forget_orphans(self, names: set[str]) -> None:
        for name in names:
            tied = any(name in (e.source, e.target) for e in self.edges)
            merged = any(name in (m.name, m.into) for m in self.merges)
            if not tied and not merged and not self.is_topic(name):
                self.entities.discard(name)


class MemoryLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hades-life-"))
        self.clock = HeldClock()
        self.memory = hades.open(self.folder / "m.hades", clock=self.clock)
        self.model = Model()
        self.moments: list[datetime] = []

    def teardown(self) -> None:
        assert self.memory.check() == []
        self.memory.close()
        shutil.rmtree(self.folder)

    def now(self) -> datetime:
        """The moment the next write happens at; also one to ask about later."""
        self.clock.tick(600)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.clock.micros)
        self.moments.append(moment)
        return moment

    @rule(topic=TOPICS, content=CONTENTS, shift=SHIFTS)
    def remember(self, topic: str, content: str, shift: int | None) -> None:
        now = self.now()
        valid = now if shift is None else now + timedelta(seconds=shift)
        held = self.model.state(topic, valid, FAR)
        given = None if shift is None else valid
        state = self.memory.remember(topic, content, valid_from=given)
        if held is not None and held.content == content:
            assert state.version == held.version
            return
        versions = [s.version for s in self.model.states if s.topic == topic]
        assert state.version == max(versions, default=0) + 1
        self.model.states.append(ModelState(topic, state.version, content, valid, now))

    @rule(source=NAMES, relation=RELATIONS, other=NAMES, shift=SHIFTS)
    def relate(self, source: str, relation: str, other: str, shift: int | None) -> None:
        target = other
        now = self.now()
        start = now if shift is None else now + timedelta(seconds=shift)
        self.model.meet(source)
        self.model.meet(target)
        edge = self.memory.relate(
            source, relation, target, valid_from=None if shift is None else start
        )
        known = self.model.say(source, relation, target, start, now)
        if known:
            assert edge.id == known
            return
        root = self.model.root
        self.model.edges.append(
            ModelEdge(edge.id, root(source), relation, root(target), start, None, now)
        )

    @rule(pick=st.integers(0, 30), mistake=st.booleans())
    def unrelate(self, pick: int, mistake: bool) -> None:
        now = self.now()
        holding = self.model.edges_at(now, FAR)
        if not holding:
            return
        edge = holding[pick % len(holding)]
        self.memory.unrelate(edge.id, mistake=mistake)
        if mistake:
            self.model.retire(edge, now)
        else:
            self.model.revise(edge, now, now)

    @rule(subject=NAMES, relation=RELATIONS, content=st.none() | CONTENTS)
    def change_fact(self, subject: str, relation: str, content: str | None) -> None:
        now = self.now()
        root = self.model.root
        closing = [
            e
            for e in self.model.edges_at(now, FAR)
            if root(e.source) == root(subject) and e.relation == relation
        ]
        closing = [e for e in closing if e.start < now]
        if not closing:
            return
        if (
            content is not None
            and not self.model.is_topic(subject)
            and subject in self.model.entities
        ):
            content = None  # an entity that is merged away cannot be told from its root by name
        done = self.memory.change_fact(subject, relation, content=content)
        if content is not None:
            held = self.model.state(subject, now, FAR)
            if held is None or held.content != content:
                version = max(
                    (s.version for s in self.model.states if s.topic == subject), default=0
                )
                self.model.states.append(ModelState(subject, version + 1, content, now, now))
        assert sorted(e.id for e in done.closed) == sorted(e.id for e in closing)
        for edge in closing:
            self.model.revise(edge, now, now)
        for edge in done.opened:
            known = self.model.say(edge.source.name, edge.relation, edge.target.name, now, now)
            assert known in (0, edge.id)
            if not known:
                self.model.edges.append(
                    ModelEdge(
                        edge.id, edge.source.name, edge.relation, edge.target.name, now, None, now
                    )
                )

    @rule(topic=TOPICS)
    def forget(self, topic: str) -> None:
        now = self.now()
        plans = [
            s for s in self.model.states if s.topic == topic and s.valid > now and s.retired is None
        ]
        if self.model.state(topic, now, FAR) is None and not plans:
            return
        state = self.memory.forget(topic)
        for plan in plans:
            plan.retired = now
        self.model.states.append(ModelState(topic, state.version, None, now, now))
        for edge in [e for e in self.model.edges if e.believed(FAR)]:
            if topic in (edge.source, edge.target) and (edge.end is None or edge.end > now):
                if now <= edge.start:
                    self.model.retire(edge, now)
                else:
                    self.model.revise(edge, now, now)

    @rule(topic=TOPICS)
    def purge(self, topic: str) -> None:
        self.now()
        if not self.model.is_topic(topic):
            return
        self.memory.purge(topic)
        gone = [e for e in self.model.edges if topic in (e.source, e.target)]
        ids = {e.id for e in gone}
        self.model.states = [s for s in self.model.states if s.topic != topic]
        self.model.edges = [e for e in self.model.edges if e.id not in ids]
        self.model.entities.discard(topic)
        self.model.forget_orphans({n for e in gone for n in (e.source, e.target)})

    @rule(keep=PEOPLE, other=PEOPLE)
    def merge(self, keep: str, other: str) -> None:
        now = self.now()
        if not {keep, other} <= self.model.entities:
            return
        keep_root, other_root = self.model.root(keep), self.model.root(other)
        if keep_root == other_root:
            return
        self.memory.merge(keep, other)
        self.model.merges.append(ModelMerge(other_root, keep_root, now))

    @rule(name=PEOPLE)
    def split(self, name: str) -> None:
        now = self.now()
        merged = [m for m in self.model.merges if m.name == name and m.undone is None]
        if not merged:
            return
        self.memory.split(name)
        merged[0].undone = now

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = hades.open(self.folder / "m.hades", clock=self.clock)

    def _compare(self, view: hades.View, valid: datetime, known: datetime) -> None:
        expected = {topic: self.model.state(topic, valid, known) for topic in ("t/1", "t/2", "t/3")}
        for topic, state in expected.items():
            try:
                found = view.get(topic)
            except hades.NotFound:
                assert state is None
            else:
                assert state is not None
                assert (found.version, found.content) == (state.version, state.content)
                assert found.valid_from == state.valid
        assert [t.name for t in view.topics()] == [t for t, s in expected.items() if s]
        root = self.model.root
        assert [
            (e.id, e.source.name, e.relation, e.target.name, e.valid_from, e.valid_to)
            for e in view.edges()
        ] == sorted(
            (e.id, root(e.source, known), e.relation, root(e.target, known), e.start, e.end)
            for e in self.model.edges_at(valid, known)
        )

    @invariant()
    def now_agrees(self) -> None:
        now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.clock.micros)
        self._compare(self.memory, now, FAR)

    @precondition(lambda self: self.moments)
    @rule(data=st.data())
    def another_moment_agrees(self, data: st.DataObject) -> None:
        valid = data.draw(st.sampled_from(self.moments), "valid")
        known = data.draw(st.sampled_from(self.moments), "known")
        shift = timedelta(seconds=data.draw(st.sampled_from([-30, 0, 30])))
        self._compare(self.memory.at(valid + shift), valid + shift, FAR)
        self._compare(self.memory.at(valid=valid + shift, known=known), valid + shift, known)
        self._compare(self.memory.at(known=known), known, known)

    @rule(topic=TOPICS)
    def history_agrees(self, topic: str) -> None:
        expected = [(s.version, s.content) for s in self.model.states if s.topic == topic]
        try:
            found = self.memory.history(topic)
        except hades.NotFound:
            assert not expected
        else:
            assert [(s.version, None if s.forgotten else s.content) for s in found] == expected


MemoryLife.TestCase.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
TestMemoryLife = MemoryLife.TestCase
