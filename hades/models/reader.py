"""The reader: a cross-encoder that reads a question together with sentences and judges them.

The encoder makes a vector of a sentence before any question is asked. The reader sees both at once,
so it judges better whether a sentence answers, but it must run once for each sentence. It is the
file `reader.onnx` in the folder of an encoder, and `tools/train_reader.py` trains it. The keeper
(`keeper.py`) is a model of the same form.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hades.graph.arrays import Floats
from hades.models.onnx_graph import open_graph
from hades.settings import cores

if TYPE_CHECKING:
    from tokenizers import Tokenizer

READER_GRAPH = "reader.onnx"
TOKENS_AT_MOST = 96
"""The most tokens of the question and of each sentence, as in training; the rest is cut off."""
_SPEAKS = 0
_REPLACES = 1
"""Columns of the graph's output."""


class CrossEncoder:
    """A small model that reads a group of texts together and returns logits for the group."""

    def __init__(self, graph: Path, tokenizer: Tokenizer, outputs: int) -> None:
        self._graph = graph
        self._tokenizer = tokenizer
        self._outputs = outputs
        self._loading = threading.Lock()

    def load(self) -> None:
        """Load the graph, or wait until another thread has loaded it."""
        with self._loading:
            _ = self._session

    def read(self, groups: Sequence[Sequence[str]]) -> Floats:
        """Return the logits of each group of texts, one row for each group."""
        if not groups:
            return np.zeros((0, self._outputs))
        self.load()
        texts = list(dict.fromkeys(text for group in groups for text in group))
        tokens = dict(zip(texts, self._tokenise(texts), strict=True))
        inputs = [[tokens[text] for text in group] for group in groups]
        with ThreadPoolExecutor(min(cores(), len(inputs)), "reader") as pool:
            return np.stack(list(pool.map(self._run, inputs)))

    @cached_property
    def _session(self) -> Any:
        return open_graph(self._graph, threads=1)

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        encodings = self._tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        return [encoding.ids[:TOKENS_AT_MOST] for encoding in encodings]

    def _run(self, texts: Sequence[Sequence[int]]) -> Floats:
        start, end = (self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        ids = [start, *(token for text in texts for token in (*text, end))]
        first = 2 + len(texts[0])  # the question with its two marks
        kinds = [0] * first + [1] * (len(ids) - first)
        values = {"input_ids": ids, "token_type_ids": kinds, "attention_mask": [1] * len(ids)}
        feed = {name: np.array([value], np.int64) for name, value in values.items()}
        output: Floats = self._session.run(None, feed)[0][0].astype(float)
        return output


class SentenceReader(CrossEncoder):
    """Judges sentences; a logit above 0 means yes."""

    def __init__(self, graph: Path, tokenizer: Tokenizer) -> None:
        super().__init__(graph, tokenizer, 2)

    def speaks(self, question: str, sentences: Sequence[str]) -> Floats:
        """Return for each sentence the logit that it answers the question, now or in the past."""
        return self.read([(question, sentence) for sentence in sentences])[:, _SPEAKS]

    def replaces(self, question: str, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return for each pair the logit that its second sentence replaces the first.

        The second sentence was written later. It replaces the first one if it answers the question
        and the first one no longer does.
        """
        return self.read([(question, *pair) for pair in pairs])[:, _REPLACES]
