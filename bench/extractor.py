"""Extractors: passages a second, by shape and by spaCy, in the same run.

Needs the extra `spacy` for the second, and the 2Wiki corpus (see bench/ingest.py).
"""

from __future__ import annotations

import itertools
import json
import time

from bench.ingest import data_folder
from bench.table import show
from hades.errors import Unavailable
from hades.models.extractor import EXTRACTORS, load_extractor

PASSAGES = 300
ROUNDS = 3


def run(*, small: bool = False) -> None:
    """Print what each extractor finds, and how fast: the best of some rounds."""
    data = data_folder()
    if data is None:
        print("Extractors skipped: set HADES_DATA to a folder that holds 2wiki/corpus.jsonl.\n")
        return
    with (data / "2wiki" / "corpus.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, PASSAGES)]
    texts = texts[:50] if small else texts
    rows = []
    for name in EXTRACTORS:
        try:
            extractor = load_extractor(name)
        except Unavailable as missing:
            print(f"{missing}\n")
            continue
        found = extractor(texts[:5])
        spent = []
        for _ in range(ROUNDS):
            # Processor time: what a passage costs, whoever else uses the machine.
            start = time.process_time()
            found = extractor(texts)
            spent.append(time.process_time() - start)
        rate = len(texts) / min(spent)
        rows.append((name, f"{rate:,.0f}", f"{sum(map(len, found)) / len(texts):.1f}"))
    show(
        f"Extractors: {len(texts)} passages of 2Wiki",
        ("extractor", "passages a second of processor time", "names a passage"),
        rows,
    )
