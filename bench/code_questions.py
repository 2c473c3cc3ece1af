"""Sixty questions about two repositories: where the answer stands in each system's results.

    python -m bench.code_questions FOLDER … [--system NAME]… [--memories FOLDER] [--json]

FOLDER is an unpacked source distribution, `starlette-1.10.0` or `flask-3.1.3`. The questions
and their gold (files, and symbols, headings or lines in them) are in `code_questions.json`.
They were written from the sources alone, before any system was asked.

A result passage counts for a file when it is of that file; for a function or a section when it
shares a line with it; for a class or a line when it has that line. `hybrid` is plain search,
`full` the ranker's order, `recall` what a caller of recall gets (ten passages), `grep` blocks of
twenty lines by how many of the question's words they have, names of code first.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hades
from bench import table
from hades.memory import Memory

SYSTEMS = ("grep", "hybrid", "full", "recall")
DEPTH = 10
BLOCK_LINES = 20
_UNDERLINE = re.compile(r"([=\-~^`#*+\"])\1{2,}\s*$")
_COMMON = {
    "after",
    "does",
    "from",
    "that",
    "there",
    "this",
    "what",
    "when",
    "where",
    "which",
    "with",
}


@dataclass(frozen=True)
class Place:
    """Lines of a file, both ends counted, from 1."""

    file: str
    first: int
    last: int

    def meets(self, other: Place) -> bool:
        return self.file == other.file and self.first <= other.last and other.first <= self.last


def gold_places(top: Path, gold: str) -> list[Place]:
    """Where a symbol (`file::Class.method`), a heading or a line of text stands."""
    file, _, name = gold.partition("::")
    text = (top / file).read_text(encoding="utf-8")
    if file.endswith(".py"):
        found = [Place(file, *span) for one, *span in _definitions(ast.parse(text)) if one == name]
    else:
        sections = _sections(text, markdown=file.endswith(".md"))
        found = [Place(file, *span) for one, *span in sections if one == name]
    if not found:
        lines = enumerate(text.splitlines(), 1)
        found = [Place(file, at, at) for at, line in lines if line.strip().startswith(name)]
    if not found:
        raise SystemExit(f"{gold} is not in {top}.")
    return found


def _definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child.lineno, child.end_lineno or child.lineno
        elif isinstance(child, ast.ClassDef):
            yield prefix + child.name, child.lineno, child.lineno
            yield from _definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _definitions(child, prefix)


def _sections(text: str, *, markdown: bool) -> list[tuple[str, int, int]]:
    """Sections of Markdown or reStructuredText: heading, first and last line."""
    lines, marks, fenced = text.splitlines(), "", False
    heads: list[tuple[str, int, int]] = []
    for at, line in enumerate(lines, 1):
        fenced ^= markdown and line.startswith("```")
        if markdown:
            if (mark := re.match(r"(#+) (.+)", line)) and not fenced:
                heads.append((mark[2].strip(), at, len(mark[1])))
        elif line.strip() and at < len(lines) and (mark := _UNDERLINE.match(lines[at])):
            marks += mark[1] if mark[1] not in marks else ""
            heads.append((line.strip(), at, marks.index(mark[1])))
    ends = [
        next((at - 1 for _, at, level in heads[n + 1 :] if level <= heads[n][2]), len(lines))
        for n in range(len(heads))
    ]
    return [(name, at, end) for (name, at, _), end in zip(heads, ends, strict=True)]


class Repository:
    """An unpacked source distribution in a memory of its own."""

    def __init__(self, top: Path, memory: Memory) -> None:
        self.top, self.memory = top, memory
        self.files = {
            name: (top / name).read_text(encoding="utf-8", errors="replace").splitlines()
            for one in memory.topics()
            if (top / (name := one.name.removeprefix(f"{top.name}/"))).is_file()
        }

    def ask(self, system: str, question: str) -> list[Place]:
        """The first passages a system gives."""
        if system == "grep":
            return self._grep(question)
        if system == "recall":
            recalled = self.memory.recall(question, plan={"final_context": DEPTH})
            return [
                self._place(one.chunk.topic, one.line, one.chunk.text) for one in recalled.passages
            ]
        hits = self.memory.rank(question, DEPTH, system=system)
        return [self._place(one.chunk.topic, one.line, one.chunk.text) for one in hits]

    def _place(self, topic: str, line: int, text: str) -> Place:
        file = topic.removeprefix(f"{self.top.name}/")
        return Place(file, line, line + text.rstrip("\n").count("\n"))

    def _grep(self, question: str) -> list[Place]:
        words = set(re.findall(r"[\w./-]*\w", question))
        names = {one for one in words if re.search(r"[a-z][A-Z_.]|_", one)}
        plain = {one for one in words if len(one) > 3 and one.lower() not in _COMMON}
        pattern = re.compile("|".join(map(re.escape, names or plain)), re.IGNORECASE)
        scored = []
        for file, lines in self.files.items():
            for at in range(0, len(lines), BLOCK_LINES):
                found = pattern.findall("\n".join(lines[at : at + BLOCK_LINES]).lower())
                if found:
                    place = Place(file, at + 1, at + BLOCK_LINES)
                    scored.append((-len(set(found)), -len(found), file, at, place))
        return [one[-1] for one in sorted(scored)[:DEPTH]]


def score(ranked: Sequence[Place], gold: Sequence[Sequence[Place]]) -> dict[str, float]:
    """What a ranking is worth; each gold thing may stand in several places."""
    met = [{n for n, places in enumerate(gold) if any(map(one.meets, places))} for one in ranked]
    first = next((rank for rank, some in enumerate(met, 1) if some), None)
    return {
        "mrr": 1 / first if first else 0.0,
        "hit@1": float(first == 1),
        **{f"recall@{k}": len(set().union(*met[:k])) / len(gold) for k in (5, 10)},
    }


def measure(
    repository: Repository, questions: Sequence[dict[str, Any]], systems: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """One row a question, system and kind of gold (files, symbols)."""
    for question in questions:
        text = question["question"]
        gold = {
            "files": [[Place(one, 1, sys.maxsize)] for one in question["files"]],
            "symbols": [gold_places(repository.top, one) for one in question["symbols"]],
        }
        for system in systems:
            ranked = repository.ask(system, text)
            for what, places in gold.items():
                row = {"question": text, "kind": question["kind"], "system": system}
                yield {**row, "gold": what, **score(ranked, places)}


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Tables of files and of symbols: all questions, then the MRR by kind."""
    measures = ("mrr", "hit@1", "recall@5", "recall@10")
    kinds = list(dict.fromkeys(str(row["kind"]) for row in rows))
    for what in ("files", "symbols"):
        by_system: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            if row["gold"] == what:
                by_system[str(row["system"])].append(row)
        table.show(
            f"gold {what}",
            ("system", *measures, *(f"{kind} mrr" for kind in kinds)),
            [
                (
                    system,
                    *(_mean(row[one] for row in some) for one in measures),
                    *(_mean(row["mrr"] for row in some if row["kind"] == kind) for kind in kinds),
                )
                for system, some in by_system.items()
            ],
        )


def _mean(values: Iterable[float]) -> str:
    return f"{100 * statistics.fmean(values):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--system", action="append", choices=SYSTEMS)
    parser.add_argument("--memories", type=Path, help="a folder that keeps the memories")
    parser.add_argument("--json", action="store_true", help="one row a question")
    given = parser.parse_args()
    every = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = []
    if given.memories is not None:
        given.memories.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for folder in given.folders:
            top = folder.resolve()
            asked = [one for one in every if top.name.startswith(one["repository"])]
            with hades.open((given.memories or Path(temporary)) / f"{top.name}.hades") as memory:
                memory.ingest(top)
                repository = Repository(top, memory)
                rows += measure(repository, asked, given.system or SYSTEMS)
    if given.json:
        print(json.dumps(rows, indent=1))
    else:
        report(rows)


if __name__ == "__main__":
    main()
