"""Kinds of names: precision and coverage on 300 names labelled by hand (evals/entity_kinds.tsv).

Names are labelled as their passage uses them; two kinds mean that either is right, and `concept`
that it is none of the kinds. The passages are those of the public sets (see bench/ingest.py).
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from functools import cache
from pathlib import Path

from bench.ingest import data_folder
from bench.table import show
from hades.language.english.entity_kinds import UNKNOWN, title_kind
from hades.models.extractor import load_extractor

LABELS = Path(__file__).parent.parent / "evals" / "entity_kinds.tsv"


def run(*, small: bool = False) -> None:
    """Print how many names of each kind were told, and how many of them are right."""
    del small  # it takes a second
    data = data_folder()
    if data is None:
        print("Kinds skipped: set HADES_DATA to a folder with the public sets.\n")
        return
    told: Counter[tuple[str, bool]] = Counter()
    with_kind = 0
    with LABELS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            right = row["kind"].split("|")
            with_kind += UNKNOWN not in right
            if (kind := _kind(data, row["set"], row["passage"], row["name"])) != UNKNOWN:
                told[kind, kind in right] += 1
    kinds = sorted({kind for kind, _ in told})
    rows = [(kind, told[kind, True] + told[kind, False], told[kind, True]) for kind in kinds]
    rows.append(("all", told.total(), sum(right for *_, right in rows)))
    show(
        f"Kinds of 300 names, {with_kind} of which have one",
        ("kind", "told", "right", "precision", "coverage"),
        [
            (
                *(kind, count, right, f"{right / count:.3f}"),
                f"{right / with_kind:.3f}" if kind == "all" else "",
            )
            for kind, count, right in rows
        ],
    )


def _kind(data: Path, of_set: str, passage: str, name: str) -> str:
    title, text = _passages(data, of_set)[passage]
    kind = dict(load_extractor()([text])[0]).get(name, UNKNOWN)
    return title_kind(title, text) if kind == UNKNOWN and name == title else kind


@cache
def _passages(data: Path, of_set: str) -> dict[str, tuple[str, str]]:
    """Return title and text by id; notes have no title, and their line as id."""
    corpus = data / of_set / "corpus.jsonl"
    is_corpus = corpus.exists()
    file = corpus if is_corpus else data / of_set / "events.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    if is_corpus:
        return {str(row["id"]): (row["title"], row["text"]) for row in rows}
    return {str(number): ("", row.get("content") or "") for number, row in enumerate(rows)}
