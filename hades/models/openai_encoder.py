"""An encoder behind an OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, OpenAI itself.

The key, where one is needed, comes from the environment alone, so that it is never written
with the settings.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from hades.errors import Denied, InvalidInput, Unavailable

if TYPE_CHECKING:
    from hades.models.encoder import Vectors

KEY_VARIABLE = "HADES_EMBEDDINGS_KEY"
BATCH_TEXTS = 64
TIMEOUT_SECONDS = 60.0
ATTEMPTS = 5
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 30.0
# An endpoint does not say what its model reads; nearly all read this much.
MAX_TOKENS = 512
QUOTED_CHARACTERS = 200


class OpenAIEncoder:
    """Vectors from POST {url}/embeddings; waits and tries again when the server is busy."""

    def __init__(
        self, url: str, model: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url = url.rstrip("/") + "/embeddings"
        self._name = model
        self._sleep = sleep
        self.model = f"openai:{url}#{model}"
        self.max_tokens = MAX_TOKENS

    @cached_property
    def dims(self) -> int:
        with self._client() as client:
            return int(self._ask(client, ["dimensions"]).shape[1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.dims), np.float32)
        batches = []
        with self._client() as client:
            for start in range(0, len(texts), BATCH_TEXTS):
                batches.append(self._ask(client, texts[start : start + BATCH_TEXTS]))
        vectors = np.concatenate(batches)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.maximum(norms, 1e-12)
        return unit

    def _client(self) -> httpx.Client:
        key = os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS)

    def _ask(self, client: httpx.Client, texts: Sequence[str]) -> Vectors:
        # An empty text is refused by OpenAI; a blank one is not.
        inputs = [text.encode("utf-8", "replace").decode("utf-8") or " " for text in texts]
        body = {"model": self._name, "input": inputs, "encoding_format": "float"}
        trouble = ""
        for attempt in range(ATTEMPTS):
            wait = min(FIRST_WAIT_SECONDS * 2**attempt, LONGEST_WAIT_SECONDS)
            try:
                response = client.post(self._url, json=body)
            except httpx.TransportError as error:
                trouble = str(error) or type(error).__name__
            else:
                if response.is_success:
                    return self._read(response, len(texts))
                trouble = f"{response.status_code} {response.text[:QUOTED_CHARACTERS]}".strip()
                if response.status_code in (401, 403):
                    raise Denied(f"{self._url} refused the key in {KEY_VARIABLE}: {trouble}")
                if response.status_code != 429 and response.status_code < 500:
                    said = f"refused the texts for model {self._name}: {trouble}"
                    raise InvalidInput(f"{self._url} {said}")
                wait = _asked_wait(response) or wait
            if attempt + 1 < ATTEMPTS:
                self._sleep(wait)
        raise Unavailable(f"{self._url} did not answer in {ATTEMPTS} attempts: {trouble}")

    def _read(self, response: httpx.Response, expected: int) -> Vectors:
        try:
            items: list[dict[str, Any]] = response.json()["data"]
            ordered = sorted(items, key=lambda item: int(item["index"]))
            vectors: Vectors = np.array([item["embedding"] for item in ordered], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{self._url} answered something other than embeddings.") from error
        if vectors.ndim != 2 or len(vectors) != expected or not np.isfinite(vectors).all():
            raise InvalidInput(
                f"{self._url} answered {len(items)} embeddings for {expected} texts."
            )
        return vectors


def _asked_wait(response: httpx.Response) -> float | None:
    """Retry-After in seconds, where the server sends it so."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), LONGEST_WAIT_SECONDS) if asked.isdigit() else None
