"""An encoder from the fastembed catalogue, by name, downloaded by fastembed or from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hades.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from hades.models.encoder import Vectors

# What the models of the catalogue read at least; fastembed cuts the rest off by itself.
MAX_TOKENS = 512
# Larger batches are padded more and a quantised model's vectors depend on their batch.
BATCH_TEXTS = 1


class FastembedEncoder:
    """A fastembed text model; loads, and if need be downloads, on first use."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise NotFound(f"There is no folder {folder} to load {name} from.")
        self.model = f"fastembed:{name}" + (f"@{folder.resolve().name}" if folder else "")
        self.max_tokens = MAX_TOKENS
        self._name = name
        self._folder = folder

    @cached_property
    def dims(self) -> int:
        return int(self._embedding.embedding_size)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A unit vector per text, in order."""
        vectors = np.empty((len(texts), self.dims), np.float32)
        for place, vector in enumerate(self._embedding.embed(texts, batch_size=BATCH_TEXTS)):
            vectors[place] = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return vectors

    @cached_property
    def _embedding(self) -> Any:
        try:
            fastembed: Any = import_module("fastembed")
        except ModuleNotFoundError as error:
            raise Unavailable(
                f"The encoder {self.model} needs fastembed: pip install fastembed."
            ) from error
        place = {"specific_model_path": str(self._folder)} if self._folder else {}
        return fastembed.TextEmbedding(model_name=self._name, **place)
