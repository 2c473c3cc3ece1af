"""An HTTP client that limits the size of replies."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import openai


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, at_most: int) -> None:
        self._stream = stream
        self._at_most = at_most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._at_most
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise httpx2.ReadError(f"more than {self._at_most} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, at_most: int) -> None:
        super().__init__(trust_env=False)
        self._at_most = at_most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # A small compressed reply could become a large one.
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        response.headers.pop("content-encoding", None)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, self._at_most)
        return response


def bounded_client(at_most: int) -> httpx2.AsyncClient:
    """Return a client without proxies or redirects; a reply above `at_most` bytes is an error."""
    return openai.DefaultAsyncHttpxClient(
        transport=_BoundedTransport(at_most), trust_env=False, follow_redirects=False
    )
