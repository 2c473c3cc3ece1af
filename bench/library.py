"""A library beside one memory: what is found, how long it takes, and how many writes there are.

Question sets (HADES_DATA) are divided by the hash of the topic over 1, 4 and 16 volumes, each
ingested on its own, and asked as one. The single memory is asked the same questions in the same
run. HADES_BENCH_FOLDER names a folder in which what was made is kept.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import hades
from bench.growth import WORDS
from bench.table import note, seconds, show
from hades.evals.documents import has_quote, spaced
from hades.evals.ladder import UNHURRIED
from hades.evals.sets import EvalQuestion, EvalSet, load_set
from hades.library.excerpt import ExcerptOfLibrary
from hades.library.volume import Volume
from hades.models.onnx_encoder import FolderEncoder, Vectors
from hades.recall.engine import RecallEngine

SETS = ("2wiki", "musique", "documents/runbooks", "documents/site_policy")
VOLUMES = (1, 4, 16)
QUESTIONS, PASSAGES = 60, 800
"""Of a set: the first questions, their gold passages, and as many others."""
SEED = 7
WRITERS, WRITTEN = (1, 4, 8), 30
STAGES = {
    "find": (Volume, "find"),
    "rows": (Volume, "rows"),
    "take over": (ExcerptOfLibrary, "add"),
    "write": (ExcerptOfLibrary, "finish"),
    "recall": (RecallEngine, "recall"),
    "all": None,
}
"""The stages of a question, and the method of each; `all` is the whole process with its threads."""
FIELDS = {"id": "id", "title": "title", "text": "text"}


def run(*, small: bool = False) -> None:
    """Measure all."""
    print("## A library\n")
    data, kept = os.environ.get("HADES_DATA"), os.environ.get("HADES_BENCH_FOLDER")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(kept or made)
        if data is None:
            print("What is found skipped: set HADES_DATA to the question sets.\n")
        for name in SETS if data else ():
            path = Path(data or "") / name
            if path.is_dir():
                _found(load_set(path), folder / name.replace("/", "-"), small=small)
        _ingestion(Path(made), small=small)
        _writes(Path(made))


def _found(eval_set: EvalSet, folder: Path, *, small: bool) -> None:
    questions = [one for one in eval_set.questions if one.gold][: QUESTIONS // (4 if small else 1)]
    parts = _parts(eval_set, questions, 200 if small else PASSAGES)
    rows = []
    single = folder / "single.hades"
    _ingest(single, parts)
    with hades.open(single) as memory:
        rows.append(("one memory", *_asked(memory, questions)))
    for count in VOLUMES:
        place = folder / f"of{count}.hades"
        place.parent.mkdir(parents=True, exist_ok=True)
        with hades.open_library(place, volumes=count) as library:
            divided: dict[str, dict[str, Path | str]] = {v.name: {} for v in library.volumes()}
            for topic, part in parts.items():
                divided[library._catalogue.home("default", topic, 0).name][topic] = part
            for volume in library.volumes():
                _ingest(place.with_name(volume.place), divided[volume.name])
                note(f"{eval_set.name}: {volume.name} of {count}")
            library.status()
            rows.append((f"{count} volumes", *_asked(library, questions)))
    head = ("", "R@5 %", "lost", "won", "p50 ms", "p95 ms", *(f"{name} ms" for name in STAGES))
    first = rows[0][1]
    shown = []
    for what, found, times, stages in rows:
        lost = sum(a > b for a, b in zip(first, found, strict=True))
        won = sum(a < b for a, b in zip(first, found, strict=True))
        cuts = statistics.quantiles(times, n=20)
        share = f"{100 * statistics.fmean(found):.1f}"
        each = (f"{1000 * stages[name] / len(times):.0f}" for name in STAGES)
        shown.append((what, share, lost, won, f"{cuts[9]:.0f}", f"{cuts[18]:.0f}", *each))
    title = f"{eval_set.name}: {len(questions)} questions, {len(parts)} topics; stages by processor"
    show(title, head, shown)


def _parts(
    eval_set: EvalSet, questions: Sequence[EvalQuestion], most: int
) -> dict[str, Path | str]:
    """By topic: the line of a passage, or the file of a document."""
    if eval_set.kind == "documents":
        files = sorted(path for path in eval_set.corpus.rglob("*") if path.is_file())
        return {path.relative_to(eval_set.corpus).as_posix(): path for path in files}
    lines = eval_set.corpus.read_text(encoding="utf-8").splitlines()
    rows = {str(json.loads(line)["id"]): line for line in lines}
    gold = {one for question in questions for one in question.gold}
    others = sorted(rows.keys() - gold)
    random.Random(SEED).shuffle(others)
    chosen = sorted([*(gold & rows.keys()), *others[: max(0, most - len(gold))]])
    return {f"passage/{one}": rows[one] for one in chosen}


def _ingest(place: Path, parts: dict[str, Path | str]) -> None:
    """Make a memory of some topics, unless it is there."""
    done = place.with_suffix(".done")
    if done.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as text, hades.open(place) as memory:
        corpus = Path(text) / "corpus"
        corpus.mkdir()
        lines = [part for part in parts.values() if isinstance(part, str)]
        for topic, part in parts.items():
            if isinstance(part, Path):
                (corpus / topic).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(part, corpus / topic)
        if lines:
            (corpus / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        source = corpus / "corpus.jsonl" if lines else corpus
        fields = FIELDS if lines else None
        with _remembered_vectors():
            memory.ingest(source, prefix="passage" if lines else None, fields=fields)
            memory.index()
            memory.search("anything", 1)
    done.touch()


def _asked(
    memory: hades.Memory, questions: Sequence[EvalQuestion]
) -> tuple[list[float], list[float], dict[str, float]]:
    """The share of the gold in five passages of each question, the milliseconds, and the stages."""
    memory.recall("Warm up: who was it?", plan=UNHURRIED)
    found = []
    times = []
    with _stages() as stages:
        for question in questions:
            begun = time.perf_counter()
            recall = memory.recall(question.text, plan={**UNHURRIED, "final_context": 5})
            times.append((time.perf_counter() - begun) * 1000)
            found.append(_share(question, recall.passages[:5]))
    return found, times, stages


@contextmanager
def _stages() -> Iterator[dict[str, float]]:
    """Count the processor seconds of each stage."""
    spent = dict.fromkeys(STAGES, 0.0)
    begun = time.process_time()
    with ExitStack() as stack:
        for name, place in STAGES.items():
            if place is not None:
                stack.enter_context(patch.object(*place, _counted(name, getattr(*place), spent)))
        yield spent
    spent["all"] = time.process_time() - begun


def _counted(name: str, method: Any, spent: dict[str, float]) -> Any:
    def counted(*args: Any, **named: Any) -> Any:
        begun = time.thread_time()
        try:
            return method(*args, **named)
        finally:
            spent[name] += time.thread_time() - begun

    return counted


def _share(question: EvalQuestion, passages: Sequence[hades.Passage]) -> float:
    if question.quotes:
        texts = [spaced(passage.chunk.text) for passage in passages]
        hits = [any(has_quote(text, quote) for text in texts) for _, quote in question.quotes]
        return statistics.fmean(hits) if question.type == "two_step" else float(any(hits))
    got = {passage.chunk.topic.rpartition("/")[2] for passage in passages}
    return len(got & question.gold) / len(question.gold)


def _ingestion(folder: Path, *, small: bool) -> None:
    """One folder, ingested into one memory and divided among volumes in processes."""
    source = folder / "documents"
    source.mkdir()
    for number in range(40 if small else 400):
        words = random.Random(number).choices(WORDS, k=300)
        (source / f"{number}.md").write_text(f"# Page {number}\n\n{' '.join(words)}.\n")
    os.environ["HADES_LIBRARY_WORKERS"] = "processes"
    rows = []
    for count in WRITERS[:2]:
        with hades.open_library(folder / f"ingest{count}.hades", volumes=count) as library:
            library.stats()
            spent = seconds(partial(library.ingest, source))
        rows.append((count, f"{spent:.1f}"))
    del os.environ["HADES_LIBRARY_WORKERS"]
    show("A folder of documents ingested", ("volumes", "seconds"), rows)


def _writes(folder: Path) -> None:
    """Writers that write again at once, over more and more volumes."""
    rows = []
    for workers, count in product(("threads", "processes"), WRITERS):
        os.environ["HADES_LIBRARY_WORKERS"] = workers
        place = folder / f"{workers}{count}.hades"
        with hades.open_library(place, volumes=count) as library:

            def write(writer: int, library: hades.Memory = library) -> None:
                for number in range(WRITTEN):
                    library.remember(f"notes/{writer}/{number}", f"Note {number} of {writer}.")

            write(-1)
            with ThreadPoolExecutor(max(WRITERS)) as pool:
                spent = seconds(lambda: list(pool.map(write, range(max(WRITERS)))))
        rows.append((workers, count, f"{max(WRITERS) * WRITTEN / spent:.0f}"))
    del os.environ["HADES_LIBRARY_WORKERS"]
    show(f"{max(WRITERS)} writers", ("held in", "volumes", "writes a second"), rows)


@contextmanager
def _remembered_vectors() -> Iterator[None]:
    """Compute the vector of a text once, as the same texts are ingested several times."""
    encode = FolderEncoder.encode

    def remembered(self: FolderEncoder, texts: Sequence[str]) -> Vectors:
        known = _VECTORS.setdefault(id(self), {})
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode(self, new), strict=True))
        return np.stack([known[text] for text in texts])

    with patch.object(FolderEncoder, "encode", remembered):
        yield


_VECTORS: dict[int, dict[str, Any]] = {}
