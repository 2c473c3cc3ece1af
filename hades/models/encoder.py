"""Encoders, which make unit vectors of texts.

HADES includes one, MiniLM, so that search by meaning works at once and offline. A setting chooses
another. Code outside this module does not know which one runs. The vector of a text does not depend
on other texts: local models run texts one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

from hades.errors import InvalidInput
from hades.models.onnx_encoder import FolderEncoder, Vectors
from hades.models.reader import SentenceReader

MINILM_FOLDER = Path(__file__).parent / "minilm"
MINILM_MODEL = "minilm-notes-int8-2"
MINILM_DIMS = 384
MINILM_MAX_TOKENS = 256


class Encoder(Protocol):
    """The interface of a text encoder: it turns texts into unit vectors."""

    @property
    def model(self) -> str:
        """The name of the model. Vectors of encoders with the same name are comparable."""

    @property
    def dims(self) -> int:
        """The length of a vector."""

    @property
    def max_tokens(self) -> int:
        """The most tokens of a text, including the model's special tokens; the rest is cut off."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector per text, in order."""


class MiniLM(FolderEncoder):
    """The built-in encoder: all-MiniLM-L6-v2, trained further on notes, documents and
    conversations, in int8.

    It loads on first use.
    """

    def __init__(self, folder: Path = MINILM_FOLDER) -> None:
        super().__init__(folder, model=MINILM_MODEL, dims=MINILM_DIMS, max_tokens=MINILM_MAX_TOKENS)


@cache
def _minilm() -> MiniLM:
    return MiniLM()


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text for the built-in encoder, without special ones."""
    return _minilm().count_tokens(texts)


def load_encoder(setting: str = "minilm") -> Encoder:
    """Return the encoder that a setting names.

    minilm                             the built-in one
    folder:/path                       an ONNX sentence encoder on disk
    openai:https://host/v1#MODEL       an OpenAI-compatible embeddings endpoint
    """
    if setting == "minilm":
        return _minilm()
    encoder = _in_use.get(setting)
    if encoder is None:
        encoder = _in_use[setting] = _load(setting)
    return encoder


def hop_encoder(encoder: Encoder) -> Encoder | None:
    """Return the encoder's companion that encodes a question joined with a passage, or None."""
    return encoder.hop if isinstance(encoder, FolderEncoder) else None


def reader_of(encoder: Encoder) -> SentenceReader | None:
    """Return the reader in the encoder's folder, or None."""
    return encoder.reader if isinstance(encoder, FolderEncoder) else None


def is_local(encoder: Encoder) -> bool:
    """Return whether an encoder is a model on disk, which runs in this process."""
    return isinstance(encoder, FolderEncoder)


def wait_until_loaded(encoder: Encoder) -> None:
    """Load a model on disk, or wait until it is loaded. Other encoders are always ready."""
    if isinstance(encoder, FolderEncoder):
        encoder.load()


_in_use: WeakValueDictionary[str, Encoder] = WeakValueDictionary()
"""Encoders in use, so that the memories of a process share them."""


def _load(setting: str) -> Encoder:
    kind, _, rest = setting.partition(":")
    if kind == "folder" and rest:
        return FolderEncoder(Path(rest).expanduser())
    if kind == "openai":
        from hades.models.openai_encoder import OpenAIEncoder

        url, _, model = rest.partition("#")
        if url.startswith(("http://", "https://")) and model:
            return OpenAIEncoder(url, model)
    raise InvalidInput(
        f"Unknown encoder {setting!r}: use minilm, folder:/path or openai:https://host/v1#MODEL."
    )
