"""The systems of the comparison. Each adapter stores passages and finds them again.

Peers get HADES's own encoder, and one thread each. Where a system has a way to store raw text
without a language model, that way is used.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import hades
from bench.peers.graphs import HippoStyle, LinearStyle, Rebuilt
from bench.peers.sets import FOUND, Passage
from hades.evals.ladder import UNHURRIED
from hades.evals.memories import open_set
from hades.evals.replay import write_event
from hades.evals.sets import FILES, EvalQuestion, EvalSet
from hades.models.encoder import load_encoder

OWN_MEMORY = ("everyday", "sessions", "documents")
"""Kinds of sets that are written here, by calls; the others are opened as `hades eval` does."""


class System(Protocol):
    """A system under measurement: a store in a folder of its own."""

    module: str
    """The package that must be installed."""

    def __init__(self, folder: Path, kind: str) -> None: ...

    def index(self, passages: Sequence[Passage]) -> None:
        """Store passages; they can be found when this returns."""

    def delete(self, ids: Iterable[str]) -> None:
        """Delete passages, by the way the system offers for it."""

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        """Return the ids of the k best passages, best first."""

    def close(self) -> None:
        """Write everything to disk."""


class Hades:
    """HADES as shipped: `recall` with its default plan, but time limits that are not reached.

    Of documents, it is asked for as many passages as the peers, which are more than the default.
    """

    module = "hades"

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder, kind
        self._clock, self._open = SimpleNamespace(now=0), ExitStack()
        if kind in OWN_MEMORY:
            clock = {"clock": lambda: self._clock.now} if kind == "everyday" else {}
            self.memory = self._open.enter_context(hades.open(folder / "set.hades", **clock))
            self.memory.inside.store.uses.counts, self.memory.inside.store.query_log.kept = False, 0

    def index(self, passages: Sequence[Passage]) -> None:
        if self._kind == "everyday":
            for passage in passages:
                self._clock.now = max(self._clock.now + 1, passage.at)
                write_event(self.memory, passage.source)
        elif self._kind == "sessions":
            with self.memory.batch():
                for passage in passages:
                    self.memory.remember(passage.id, passage.text, valid_from=passage.source)
        elif self._kind == "documents":
            self.memory.ingest(passages[0].source)
        else:
            rows = self._folder / FILES[self._kind]
            rows.write_text("".join(json.dumps(passage.source) + "\n" for passage in passages))
            asked = EvalSet("set", self._folder, self._kind, ())
            self._set = self._open.enter_context(open_set(asked, self._folder))
            return
        self.memory.index()

    def delete(self, ids: Iterable[str]) -> None:
        """Do nothing: deletions are events of the set, which `index` has written."""

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        self._clock.now = max(self._clock.now, question.asked_at)
        if self._kind in OWN_MEMORY:
            view = self.memory.at(question.as_of) if question.as_of else self.memory
        else:
            view = self._set.view(question)
        chunks = self._chunks(view, question.text, k)
        if self._kind == "everyday":
            ids = [chunk.id.rsplit("#", 1)[0] for chunk in chunks]
        elif self._kind == "sessions":
            ids = [chunk.topic for chunk in chunks]
        elif self._kind == "documents":
            ids = [chunk.id for chunk in chunks]
        else:
            ids = [self._set.id_of(chunk) for chunk in chunks]
        return list(dict.fromkeys(ids))[:k]

    def close(self) -> None:
        self._open.close()
        for rows in (*self._folder.rglob("*.jsonl"), *self._folder.rglob("*.txt")):
            rows.unlink()  # Copies of the set, which are not part of the memory.

    def _chunks(self, view: hades.View, question: str, k: int) -> list[Any]:
        plan = UNHURRIED if k <= FOUND else {**UNHURRIED, "final_context": k}
        return [passage.chunk for passage in view.recall(question, plan=plan).passages]


class HadesSearch(Hades):
    """HADES's plain search by meaning and words, without graph, ranker and reader."""

    def _chunks(self, view: hades.View, question: str, k: int) -> list[Any]:
        return [hit.chunk for hit in view.search(question, 4 * k)]


class Chroma:
    """chromadb, a persistent client, with vectors given to it."""

    module = "chromadb"

    def __init__(self, folder: Path, kind: str) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings)
        self.collection = self._client.create_collection(
            "passages", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def index(self, passages: Sequence[Passage]) -> None:
        ids, texts = zip(*((passage.id, passage.text) for passage in passages), strict=True)
        self.collection.upsert(ids=list(ids), embeddings=encode(texts), documents=list(texts))

    def delete(self, ids: Iterable[str]) -> None:
        self.collection.delete(ids=list(ids))

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        found = self.collection.query(query_embeddings=encode([question.text]), n_results=k)
        return list(found["ids"][0])

    def close(self) -> None:
        self._client.close()


class Txtai:
    """txtai with stored texts, hybrid search (vectors and BM25) and vectors from outside."""

    module = "txtai"

    def __init__(self, folder: Path, kind: str) -> None:
        from txtai import Embeddings

        self._folder = folder
        self.embeddings = Embeddings(method="external", transform=encode, content=True, hybrid=True)

    def index(self, passages: Sequence[Passage]) -> None:
        self.embeddings.upsert((passage.id, passage.text, None) for passage in passages)

    def delete(self, ids: Iterable[str]) -> None:
        self.embeddings.delete(list(ids))

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        return [row["id"] for row in self.embeddings.search(question.text, k)]

    def close(self) -> None:
        self.embeddings.save(str(self._folder / "index"))
        self.embeddings.close()


class LanceDb:
    """LanceDB, an embedded table, searched by exact cosine of vectors given to it."""

    module = "lancedb"

    def __init__(self, folder: Path, kind: str) -> None:
        import lancedb

        self._database = lancedb.connect(str(folder))
        self._table: Any = None

    def index(self, passages: Sequence[Passage]) -> None:
        texts = [passage.text for passage in passages]
        rows = [
            {"id": passage.id, "text": passage.text, "vector": vector}
            for passage, vector in zip(passages, encode(texts), strict=True)
        ]
        if self._table is None:
            self._table = self._database.create_table("passages", rows)
        else:
            self._table.add(rows)

    def delete(self, ids: Iterable[str]) -> None:
        quoted = ("'" + id_.replace("'", "''") + "'" for id_ in ids)
        self._table.delete(f"id IN ({', '.join(quoted)})")

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        query = self._table.search(encode([question.text])[0]).distance_type("cosine")
        return [row["id"] for row in query.select(["id", "_distance"]).limit(k).to_list()]

    def close(self) -> None:
        """Do nothing: each write is on disk when it returns."""


class Bm25s(Rebuilt):
    """bm25s with stop words and no stemming."""

    module = "bm25s"

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        import bm25s

        words = bm25s.tokenize([question.text], stopwords="en", show_progress=False)
        k = min(k, len(self._texts))
        found, _ = self._index.retrieve(words, k=k, corpus=list(self._texts), show_progress=False)
        return [str(id_) for id_ in found[0]]

    def close(self) -> None:
        texts = [{"id": id_, "text": text} for id_, text in self._texts.items()]
        self._index.save(self._folder / "index", corpus=texts)

    def _build(self) -> None:
        import bm25s

        self._index = bm25s.BM25()
        words = bm25s.tokenize(list(self._texts.values()), stopwords="en", show_progress=False)
        self._index.index(words, show_progress=False)


class Mem0:
    """mem0 without a model (`infer=False`), vectors in a local qdrant, history in SQLite."""

    module = "mem0"

    def __init__(self, folder: Path, kind: str) -> None:
        os.environ["MEM0_DIR"] = str(folder / "home")
        from langchain_core.embeddings import Embeddings
        from mem0 import Memory

        class Own(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [row.tolist() for row in encode(texts)]

            def embed_query(self, text: str) -> list[float]:
                return self.embed_documents([text])[0]

        places = {"path": str(folder / "qdrant"), "on_disk": True}
        self.memory = Memory.from_config(
            {
                "embedder": {"provider": "langchain", "config": {"model": Own()}},
                "vector_store": {
                    "provider": "qdrant",
                    "config": {**places, "embedding_model_dims": load_encoder().dims},
                },
                # A client is made, and never called: nothing is inferred.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self.numbers: dict[str, str] = {}

    def index(self, passages: Sequence[Passage]) -> None:
        for passage in passages:
            added = self.memory.add(
                passage.text,
                user_id="all",
                metadata={"passage": passage.id},
                infer=False,
            )
            self.numbers[passage.id] = added["results"][0]["id"]

    def delete(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            self.memory.delete(self.numbers.pop(id_))

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        found = self.memory.search(
            question.text, top_k=k, filters={"user_id": "all"}, threshold=0.0
        )
        return [row["metadata"]["passage"] for row in found["results"]]

    def close(self) -> None:
        self.memory.vector_store.client.close()
        self.memory.close()


class LangMem:
    """The store of LangMem's tools: langgraph's InMemoryStore with an index of vectors."""

    module = "langmem"

    def __init__(self, folder: Path, kind: str) -> None:
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [row.tolist() for row in encode(list(texts))]

        self.store = InMemoryStore(
            index={"dims": load_encoder().dims, "embed": embed, "fields": ["content"]}
        )

    def index(self, passages: Sequence[Passage]) -> None:
        for passage in passages:
            self.store.put(("memories",), passage.id, {"content": passage.text})

    def delete(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            self.store.delete(("memories",), id_)

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        return [row.key for row in self.store.search(("memories",), query=question.text, limit=k)]

    def close(self) -> None:
        """Nothing is kept on disk."""


class Graphiti:
    """Graphiti on its embedded driver (Kuzu): raw episodes and their BM25 search.

    Entities, facts and their times come from a language model, so none of them is here.
    """

    module = "graphiti_core"

    def __init__(self, folder: Path, kind: str) -> None:
        from graphiti_core.driver.kuzu_driver import KuzuDriver
        from graphiti_core.graph_queries import get_fulltext_indices

        self._loop = asyncio.new_event_loop()
        self.driver = KuzuDriver(str(folder / "graph.kuzu"))
        for query in get_fulltext_indices(self.driver.provider):
            self._do(self.driver.execute_query(query))
        self._nodes: dict[str, Any] = {}

    def index(self, passages: Sequence[Passage]) -> None:
        from graphiti_core.nodes import EpisodeType, EpisodicNode

        for passage in passages:
            now = datetime.now(UTC)
            node = self._nodes[passage.id] = EpisodicNode(
                name=passage.id,
                group_id="all",
                source=EpisodeType.text,
                source_description="",
                content=passage.text,
                created_at=now,
                valid_at=now,
            )
            self._do(node.save(self.driver))

    def delete(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            self._do(self._nodes.pop(id_).delete(self.driver))

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        from graphiti_core.search.search_filters import SearchFilters
        from graphiti_core.search.search_utils import episode_fulltext_search

        search = episode_fulltext_search(self.driver, question.text, SearchFilters(), ["all"], k)
        return [node.name for node in self._do(search)]

    def close(self) -> None:
        self._do(self.driver.close())
        self.driver.db.close()
        self._loop.close()

    def _do(self, call: Any) -> Any:
        return self._loop.run_until_complete(call)


SYSTEMS: Mapping[str, type[System]] = {
    "hades": Hades,
    "hades-search": HadesSearch,
    "chroma": Chroma,
    "txtai": Txtai,
    "lancedb": LanceDb,
    "bm25s": Bm25s,
    "hippo": HippoStyle,
    "linear": LinearStyle,
    "mem0": Mem0,
    "langmem": LangMem,
    "graphiti": Graphiti,
}
TITLES = {
    "hades": "HADES, `recall`",
    "hades-search": "HADES, `search`",
    "chroma": "chromadb",
    "txtai": "txtai, hybrid",
    "lancedb": "LanceDB",
    "bm25s": "bm25s",
    "hippo": "HippoRAG-style (ours)",
    "linear": "LinearRAG-style (ours)",
    "mem0": "mem0, `infer=False`",
    "langmem": "LangMem's store",
    "graphiti": "Graphiti, raw episodes",
}


def encode(texts: Sequence[str]) -> Any:
    """Return the vectors of HADES's encoder."""
    return load_encoder().encode(list(texts))
