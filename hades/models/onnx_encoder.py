"""A sentence encoder from a folder: an ONNX graph and its tokenizer, run on the CPU.

Texts never share a batch: with a dynamically quantised graph the vector of a text would depend on
the rest of the batch. Passages even run faster this way, and short texts little slower
(docs/lab/benchmarks.md). Many texts run in parallel on one thread each, which uses the cores best.
A single text, such as a question, gets several threads, which is fastest for it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hades.errors import InvalidInput, NotFound
from hades.models.onnx_graph import open_graph
from hades.models.reader import READER_GRAPH, SentenceReader
from hades.settings import cores

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]
GRAPH_NAMES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
)
HOP_GRAPH = "hop.onnx"
DEFAULT_MAX_TOKENS = 512
POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}

# Fewer texts than this run one by one on several threads. In parallel, two texts of 87 tokens take
# half the time when another process uses a core, and no longer otherwise.
BULK_TEXTS = 2
# Two threads answer a short question a quarter sooner than one; more help little.
MAX_THREADS_PER_TEXT = 4
# Vectors of the last single texts: one question is often encoded by several stages.
KEPT_VECTORS = 32
# Texts tokenised at once, to bound memory.
SLICE_TEXTS = 64


class FolderEncoder:
    """Any BERT-like sentence encoder with model.onnx and tokenizer.json in a folder.

    Steps that the graph lacks are done here: mean pooling (or the first token's vector, if
    1_Pooling/config.json says so) and the L2 norm.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: str | None = None,
        dims: int | None = None,
        max_tokens: int | None = None,
        graph: Path | None = None,
    ) -> None:
        self._folder = folder
        self._graph = graph or _find_graph(folder)
        self._tokenizer_file = folder / "tokenizer.json"
        if not self._tokenizer_file.is_file():
            raise NotFound(f"The encoder in {folder} has no tokenizer.json.")
        self._pooling = _read_pooling(folder)
        self._model = model
        self._dims = dims
        self._max_tokens = max_tokens
        self._loading = threading.Lock()
        self._sessions: dict[int, _Session] = {}
        self._kept: dict[str, Vectors] = {}

    @cached_property
    def model(self) -> str:
        return self._model or f"{self._folder.resolve().name}-{self._digest()}"

    @cached_property
    def hop(self) -> FolderEncoder | None:
        """The companion encoder for a question joined with a passage, or None."""
        graph = self._folder / HOP_GRAPH
        if not graph.is_file():
            return None
        return FolderEncoder(self._folder, dims=self.dims, max_tokens=self.max_tokens, graph=graph)

    @cached_property
    def reader(self) -> SentenceReader | None:
        """The reader in the encoder's folder, or None."""
        graph = self._folder / READER_GRAPH
        return SentenceReader(graph, self._tokenizer) if graph.is_file() else None

    @cached_property
    def dims(self) -> int:
        return self._dims or len(self._run([[0]])[0])

    @cached_property
    def max_tokens(self) -> int:
        return self._max_tokens or _read_max_tokens(self._folder)

    def load(self) -> None:
        """Load the tokenizer, the graph and the reader, or wait until another thread has."""
        self._tokenise([""])
        self._session(_threads_per_text())
        if self.reader is not None:
            self.reader.load()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector per text, in order."""
        if len(texts) == 1:
            return self._encode_one(texts[0])
        vectors = np.empty((len(texts), self.dims), np.float32)
        for start in range(0, len(texts), SLICE_TEXTS):
            tokens = self._tokenise(texts[start : start + SLICE_TEXTS])
            stop = start + len(tokens)
            vectors[start:stop] = self._run(tokens)
        return vectors

    def _encode_one(self, text: str) -> Vectors:
        if (kept := self._kept.get(text)) is not None:
            return kept
        vectors = np.array(self._run(self._tokenise([text])), np.float32)
        vectors.flags.writeable = False
        with self._loading:
            if len(self._kept) >= KEPT_VECTORS:
                del self._kept[next(iter(self._kept))]
            self._kept[text] = vectors
        return vectors

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens.

        An unknown word, such as an emoji or a word of over 100 letters, is one token for this model
        but many for others. So each of its bytes counts as a token.
        """
        readable = [_readable(text) for text in texts]
        encodings = self._tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        unknown = self._tokenizer.token_to_id("[UNK]")
        counts = [len(encoding) for encoding in encodings]
        for at, encoding in enumerate(encodings):
            if unknown in encoding.ids:
                whole = self._tokenizer.encode(readable[at], add_special_tokens=False)
                places = zip(whole.ids, whole.offsets, strict=True)
                words = [readable[at][slice(*place)] for token, place in places if token == unknown]
                counts[at] += sum(len(word.encode()) - 1 for word in words)
        return counts

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast([_readable(text) for text in texts])
        limit = self.max_tokens
        # A text that is cut keeps its last special token.
        return [
            ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]
            for ids in (encoding.ids for encoding in encodings)
        ]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer: Tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _run(self, tokens: list[list[int]]) -> list[Vectors]:
        if len(tokens) < BULK_TEXTS:
            session = self._session(_threads_per_text())
            return [session.run(ids) for ids in tokens]
        with ThreadPoolExecutor(cores(), "encoder") as pool:
            return list(pool.map(self._session(1).run, tokens))

    def _session(self, threads: int) -> _Session:
        with self._loading:
            if threads not in self._sessions:
                self._sessions[threads] = _Session(self._graph, self._pooling, threads)
            return self._sessions[threads]

    def _digest(self) -> str:
        """Return a hash of what determines vectors: graph, weights, tokenizer, pooling, length."""
        digest = hashlib.sha256(f"{self._pooling} {self.max_tokens}".encode())
        for path in [*sorted(self._graph.parent.glob("*.onnx*")), self._tokenizer_file]:
            if path.name.startswith(self._graph.name) or path == self._tokenizer_file:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:12]


def _threads_per_text() -> int:
    return min(cores(), MAX_THREADS_PER_TEXT)


class _Session:
    """A loaded graph, with its inputs and the step from its output to a unit vector."""

    def __init__(self, graph: Path, pooling: str, threads: int) -> None:
        self._session = open_graph(graph, threads)
        self._pooling = pooling
        self._output, self._pooled = self._choose_output()
        self._inputs = {
            entry.name: np.int32 if entry.type == "tensor(int32)" else np.int64
            for entry in self._session.get_inputs()
        }
        unknown = self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise InvalidInput(
                f"{graph} is not a sentence encoder: it takes {', '.join(self._inputs)}."
            )

    def run(self, ids: list[int]) -> Vectors:
        """Return the unit vector of one text, given its token ids."""
        values = {"input_ids": [ids], "attention_mask": [[1] * len(ids)]}
        feed = {
            name: np.array(values.get(name, [[0] * len(ids)]), kind)
            for name, kind in self._inputs.items()
        }
        output: Vectors = self._session.run([self._output], feed)[0][0].astype(np.float32)
        if not self._pooled:
            output = output[0] if self._pooling == "cls" else output.mean(axis=0)
        unit: Vectors = output / max(float(np.linalg.norm(output)), 1e-12)
        return unit

    def _choose_output(self) -> tuple[str, bool]:
        """Return the output to read, and whether it is pooled. BERT's own pooler is not usable."""
        outputs = [o for o in self._session.get_outputs() if o.name != "pooler_output"]
        for output in outputs:
            if len(output.shape) == 2:
                return output.name, True
        return outputs[0].name, False


def _find_graph(folder: Path) -> Path:
    for name in GRAPH_NAMES:
        if (folder / name).is_file():
            return folder / name
    raise NotFound(f"There is no encoder in {folder}: model.onnx is missing.")


def _read_pooling(folder: Path) -> str:
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return "mean"
    config = json.loads(path.read_text())
    chosen = [name for name in config if name.startswith("pooling_mode_") and config[name]]
    if len(chosen) == 1 and chosen[0] in POOLINGS:
        return POOLINGS[chosen[0]]
    raise InvalidInput(f"{path} asks for {', '.join(chosen) or 'no pooling'}: use mean or cls.")


def _read_max_tokens(folder: Path) -> int:
    files = {
        "sentence_bert_config.json": "max_seq_length",
        "config.json": "max_position_embeddings",
    }
    for name, key in files.items():
        path = folder / name
        if path.is_file() and (limit := json.loads(path.read_text()).get(key)):
            return int(limit)
    return DEFAULT_MAX_TOKENS


def _readable(text: str) -> str:
    """Return a text without lone surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")
