"""Scripted tests of what a system can do besides finding: time travel, deletion, bridges.

A verdict is a word and a sentence. Every sentence is about what the script saw, not about what a
documentation promises.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hades
from bench.peers.measure import about
from bench.peers.sets import Passage
from bench.peers.systems import SYSTEMS
from hades.evals.sets import EvalQuestion

OLD, NEW = "The billing service listens on port 8081.", "The billing service listens on port 8090."
CANARY = "zanzibarine"
SECRET = f"The safe opens with the word {CANARY}."
FILLER = [f"Room {n} was painted in week {n + 3} by the caretaker." for n in range(40)]
CHAINS = [
    ("Mara Lindqvist", "Halden Trust", "Corvin Foundry", "Gull Point"),
    ("Piet Ostrander", "Velde Society", "Marlow Press", "Sedge Abbey"),
    ("Ines Calloway", "Bram Institute", "Tallis Works", "Otter Bridge"),
    ("Jonas Whitlock", "Orrin Circle", "Dunmore Yard", "Fern Tower"),
    ("Selma Arkwright", "Keld Guild", "Rook Studio", "Amber Hall"),
    ("Tobias Fenwick", "Lark Council", "Pell Brewery", "Stone Quay"),
]
"""A person, two things in between, and a place."""
NEAR_LINKS = ("{0} chairs the {1}.", "The {1} pays for the upkeep of {3}.")
LINKS = ("{0} chairs the {1}.", "The {1} owns the {2}.", "The {2} cast the bell at {3}.")
BRIDGED_AMONG = 3
Verdict = dict[str, Any]


def abilities(name: str) -> dict[str, Any]:
    """Run the three tests on a system."""
    return {**about(name), **{what: test(name) for what, test in TESTS.items()}}


def time_travel(name: str) -> Verdict:
    """Write a note, change it with the system's own call, and ask for the earlier text."""
    with tempfile.TemporaryDirectory() as folder:
        if name.startswith("hades"):
            return _hades_then(Path(folder))
        system: Any = SYSTEMS[name](Path(folder), "corpus")
        system.index([Passage("port", OLD)])
        if name == "mem0":
            verdict = _mem0_then(system)
        elif name == "graphiti":
            verdict = _graphiti_then(system)
        else:
            system.index([Passage("port", NEW)])
            kept = OLD in _stored(name, system)
            why = "keeps the old text, without its time" if kept else "overwrites the old text"
            verdict = _verdict("cannot", f"an update {why}; no call takes a time")
        system.close()
    return verdict


def _mem0_then(system: Any) -> Verdict:
    number = system.numbers["port"]
    system.memory.update(number, NEW)
    kept = any(row.get("old_memory") == OLD for row in system.memory.history(number))
    if not kept:
        return _verdict("cannot", "`history` does not have the old text")
    return _verdict("partly", "`history` of a memory has the old text; no search takes a time")


def _hades_then(folder: Path) -> Verdict:
    with hades.open(folder / "then.hades") as memory:
        memory.remember("billing/port", OLD, valid_from="2024-01-10")
        memory.remember("billing/port", NEW, valid_from="2024-03-01")
        then = memory.at("2024-02-01").recall("Which port does billing use?").passages[0]
        now = memory.recall("Which port does billing use?").passages[0]
    right = OLD in then.chunk.text and NEW in now.chunk.text
    return _verdict("pass" if right else "fail", "`at(…).recall` finds the text that held then")


def _graphiti_then(system: Any) -> Verdict:
    from graphiti_core.edges import EntityEdge
    from graphiti_core.nodes import EntityNode
    from graphiti_core.search.search_filters import ComparisonOperator, DateFilter, SearchFilters
    from graphiti_core.search.search_utils import edge_fulltext_search

    first, second, third = (datetime(2024, month, 1, tzinfo=UTC) for month in (1, 2, 3))
    ends = [
        EntityNode(name=name, group_id="all", name_embedding=[1.0]) for name in ("billing", "port")
    ]
    for end in ends:
        system._do(end.save(system.driver))
    for fact, begins, ended in ((OLD, first, third), (NEW, third, None)):
        edge = EntityEdge(
            name="LISTENS",
            group_id="all",
            fact=fact,
            created_at=begins,
            valid_at=begins,
            invalid_at=ended,
            source_node_uuid=ends[0].uuid,
            target_node_uuid=ends[1].uuid,
            fact_embedding=[1.0],
        )
        system._do(edge.save(system.driver))
    until = DateFilter(date=second, comparison_operator=ComparisonOperator.less_than_equal)
    search = edge_fulltext_search(
        system.driver, "billing port", SearchFilters(valid_at=[[until]]), ["all"], 5
    )
    facts = [edge.fact for edge in system._do(search)]
    if facts == [OLD]:
        return _verdict(
            "pass",
            "for facts with times, written by hand here; a language model"
            " writes them otherwise. Raw episodes have no versions",
        )
    return _verdict("fail", f"the search as of a time found {len(facts)} facts")


def deletion(name: str) -> Verdict:
    """Delete a text and look for a word of it in the bytes of all files."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if name.startswith("hades"):
            before, left = _hades_purged(folder)
        else:
            system: Any = SYSTEMS[name](folder, "corpus")
            system.index([Passage(f"f{n}", text) for n, text in enumerate(FILLER)])
            system.index([Passage("secret", SECRET)])
            if name == "txtai":
                system.embeddings.save(str(folder / "index"))
            elif name == "bm25s":
                system.close()
            before = _holding(folder)
            system.delete(["secret"])
            system.close()
            left = _holding(folder)
            if not any(path.is_file() for path in folder.rglob("*")):
                return _verdict("no files", "nothing is kept on disk")
    if not before:
        return _verdict(
            "unclear", "the word cannot be seen in the files before the deletion either"
        )
    if left:
        return _verdict("residue", f"the deleted text is still in {', '.join(left)}")
    anew = "; its files were made anew" if name == "bm25s" else ""
    return _verdict("pass", f"seen in {', '.join(before)} before, in no file after{anew}")


def _hades_purged(folder: Path) -> tuple[list[str], list[str]]:
    with hades.open(folder / "notes.hades") as memory:
        for number, text in enumerate(FILLER):
            memory.remember(f"rooms/{number}", text)
        memory.remember("safe", SECRET)
        memory.recall("What opens the safe?")
        before = _holding(folder)
        memory.purge("safe")
    return before, _holding(folder)


def bridges(name: str) -> Verdict:
    """Ask what joins a person and a place, over two passages and over three.

    In a chain of three passages, the middle one, the outsider, shares no name with the question.
    """
    (_, near), (found, far) = (_bridged(name, links) for links in (NEAR_LINKS, LINKS))
    paths = "an answer has no paths"
    if name == "hades":
        paths = f"a path joins both ends over two passages for {near}, over three for {far}"
    said = f"outsiders among the first {BRIDGED_AMONG} passages; {paths}"
    return _verdict(f"{found} of {len(CHAINS)}", said)


def _bridged(name: str, links: Sequence[str]) -> tuple[int, int]:
    """Return how many passages in between were found, and how many paths join both ends."""
    texts = [link.format(*chain) for chain in CHAINS for link in links]
    rows = [{"id": f"p{number}", "title": "", "text": text} for number, text in enumerate(texts)]
    found, joined = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        system: Any = SYSTEMS[name](Path(folder), "corpus")
        system.index([Passage(row["id"], row["text"], source=row) for row in rows])
        for number, (person, first, second, place) in enumerate(CHAINS):
            text = f"How is {person} connected with {place}?"
            ids = system.find(EvalQuestion("", text, frozenset()), BRIDGED_AMONG)
            found += f"p{len(links) * number + 1}" in ids
            if name == "hades":
                wanted = {person, first, place} | ({second} if len(links) > 2 else set())
                paths = system._set.memory.recall(text).paths
                joined += any(wanted <= {node.name for node in path.nodes} for path in paths)
        system.close()
    return found, joined


def _stored(name: str, system: Any) -> str:
    """Return everything that a system gives back of its texts."""
    if name == "chroma":
        return str(system.collection.get())
    if name == "txtai":
        return str(system.embeddings.search("select id, text from txtai", 10))
    if name == "langmem":
        return str(system.store.search(("memories",)))
    return str(system._texts)


def _holding(folder: Path) -> list[str]:
    """Return the files below a folder that contain the word, in any case."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if CANARY.encode() in path.read_bytes().lower()]


def _verdict(word: str, sentence: str) -> Verdict:
    return {"verdict": word, "why": sentence}


TESTS = {"time travel": time_travel, "deletion": deletion, "bridges": bridges}
