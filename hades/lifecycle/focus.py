"""A focus: the topics that the caller works on, kept in memory and answered from there.

    with memory.focus("project/alpha") as focus:
        focus.get("project/alpha")
        focus.recall("What does Alpha cost?")

It begins with a topic and those that the graph joins with it (source document 003, §7). A question
that it cannot answer goes to the memory, and the topics found there join the focus. When its
bytes are full, the least recently used topics leave.

After each change of the memory, changed topics are read again, so the focus is never stale. Only
the counts of uses, which are written without a change, may lag behind.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from hades.context.pack import pack
from hades.context.working_memory import recent_and_important
from hades.domain.answer import Fact, Passage, Recall
from hades.domain.graph import Reason
from hades.domain.question import Intent, Question, Sign
from hades.domain.statement import statement
from hades.domain.times import NOW, from_micros
from hades.domain.topics import State
from hades.errors import NotFound
from hades.language.english.terms import said
from hades.recall.answer.answering import make_recall
from hades.recall.answer.conveyance import conveyed
from hades.recall.answer.passages import state_passage
from hades.recall.answer.standing import with_disputes
from hades.recall.plan import default_plan
from hades.recall.question.reading import read_question
from hades.recall.question.time_asked import time_asked
from hades.recall.rank import belief
from hades.recall.run import AskedQuestion, Run
from hades.store.archive import LOST
from hades.store.byte_cache import ByteCache
from hades.store.records import EdgeFilter
from hades.store.store import Store

BYTES_AT_MOST = 16 << 20
QUESTION_CHARACTERS_AT_MOST = 400
"""A longer question goes to the memory."""
STATE_BYTES = 1_500
"""The bytes of a state besides its text and its words."""
WORD_BYTES = 120
ANSWERED = 0.9
"""The belief that the focus has the answer: it had 20 of 22 in four everyday sets."""
HERE = "focus"
"""How answers from a focus are marked."""
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_plan = cache(default_plan)


@dataclass(slots=True)
class _Loaded:
    """A topic that a focus keeps in memory: its states and its terms."""

    stamp: tuple[int, ...]
    """Differs after every new state of the topic."""
    states: dict[int, State]
    latest: State | None
    """The current state; None if a later one is planned, or if the topic was forgotten."""
    said: frozenset[str]
    """The terms of the latest state and the topic's name; empty if that is None or a promotion."""
    name: frozenset[str]
    """The terms of the topic's name."""


class Focus:
    """Topics held in this process to answer from; else it asks the memory. Threads may share it."""

    def __init__(
        self,
        store: Store,
        space: tuple[int, str],
        memory: Any,
        topics: Iterable[str],
        bytes_at_most: int,
    ) -> None:
        """Load `topics` of `memory`, the view that looks at this space as it is now."""
        self._store, self._space, self._memory = store, space, memory
        self._topics = ByteCache[str, _Loaded](bytes_at_most)
        self._lock = threading.RLock()
        self._revision = store.changefeed.revision()
        self.answered = {HERE: 0, "memory": 0}
        """Counts of answers from the focus and from the memory."""
        self._load(topics)

    def __enter__(self) -> Focus:
        return self

    def __exit__(self, *_error: object) -> None:
        """Do nothing: there is nothing to close."""

    @property
    def topics(self) -> list[str]:
        """The topics in the focus, most recently used first."""
        return [name for name, _ in reversed(self._topics.items())]

    @property
    def bytes(self) -> int:
        """The size of the focus in bytes."""
        return self._topics.bytes

    # Asking

    def get(self, topic: str, version: int | None = None) -> State:
        """Return the state of a topic, as `Memory.get` does; a topic not held here is loaded."""
        kept = self._kept(topic)
        states = kept.states if kept else {}
        state = kept.latest if kept and version is None else states.get(version or 0)
        self._count(state)
        if state is None:
            state = self._memory.get(topic, version)
            self._load([topic])
        return state

    def recall(self, question: str, **how: Any) -> Recall:
        """Collect the passages and facts that answer a question, as `Memory.recall` does.

        An answer from the focus has `focus` among its reasons. With options, the memory is asked.
        """
        started = time.perf_counter()
        asked = None if how else self._asked(question)
        passages = [] if asked is None else self._passages(asked)
        facts = self._facts(passages[0].chunk.topic) if passages else None
        self._count(facts is not None)
        if asked is None or facts is None:
            recalled: Recall = self._memory.recall(question, **how)
            self._load(passage.chunk.topic for passage in recalled.passages)
            return recalled
        now = self._store.now()
        run = Run(_plan(asked.intent, asked.mode))
        run.started = started
        with run.stage(HERE) as stage:
            stage.note(Reason.FOCUS, f"its words stand in {passages[0].chunk.topic}")
            packed = pack(
                *(question, passages, ()),
                budget=run.plan.budget.tokens,
                passages_at_most=run.plan.final_context,
                paths_at_most=0,
                facts=facts,
            )
            stage.found, stage.coverage = len(packed.passages), 1.0
        run.diagnostics += packed.diagnostics
        asked_here = AskedQuestion(asked, self._space[1], NOW, now)
        untimed = time_asked(asked, now, read=False)
        measured = conveyed(run, packed, (1.0, 0.0), passages, len(facts))
        chances = [passages[0].belief.mean]
        found = make_recall(run, asked_here, untimed, packed, chances, measured)
        used = {(hit.chunk.topic, hit.chunk.version, hit.recorded_at) for hit in found.passages}
        self._store.uses.add(self._space[0], self._memory._actor, used)
        return found

    def _asked(self, question: str) -> Question | None:
        """Read a question. Return None unless it asks for the present state of one thing."""
        if not isinstance(question, str) or len(question) > QUESTION_CHARACTERS_AT_MOST:
            return None
        asked = read_question(question, self._store.now())
        is_plain = asked.intent in (Intent.LOOKUP, Intent.STATUS) and asked.wants.is_state
        timed = asked.time is not None or Sign.PAST_TENSE in asked.signs
        return asked if is_plain and not timed and not asked.many else None

    def _passages(self, question: Question) -> list[Passage]:
        """Return the passages of the topic that a question is about; [] if that is not certain.

        The question must contain a word that is in the name of exactly one topic of the focus. The
        latest state of that topic must contain all words of the question except stop words.
        """
        asked = frozenset(question.terms.weights)
        with self._lock:
            if not asked or not self._is_current():
                return []
            topics = [loaded for _, loaded in self._topics.items()]
            names = Counter(word for topic in topics for word in topic.name & asked)
            own = {word for word, count in names.items() if count == 1}
            meant = [topic for topic in topics if not own.isdisjoint(topic.name)]
            if len(meant) != 1 or not asked <= meant[0].said or not (state := meant[0].latest):
                return []
            self._topics.get(state.topic)  # marks it as most recently used
        now = from_micros(self._store.now())
        chunks = self._store.chunks.chunks(self._space[0], state.topic, state.version)
        texts = [said(f"{chunk.heading} {chunk.text}") for chunk in chunks]
        shares = [len(asked & terms) / len(asked) for terms in texts]
        passages = [
            state_passage(state, chunk, HERE, share, ANSWERED * share, now)
            for chunk, share in zip(chunks, shares, strict=True)
            if share == max(shares) or share
        ]
        return sorted(passages, key=lambda passage: -passage.score)

    def _facts(self, topic: str) -> list[Fact] | None:
        """Return the facts about a topic now; None if they are too many for an answer."""
        store, space = self._store, self._space[0]
        node = store.entities.node(space, topic, NOW)
        edges = store.edges.find(space, EdgeFilter(node=node), NOW)
        if len(edges) > _plan(Intent.LOOKUP).facts:
            return None
        facts = (
            Fact(edge, statement(edge), 1.0, belief.interval(belief.of_edge(edge.belief)))
            for edge in edges
        )
        return with_disputes(store, space, facts)

    def _count(self, found: object) -> None:
        self.answered[HERE if found else "memory"] += 1

    # Loading

    def _kept(self, topic: str) -> _Loaded | None:
        """Return a topic as it is now; None if it is not loaded, or inside a batch."""
        with self._lock:
            is_here = isinstance(topic, str) and self._is_current()
            return self._topics.get(topic) if is_here else None

    def _is_current(self) -> bool:
        """Read changed topics again and return True; do nothing inside a batch: return False."""
        if self._store.in_transaction:
            return False
        revision = self._store.changefeed.revision()
        if revision != self._revision:
            kept, is_other = self._topics.items(), revision[0] != self._revision[0]
            stamps = self._store.topics.stamps(self._space[0], (name for name, _ in kept))
            self._revision = revision
            gone = [name for name, loaded in kept if is_other or stamps.get(name) != loaded.stamp]
            for name in gone:
                self._topics.drop(name)
            self._load(reversed(gone))
        return True

    def _load(self, topics: Iterable[str]) -> None:
        """Load topics, the first as most recently used; the least recently used are dropped."""
        with self._lock:
            if self._store.in_transaction:
                return
            for topic in reversed(list(dict.fromkeys(topics))):
                if self._topics.get(topic) is None:
                    with self._store.snapshot(), suppress(NotFound, *LOST):
                        self._topics.put(topic, *self._read(topic))

    def _read(self, topic: str) -> tuple[_Loaded, int]:
        """Read a topic as it is now. Return it and its size in bytes."""
        topics, space = self._store.topics, self._space[0]
        stamp = topics.stamps(space, [topic]).get(topic)
        every = topics.history(space, topic, NOW, archived=False)
        recent, important = recent_and_important(every)
        if stamp is None or not recent:
            raise NotFound(f"There is no topic {topic!r}.")
        whole = topics.whole(space, (*recent, *important), NOW)
        states = sorted(whole, key=lambda state: state.version)
        latest = None
        if not stamp[-1]:  # no state begins in the future, so this one holds until the next write
            with suppress(NotFound):
                latest = topics.state(space, topic, NOW)
        name = said(_BETWEEN_WORDS.sub(" ", topic))
        # A promoted state is indexed only in part, so the memory answers about its topic.
        is_read = latest is not None and latest.promotion is None
        terms = name | said(latest.content) if latest and is_read else frozenset()
        by_version = {state.version: state for state in states}
        taken = sum(sys.getsizeof(state.content) + STATE_BYTES for state in states)
        loaded = _Loaded(stamp, by_version, latest, terms, name)
        return loaded, taken + WORD_BYTES * len(terms)
