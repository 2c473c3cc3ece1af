"""An HTTP client that reads no more, and no longer, than it was told to.

The timeouts of HTTP clients are those of one read: a server that sends a byte now and then, or
never stops, would be listened to for ever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2
import openai


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, until: float, at_most: int) -> None:
        self._stream = stream
        self._until = until
        self._at_most = at_most

    def __iter__(self) -> Iterator[bytes]:
        left = self._at_most
        for part in self._stream:
            left -= len(part)
            if left < 0:
                raise httpx2.ReadError(f"more than {self._at_most} bytes")
            if time.monotonic() > self._until:
                raise httpx2.ReadTimeout("the answer took too long")
            yield part

    def close(self) -> None:
        self._stream.close()


class _BoundedTransport(httpx2.HTTPTransport):
    def __init__(self, seconds: float, at_most: int) -> None:
        super().__init__(trust_env=False)
        self._seconds = seconds
        self._at_most = at_most

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        until = time.monotonic() + self._seconds
        # Packed, a few bytes could become many.
        request.headers["accept-encoding"] = "identity"
        response = super().handle_request(request)
        response.headers.pop("content-encoding", None)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _BoundedStream(response.stream, until, self._at_most)
        return response


def bounded_client(seconds: float, at_most: int) -> httpx2.Client:
    """A client of one server: no proxy, no redirects, `at_most` bytes within `seconds`."""
    return openai.DefaultHttpxClient(
        transport=_BoundedTransport(seconds, at_most), trust_env=False, follow_redirects=False
    )
