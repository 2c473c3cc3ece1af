"""LangGraph: a memory as the long-term store of a graph (`BaseStore`).

An item is a topic `store/NAMESPACE/…/KEY`. Its content is the text of the indexed fields, which
questions find; its metadata has the value. A new value replaces the old one and is a new version.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from hades.adapters.access import current, delete, framework, name_parts, topic_name, writable
from hades.adapters.filters import fits, matches
from hades.adapters.messages import distil
from hades.domain.distilled import Distillation
from hades.domain.rules import clean_number
from hades.domain.times import iso
from hades.errors import InvalidInput
from hades.memory import View

with framework("langgraph>=1"):
    from langchain_core.messages import convert_to_messages
    from langgraph.store import base

ROOT = "store"
HITS_AT_MOST = 1_000  # passages that a search ranks; the other items follow, latest first


class HadesStore(base.BaseStore):
    """A store in a memory. It ranks by meaning and words, without an embedding model of yours.

    `fields` are the paths that are indexed unless `put` names others; "$" is the whole value. With
    `erase`, deleted items are purged; else they are forgotten, and time travel still shows them:
    `HadesStore(memory.at("2024-03"))` reads the store as it was then. It has no `ttl`.
    """

    def __init__(
        self, memory: View, *, fields: Iterable[str] = ("$",), erase: bool = False
    ) -> None:
        self.memory = memory
        self._fields = tuple(fields)
        self._erase = erase

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations: first those that read, then those that write. Of several writes to a key,
        only the last one counts."""
        ops = list(ops)
        results = [self._read_op(op) for op in ops]
        writes = {
            topic_name(ROOT, *op.namespace, op.key): op for op in ops if type(op) is base.PutOp
        }
        puts = [self._put(topic, op) for topic, op in writes.items() if op.value is not None]
        if puts:
            memory = writable(self.memory)
            with memory.batch():
                for put in puts:
                    memory.remember(**put)
        gone = [topic for topic, op in writes.items() if op.value is None]
        if gone:
            delete(self.memory, gone, erase=self._erase)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def distil(self, messages: Iterable[Any], user: str) -> Distillation | None:
        """Distil messages of LangChain or dicts; find the notes with `recall(…, about=user)`."""
        read = convert_to_messages(list(messages))
        return distil(self.memory, [{"role": m.type, "content": str(m.text)} for m in read], user)

    # Reading

    def _read_op(self, op: base.Op) -> base.Result:
        if isinstance(op, base.GetOp):
            item = self._item(topic_name(ROOT, *op.namespace, op.key))
            return base.Item(**item) if item else None
        if isinstance(op, base.PutOp):
            return None
        if not isinstance(op, base.SearchOp | base.ListNamespacesOp):
            raise InvalidInput(f"{type(op).__name__} is no operation of a store.")
        clean_number(op.limit, "limit")
        clean_number(op.offset, "offset")
        return self._search(op) if isinstance(op, base.SearchOp) else self._namespaces(op)

    def _item(self, topic: str) -> dict[str, Any] | None:
        """Return the fields of an item; None if there is none."""
        state = current(self.memory, topic)
        if state is None or not isinstance(value := state.metadata.get("value"), dict):
            return None
        _, *namespace, key = name_parts(topic)
        created = state.metadata.get("created_at", state.recorded_at)
        times = {"created_at": created, "updated_at": state.recorded_at}
        return {"value": value, "key": key, "namespace": tuple(namespace), **times}

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        glob = f"{topic_name(ROOT, *op.namespace_prefix)}/*"
        scores: dict[str, float] = {}
        if op.query and op.query.strip():
            for hit in self.memory.search(op.query, HITS_AT_MOST, glob=glob):
                scores.setdefault(hit.chunk.topic, hit.score)

        def others() -> Iterator[str]:
            for topic in sorted(self.memory.topics(glob), key=lambda t: t.recorded_at)[::-1]:
                if topic.name not in scores:
                    yield topic.name

        fitting = (
            base.SearchItem(**item, score=scores.get(topic))
            for topic in chain(scores, others())
            if (item := self._item(topic)) and fits(item["value"], op.filter or {})
        )
        return list(islice(fitting, op.offset, op.offset + op.limit))

    def _namespaces(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        every = {name_parts(topic.name)[1:-1] for topic in self.memory.topics(f"{ROOT}/*")}
        for condition in op.match_conditions or ():
            every = {n for n in every if matches(n, condition.match_type, condition.path)}
        chosen = {namespace[: op.max_depth] for namespace in every}
        return sorted(chosen)[op.offset : op.offset + op.limit]

    # Writing

    def _put(self, topic: str, op: base.PutOp) -> dict[str, Any]:
        """Return the arguments of `remember` for an item."""
        if op.ttl is not None:
            raise InvalidInput("This store keeps items until they are deleted: leave out ttl.")
        try:
            value = json.loads(json.dumps(dict(op.value or {}), allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"The value of an item must be plain JSON: {error}.") from error
        fields = self._fields if op.index is None else op.index or ()
        content = "\n".join(text for path in fields for text in _texts(value, path))
        state = current(self.memory, topic)
        metadata = {"value": value}
        if state:
            same = (state.metadata.get("value"), state.content) == (value, content)
            created = state.metadata.get("created_at") or (None if same else iso(state.recorded_at))
            metadata |= {"created_at": created} if created else {}
        return {"topic": topic, "content": content, "metadata": metadata, "kind": "document"}


def _texts(value: dict[str, Any], path: str) -> list[str]:
    """Return the texts at a path; those of a whole value as lines `name: text`."""
    if path != "$":
        return base.get_text_at_path(value, path)
    fields = {name: base.get_text_at_path(value, [name]) for name in value}
    if len(fields) == 1:
        return [text for texts in fields.values() for text in texts]
    return [f"{name}: {text}" for name, texts in fields.items() for text in texts]
