"""Asking a server: the methods of a remote view that take a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hades.asking import Asking
from hades.client.connection import Connection
from hades.client.moments import sent_as_of
from hades.domain.answer import Answer, Recall
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_content, clean_name, clean_number
from hades.domain.trace import TOPIC_KINDS, Chunk, Hit
from hades.errors import InvalidInput, Unavailable
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.recall.plan import Plan


class RemoteAsking(Asking):
    """Search and recall over one space of a memory behind a server, as of one moment.

    `on_progress` is taken and not called: a server indexes by itself.
    """

    _connection: Connection

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
        """The passages that fit a question best, at this view's time; see `View.search`."""
        clean_number(limit, "limit", least=1)
        if not isinstance(retriever, str | Iterable | None):
            raise InvalidInput(f"A retriever is meaning, words, names, not {retriever!r}.")
        retrievers = (
            retriever if retriever is None or isinstance(retriever, str) else list(retriever)
        )
        found = self._ask("search", question, tag, kind, glob, limit=limit, retriever=retrievers)
        return rebuild(list[Hit], found["items"])

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
        """The few passages and paths that answer a question; see `View.recall`."""
        clean_number(budget, "budget", least=50)
        wanted = {"budget": budget, "mode": mode, "plan": _plain_plan(plan)}
        return rebuild(Recall, self._ask("recall", question, tag, kind, glob, **wanted))

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
        clean_number(budget, "budget", least=50)
        wanted = {"budget": budget, "mode": mode, "plan": _plain_plan(plan)}
        return rebuild(Answer, self._ask("ask", question, tag, kind, glob, **wanted))

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
        """Passages in the order of one system of the evaluation ladder; see `View.rank`."""
        clean_number(limit, "limit", least=1)
        found = self._ask("rank", question, tag, kind, glob, limit=limit, system=system)
        return rebuild(list[Hit], found["items"])

    def examine(self, question: str) -> tuple[list[Chunk], Any]:
        """Not over a server: the features of candidates are for training a ranker."""
        raise Unavailable("A server does not show features: open the memory's file to train.")

    def warm(self, on_progress: Progress | None = None) -> dict[str, float]:
        """Let the server do what a first question would wait for; the seconds of each part."""
        return dict(self._connection.ask("spaces", self._space, "warm", body={}, patient=True))

    # Inside

    def _times(self) -> dict[str, str]:
        return sent_as_of(self.as_of)

    def _get(self, *parts: str | int, **query: Any) -> Any:
        """A page about this space as of this view's moment."""
        return self._connection.get("spaces", self._space, *parts, **query, **self._times())

    def _ask(
        self,
        what: str,
        question: str,
        tag: str | None,
        kind: str | None,
        glob: str | None,
        **wanted: Any,
    ) -> Any:
        clean_content(question)
        if not question.strip():
            raise InvalidInput("Ask something: the question is empty.")
        for pattern in (tag, glob):
            if pattern is not None:
                clean_name(pattern, "pattern")
        if kind is not None and kind not in TOPIC_KINDS:
            raise InvalidInput(f"There is no kind {kind!r}: {', '.join(TOPIC_KINDS)}.")
        narrowed = {"tag": tag, "kind": kind, "glob": glob, **wanted, **self._times()}
        body = {name: value for name, value in narrowed.items() if value is not None}
        path = ("spaces", self._space, what)
        return self._connection.ask(*path, body={"question": question, **body})


def _plain_plan(plan: Plan | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A plan as JSON."""
    if plan is None:
        return None
    if isinstance(plan, Mapping):
        return dict(plan)
    dump = getattr(plan, "model_dump", None)
    if dump is None:
        raise InvalidInput("A plan is an object such as {'graph': {'hops': 1}}.")
    return dict(dump(mode="json"))
