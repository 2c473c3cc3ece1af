"""The keeper: a model that judges which sentences of a conversation are worth keeping.

It also judges whether a statement replaces an earlier one, and whether a prompt calls for a
statement. It is a cross-encoder like the reader, shares the word vectors of the built-in encoder,
and works beside any other encoder. `tools/train_keeper.py` trains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hades.domain.distilled import KINDS
from hades.graph.arrays import Floats
from hades.language.said import SaidSentence
from hades.models.encoder import MINILM_FOLDER
from hades.models.reader import CrossEncoder

KEEPER_GRAPH = "keeper.onnx"
_WORTH = 0
_LEANS = len(KINDS) + 1
_REPLACES = len(KINDS) + 2
_TOUCHES = len(KINDS) + 3
_WORTH_ALONE = len(KINDS) + 4
"""Columns of the graph's output. The kinds are between the first two of these."""


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """The keeper's judgement of a sentence."""

    said: SaidSentence
    worth: float
    """The logit that it is worth keeping. For a sentence that comes alone, the model has a separate
    output."""
    kind: str
    """The most likely kind, assuming that the sentence is worth keeping."""
    leans: float
    """The logit that it is understood only with the turn before."""


class Keeper(CrossEncoder):
    """Judges sentences, statements and prompts; a logit above 0 means yes."""

    def judge(self, sentences: Sequence[SaidSentence]) -> list[JudgedSentence]:
        """Judge each sentence together with what was said before and after it."""
        logits = self.read([sentence.read for sentence in sentences])
        return [
            JudgedSentence(
                said=sentence,
                worth=float(row[_WORTH_ALONE if sentence.is_alone else _WORTH]),
                kind=KINDS[int(np.argmax(row[_WORTH + 1 : _LEANS]))],
                leans=float(row[_LEANS]),
            )
            for sentence, row in zip(sentences, logits, strict=True)
        ]

    def replaces(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return for each pair the logit that its first statement makes the second outdated."""
        return self.read(pairs)[:, _REPLACES]

    def touches(self, prompt: str, statements: Sequence[str]) -> Floats:
        """Return for each statement the logit that a prompt calls for it."""
        return self.read([(prompt, text) for text in statements])[:, _TOUCHES]


@cache
def load_keeper() -> Keeper:
    """Return the keeper in the package; it loads on first use."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MINILM_FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Keeper(MINILM_FOLDER / KEEPER_GRAPH, tokenizer, _WORTH_ALONE + 1)
