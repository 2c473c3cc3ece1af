"""The head: a classifier of what a question asks for, learned from labelled English questions.

One linear layer reads the question's vector and its words. It gives probabilities of the labels
that `training/questions/README.md` explains. `tools/train_question_head.py` makes the weights. It
calibrates them for an estimated 85 % of look-ups in real use.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from hades.graph.arrays import Floats32
from hades.language.patterns import lazy_pattern
from hades.models.onnx_encoder import Vectors

SHIPPED = Path(__file__).with_name("head.npz")
BUCKETS = 8_192
CHARACTERS_READ = 1_000
WORDS_READ = 60
LONGEST_RUN = 3
"""The most consecutive words that make one feature (an n-gram)."""
WORDS_NORM = 1.5
"""The norm of the vector of words; that of the question's vector is 1."""

_WORD = lazy_pattern(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """Probabilities of what a question asks for. Those in each mapping add up to 1."""

    kind: Mapping[str, float]
    wants: Mapping[str, float]
    time: Mapping[str, float]
    many: float
    """The probability that several answers are wanted."""
    steps: float
    """The probability that something else must be found first."""
    part: Mapping[str, float]
    """Parts of a brief. They mean nothing unless the question asks for a brief."""


def word_features(text: str) -> Floats32:
    """Return counts of runs of one to three words, hashed into buckets; the norm is WORDS_NORM.

    Of a long text only the beginning is read.
    """
    written = _WORD.findall(text[:CHARACTERS_READ].replace("’", "'"))[:WORDS_READ]
    words = ["0" if word.isdecimal() else word.lower() for word in written]
    row = ["^", *words, "$"]
    runs = [
        " ".join(row[start : start + length]).encode("utf-8", "replace")
        for length in range(1, LONGEST_RUN + 1)
        for start in range(len(row) - length + 1)
    ]
    codes = np.array([zlib.crc32(run) for run in runs], np.int64)
    signs = np.where(codes >> 31, 1.0, -1.0)
    counts = np.bincount(codes % BUCKETS, signs, BUCKETS)
    features: Floats32 = (counts * (WORDS_NORM / np.linalg.norm(counts))).astype(np.float32)
    return features


class QuestionHead:
    """A linear layer over the built-in encoder's vector of a question and its words."""

    def __init__(self, weights: Floats32, bias: Floats32, labels: list[str]) -> None:
        self._weights = weights
        self._bias = bias
        self._values: dict[str, dict[str, int]] = {}
        for column, label in enumerate(labels):
            name, value = label.split(":")
            self._values.setdefault(name, {})[value] = column

    def read(self, text: str, vector: Vectors) -> QuestionReading:
        """Return the reading of a question; `vector` is that of the built-in encoder."""
        scores = np.concatenate([vector, word_features(text)]) @ self._weights + self._bias
        chances = {name: self._chances(scores, name) for name in self._values}
        return QuestionReading(
            chances["kind"],
            chances["wants"],
            chances["time"],
            many=chances["many"]["True"],
            steps=chances["steps"]["2"],
            part=chances["part"],
        )

    def _chances(self, scores: Floats32, name: str) -> dict[str, float]:
        values = self._values[name]
        own = scores[list(values.values())]
        powers = np.exp(own - own.max())
        return dict(zip(values, (powers / powers.sum()).tolist(), strict=True))


@cache
def shipped_head() -> QuestionHead:
    """Return the head in the package."""
    with np.load(SHIPPED) as file:
        weights = file["weights"].astype(np.float32)
        return QuestionHead(weights, file["bias"], file["labels"].tolist())
