"""Cuts collections of documents into units, for the training of the reader.

    python tools/document_units.py OUT.json.xz COLLECTION...

A collection is a folder with `corpus/` and `questions.jsonl` (training/documents/README.md). The
result has one JSON object a line and collection, compressed with xz:

- `texts`: each unit with its headings, as the reader reads it
- `passages`: `[heading and text, [numbers of its units]]`
- `questions`: `question`, `type`, `answers`, and as numbers: the passages with the highest BM25
  (`words`), the units that answer (`gold`), and units that may answer (`left_out`)

A unit answers if it is part of a gold quote and has an accepted answer. If no unit of the quotes
has one, every unit of a quote answers. Other units of a quote, and units elsewhere that have an
accepted answer, are left out: they may answer as well.
"""

import json
import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from hades.ingest.chunk import chunk
from hades.ingest.document import Bad, Document, unpack_document
from hades.ingest.reading import Task, holds_many, read
from hades.language.english.stems import stem
from hades.language.sentences import with_heading
from hades.language.units import units
from hades.language.words import words
from hades.recall.rank.unit_reading import read_as

TOKENIZER = Path(__file__).parents[1] / "hades/models/minilm/tokenizer.json"
BY_WORDS = 40
"""Passages with the highest BM25 that are kept for each question."""
SHARE_OF_QUOTE = 0.6
"""A unit is part of a quote if this share of the shorter one's words is in the other, in order."""


def documents(corpus: Path) -> Iterator[Document]:
    for path in sorted(corpus.rglob("*")):
        if path.is_file():
            topic = path.relative_to(corpus).as_posix()
            task = Task(str(path), topic, holds_many(path, None))
            for found in read(task):
                if not isinstance(found, Bad):
                    yield unpack_document(found.outline, found.topic, found.content)


def in_words(text: str) -> str:
    return " ".join(("", *re.findall(r"\w+", text.lower()), ""))


def is_part(unit: str, quote: str) -> bool:
    """Return whether a unit and a quote, both as words, overlap in most of the shorter one."""
    short, long = sorted((unit, quote), key=len)
    said = short.split()
    width = max(3, math.ceil(SHARE_OF_QUOTE * len(said)))
    if len(said) < 3:
        return short in long
    starts = range(max(1, len(said) - width + 1))
    return any(f" {' '.join(said[at : at + width])} " in long for at in starts)


class Bm25:
    """Passages by BM25 with k1 = 1.2 and b = 0.75."""

    def __init__(self, texts: list[str]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths = []
        for number, text in enumerate(texts):
            said = Counter(map(stem, words(text)))
            self._lengths.append(sum(said.values()))
            for word, count in said.items():
                self._postings[word].append((number, count))
        self._mean = sum(self._lengths) / max(1, len(texts))

    def best(self, question: str, count: int) -> list[int]:
        scores: Counter[int] = Counter()
        for word in set(map(stem, words(question))):
            own = self._postings.get(word, [])
            rare = math.log(1 + (len(self._lengths) - len(own) + 0.5) / (len(own) + 0.5))
            for number, times in own:
                share = self._lengths[number] / self._mean
                scores[number] += rare * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * share))
        return [number for number, _ in scores.most_common(count)]


def cut(folder: Path) -> dict[str, Any]:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(texts: Any) -> list[int]:
        return [len(one.ids) for one in tokenizer.encode_batch_fast(list(texts))]

    numbers: dict[str, int] = {}
    passages: list[tuple[str, list[int]]] = []
    places: dict[int, set[str]] = defaultdict(set)  # the files that have a unit
    said: dict[int, str] = {}
    alone: dict[int, str] = {}  # without the lead
    for document in documents(folder / "corpus"):
        if not document.content.strip():
            continue
        for span in chunk(document, count):
            text = document.content[span.start : span.end]
            own = []
            for unit in units(text):
                number = numbers.setdefault(read_as(span.heading, unit), len(numbers))
                said[number] = in_words(unit.told)
                alone[number] = in_words(unit.text)
                places[number].add(document.topic)
                own.append(number)
            passages.append((with_heading(span.heading, text), own))
    words_of = Bm25([text for text, _ in passages])
    rows = []
    for line in (folder / "questions.jsonl").read_text("utf-8").split("\n"):
        if not line.strip():
            continue
        row = json.loads(line)
        answers = [in_words(one) for one in row["answer"] if in_words(one).strip()]
        quotes = [(gold["file"], in_words(gold["quote"])) for gold in row["gold"]]
        quoted = [
            number
            for number, text in alone.items()
            for file, quote in quotes
            if any(topic.startswith(file) for topic in places[number])
            and (is_part(text, quote) or is_part(said[number], quote))
        ]
        having = {number for number, text in said.items() if any(one in text for one in answers)}
        gold = [number for number in quoted if number in having] or quoted
        left_out = (having | set(quoted)) - set(gold) if quotes else set()
        rows.append(
            {
                "question": row["question"],
                "type": row["type"],
                "answers": row["answer"],
                "words": words_of.best(row["question"], BY_WORDS),
                "gold": sorted(set(gold)),
                "left_out": sorted(left_out),
            }
        )
    found = sum(bool(row["gold"]) for row in rows)
    asked = sum(row["type"] != "unknown" for row in rows)
    counts = f"{len(passages)} passages, {len(numbers)} units"
    print(f"{folder.name}: {counts}, {found} of {asked} questions labelled", flush=True)
    return {"name": folder.name, "texts": list(numbers), "passages": passages, "questions": rows}


def main() -> None:
    out, *folders = map(Path, sys.argv[1:])
    with lzma.open(out, "wt", preset=6, encoding="utf-8") as file, Pool(2) as pool:
        for one in pool.imap_unordered(cut, folders):
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
