"""An encoder behind an OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, OpenAI itself.

A key comes only from the environment, so that it is never written with the settings.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from hades.breaker import breaker_of
from hades.errors import Denied, InvalidInput, Unavailable
from hades.models.event_loop import run_async

if TYPE_CHECKING:
    from hades.models.onnx_encoder import Vectors

KEY_VARIABLE = "HADES_EMBEDDINGS_KEY"
BATCH_TEXTS = 64
STALLED_SECONDS = 60.0
"""An attempt fails when the server sends nothing for this long."""
DEADLINE_SECONDS = 120.0
"""The longest time for one batch, with all attempts."""
REPLY_BYTES_AT_MOST = 64 * 2**20
"""The most bytes of one reply. 64 vectors of 4,096 dimensions take about 6 MB."""
ATTEMPTS = 5
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 30.0
# Endpoints do not tell the limit of their model; nearly all models read this much.
MAX_TOKENS = 512
QUOTED_CHARACTERS = 200


class OpenAIEncoder:
    """Vectors from POST {url}/embeddings, with retries while the server is busy."""

    def __init__(
        self, url: str, model: str, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._url = url.rstrip("/") + "/embeddings"
        self._name = model
        self._sleep = sleep
        self._breaker = breaker_of(self._url)
        self.model = f"openai:{url}#{model}"
        self.max_tokens = MAX_TOKENS

    @cached_property
    def dims(self) -> int:
        return int(self._encode(["dimensions"]).shape[1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.dims), np.float32)
        vectors = self._encode(texts)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.maximum(norms, 1e-12)
        return unit

    def _encode(self, texts: Sequence[str]) -> Vectors:
        key = os.environ.get(KEY_VARIABLE)
        # A compressed reply could grow without bound when it is unpacked.
        headers = {"Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"

        async def batches() -> list[Vectors]:
            async with httpx.AsyncClient(headers=headers, timeout=STALLED_SECONDS) as client:
                starts = range(0, len(texts), BATCH_TEXTS)
                return [await self._ask(client, texts[at : at + BATCH_TEXTS]) for at in starts]

        with self._breaker.guard():
            return np.concatenate(run_async(batches))

    async def _ask(self, client: httpx.AsyncClient, texts: Sequence[str]) -> Vectors:
        # OpenAI refuses an empty text, but not a blank one.
        inputs = [text.encode("utf-8", "replace").decode("utf-8") or " " for text in texts]
        body = {"model": self._name, "input": inputs, "encoding_format": "float"}
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return self._vectors_in(await self._answer(client, body), len(texts))
        except TimeoutError:
            within = f"within {DEADLINE_SECONDS:g} seconds"
            raise Unavailable(f"{self._url} did not answer {within}.") from None

    async def _answer(self, client: httpx.AsyncClient, body: dict[str, Any]) -> bytes:
        """Return the body of the first successful reply; try again if the server is busy."""
        trouble = ""
        for attempt in range(ATTEMPTS):
            wait = min(FIRST_WAIT_SECONDS * 2**attempt, LONGEST_WAIT_SECONDS)
            try:
                async with client.stream("POST", self._url, json=body) as response:
                    content = await self._content(response)
            except httpx.TransportError as error:
                trouble = str(error) or type(error).__name__
            else:
                if response.is_success:
                    return content
                quoted = content.decode("utf-8", "replace")[:QUOTED_CHARACTERS]
                trouble = f"{response.status_code} {quoted}".strip()
                if response.status_code in (401, 403):
                    raise Denied(f"{self._url} refused the key in {KEY_VARIABLE}: {trouble}")
                if response.status_code != 429 and response.status_code < 500:
                    quoted = f"refused the texts for model {self._name}: {trouble}"
                    raise InvalidInput(f"{self._url} {quoted}")
                wait = _asked_wait(response) or wait
            if attempt + 1 < ATTEMPTS:
                await self._sleep(wait)
        raise Unavailable(f"{self._url} did not answer in {ATTEMPTS} attempts: {trouble}")

    async def _content(self, response: httpx.Response) -> bytes:
        content = bytearray()
        async for part in response.aiter_raw():
            content += part
            if len(content) > REPLY_BYTES_AT_MOST:
                raise InvalidInput(
                    f"{self._url} sent a reply of more than {REPLY_BYTES_AT_MOST} bytes."
                )
        return bytes(content)

    def _vectors_in(self, content: bytes, expected: int) -> Vectors:
        try:
            items: list[dict[str, Any]] = json.loads(content)["data"]
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
    """Return the Retry-After header in seconds, capped; None if it is missing or a date."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), LONGEST_WAIT_SECONDS) if asked.isdigit() else None
