"""Asking: the methods of a view that take a question.

A part of `View`, kept in its own file: what is read by name is there, what is found by
asking is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hades.domain.answer import Answer, Recall
from hades.domain.graph import Reason
from hades.domain.rules import clean_content, clean_name, clean_number
from hades.domain.times import AsOf
from hades.domain.trace import TOPIC_KINDS, Chunk, Hit
from hades.errors import InvalidInput, NotFound, Unavailable
from hades.store.records import Progress
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.recall.engine import RecallEngine
    from hades.recall.plan import Plan
    from hades.recall.search import Finder, Where


class Asking:
    """Search and recall over one space of a memory as of one moment."""

    _store: Store
    _space: str
    _space_id: int
    _encoder: str
    _engines: dict[str, RecallEngine]
    as_of: AsOf

    def search(
        self,
        question: str,
        limit: int = 10,
        *,
        retriever: str | Iterable[str] | None = None,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        on_progress: Progress | None = None,
    ) -> list[Hit]:
        """The passages that fit a question best, at this view's time.

        `retriever` is `meaning`, `words` or `names`; by default meaning and words together.
        `tag`, `kind` (note, document, code, conversation, record, paper) and `glob` narrow
        the topics. What was remembered since the last search is indexed first, unless this
        memory is open for reading only: then it waits for a writer, and `pending` counts it.
        """
        from hades.recall.search import chosen_retrievers

        clean_number(limit, "limit", least=1)
        retrievers = chosen_retrievers(retriever)
        self._ready(question, tag, kind, glob, on_progress)
        return self._finder.search(
            self._where(tag, kind, glob),
            question,
            limit=limit,
            retrievers=retrievers,
            on_progress=on_progress,
        )

    def recall(
        self,
        question: str,
        *,
        budget: int | None = None,
        mode: str | None = None,
        plan: Plan | Mapping[str, Any] | None = None,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        on_progress: Progress | None = None,
    ) -> Recall:
        """The few passages and paths that answer a question, packed for a model.

        `budget` is the most tokens the context may have. `mode` is `execution` (5 passages),
        `planning` (10) or `brainstorming` (20); by default the question decides. `plan`
        changes caps, budgets and stages: see `docs/answers.md`. Everything that was trimmed
        or done another way is in the answer's `reasons`.
        """
        clean_number(budget, "budget", least=50)
        self._ready(question, tag, kind, glob, on_progress, degrades=True)
        return self._engine.recall(
            self._where(tag, kind, glob),
            question,
            budget=budget,
            mode=mode,
            plan=plan,
            on_progress=on_progress,
        )

    def ask(
        self,
        question: str,
        *,
        budget: int | None = None,
        mode: str | None = None,
        plan: Plan | Mapping[str, Any] | None = None,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        on_progress: Progress | None = None,
    ) -> Answer:
        """The sentences that answer a question, each with the passage it stands in."""
        from hades.recall.ask import answer

        found = self.recall(
            question,
            budget=budget,
            mode=mode,
            plan=plan,
            tag=tag,
            kind=kind,
            glob=glob,
            on_progress=on_progress,
        )
        deaf = any(note.reason is Reason.ENCODER_FAILED for note in found.reasons)
        return answer(found, None if deaf else self._finder.encoder)

    def rank(
        self,
        question: str,
        limit: int = 10,
        *,
        system: str = "full",
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        on_progress: Progress | None = None,
    ) -> list[Hit]:
        """Passages in the order of one system of the evaluation ladder, without a budget.

        The systems are `dense`, `words`, `hybrid`, `ppr`, `paths`, `tiers` and `full`.
        """
        clean_number(limit, "limit", least=1)
        self._ready(question, tag, kind, glob, on_progress)
        where = self._where(tag, kind, glob)
        return self._engine.rank(where, question, system, limit, on_progress)

    def examine(self, question: str) -> tuple[list[Chunk], Any]:
        """The candidates for a question and the features a ranker sees of them."""
        self._ready(question, None, None, None, None)
        return self._engine.examine(self._where(), question)

    def warm(self, on_progress: Progress | None = None) -> dict[str, float]:
        """Do beforehand what a first question would wait for; the seconds of each part.

        Kernels are compiled once on a machine and kept; the encoder and the indexes of this
        memory are loaded for this process. A server does this before it answers.
        """
        from hades.recall.warming import load_kernels, timed

        self._require_space()
        self._index_pending(on_progress)

        def indexes() -> None:
            with self._engine.query_context(self._where(), on_progress):
                pass

        parts = {
            "kernels": load_kernels,
            "encoder": lambda: self._finder.encoder.encode(["warm"]),
            "indexes": indexes,
        }
        return timed(parts, on_progress)

    # Inside

    @property
    def _engine(self) -> RecallEngine:
        if self._encoder not in self._engines:
            from hades.recall.engine import RecallEngine
            from hades.settings import load_settings

            # Two threads may come here at once: the first one's stays.
            made = RecallEngine(self._store, self._encoder, load_settings().ranker)
            self._engines.setdefault(self._encoder, made)
        return self._engines[self._encoder]

    @property
    def _finder(self) -> Finder:
        return self._engine.finder

    def _where(
        self, tag: str | None = None, kind: str | None = None, glob: str | None = None
    ) -> Where:
        from hades.recall.search import Where

        return Where(self._space_id, self._space, self.as_of, tag, kind, glob)

    def _ready(
        self,
        question: str,
        tag: str | None,
        kind: str | None,
        glob: str | None,
        on_progress: Progress | None,
        *,
        degrades: bool = False,
    ) -> None:
        """Check what was asked, then index what was remembered since."""
        clean_content(question)
        if not question.strip():
            raise InvalidInput("Ask something: the question is empty.")
        for pattern in (tag, glob):
            if pattern is not None:
                clean_name(pattern, "pattern")
        if kind is not None and kind not in TOPIC_KINDS:
            raise InvalidInput(f"There is no kind {kind!r}: {', '.join(TOPIC_KINDS)}.")
        self._bring_up_to_date(on_progress, degrades=degrades)

    def _bring_up_to_date(self, on_progress: Progress | None, *, degrades: bool = False) -> None:
        """Index what was remembered since; what cannot be encoded now waits."""
        if self._store.in_transaction:
            raise InvalidInput("Search before or after a batch or snapshot, not inside it.")
        self._require_space()
        # An answer tells what it is made without: not_indexed, encoder_failed. A list cannot.
        with suppress(*((Unavailable,) if degrades else ())):
            self._index_pending(on_progress)

    def _named_node(self, name: str) -> int:
        clean_name(name)
        self._require_space()
        node = self._store.entities.node(self._space_id, name, self.as_of)
        if node is None:
            raise NotFound(f"There is no topic or entity {name!r} in the space {self._space!r}.")
        return node

    def _require_space(self) -> None:
        """NotFound when the space was dropped meanwhile: never an empty answer."""
        if self._store.spaces.id(self._space) != self._space_id:
            raise NotFound(f"The space {self._space!r} was dropped and made anew: open it again.")

    def _index_pending(self, on_progress: Progress | None) -> None:
        """Cut, embed and link what was remembered since, where this may be written."""
        if self._store.read_only or not self._store.chunks.pending_count(self._space_id):
            return
        from hades.ingest.pipeline import Pipeline
        from hades.ingest.summary import Summary

        finder, space = self._finder, self._space_id
        with finder.indexing:
            Pipeline(
                self._store,
                space,
                "hades",
                lambda: finder.encoder,
                on_progress,
                lambda names: finder.saying(space, names),
            ).index(Summary())
