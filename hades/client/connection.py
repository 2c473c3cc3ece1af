"""The connection to a server: calls over HTTP, repeated where that is safe.

Reads can always be repeated. A write carries an `Idempotency-Key`: if its answer was lost, it
is sent again, and a server that has done it already repeats the first answer. An error from
the server becomes the exception that an embedded memory would raise, with the same message.
"""

from __future__ import annotations

import base64
import json
import random
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hades import errors
from hades.domain.address import Address, shown_key
from hades.domain.rules import clean_name
from hades.errors import InvalidInput

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_S = 5.0
FIRST_PAUSE_S = 0.1
"""Pause before the second try; it doubles before each further try."""
LONGEST_PAUSE_S = 5.0

ADMIN = "/v1/admin/"
NOTHING_THERE = "There is nothing at this address."
"""The server's message for an unknown address, and for an admin address at any other socket."""

Query = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One HTTP request to a server."""

    method: str
    path: str
    query: Query | None = None
    body: Any = None
    """A JSON value, or a function that returns the parts of a stream, called for each try."""
    headers: Mapping[str, str] | None = None
    repeatable: bool = True
    """Whether it may be sent again when it is unknown whether it arrived."""
    patient: bool = False
    """Whether to wait for the answer without a timeout, as for long work or a stream."""


class BrokenOff(errors.Unavailable):
    """The connection broke while an answer was read."""


def path_of(*parts: str | int) -> str:
    """Return a path below /v1, with each part percent-encoded.

    >>> path_of("spaces", "default", "states", "design/x?")
    '/v1/spaces/default/states/design%2Fx%3F'
    """
    return "/v1/" + "/".join(_quoted(part) for part in parts)


def _quoted(part: str | int) -> str:
    try:
        escaped = quote(str(part), safe="")
    except UnicodeEncodeError:
        escaped = quote(clean_name(str(part)), safe="")
    # Clients and proxies resolve the parts `.` and `..`, so their dots are encoded too.
    return escaped.replace(".", "%2E") if not escaped.strip(".") else escaped


class BatchOfThread(threading.local):
    """The open batch of the current thread: its space, and its writes so far (None: no batch)."""

    space: str = ""
    writes: list[dict[str, Any]] | None = None


class Connection:
    """A pool of connections to one server, used by any number of threads."""

    def __init__(
        self, address: Address, *, key: str | None, timeout_s: float, retries: int
    ) -> None:
        import httpx

        self.address = address
        self.retries = retries
        self.timeout_s = timeout_s
        self.batch = BatchOfThread()
        self._reached = False
        self._patient = httpx.Timeout(None, connect=min(CONNECT_TIMEOUT_S, timeout_s))
        self._random = random.Random()
        headers = {"user-agent": "hades"}
        if key := key or address.key:
            headers["authorization"] = shown_key(key)
        socket = None if address.socket is None else str(address.socket)
        try:
            self._http = httpx.Client(
                base_url=address.root,
                headers=headers,
                timeout=httpx.Timeout(timeout_s, connect=min(CONNECT_TIMEOUT_S, timeout_s)),
                # Loading the CA certificates takes longer than many calls.
                verify=address.root.startswith("https:"),
                transport=None if socket is None else httpx.HTTPTransport(False, uds=socket),
            )
        except (UnicodeEncodeError, httpx.InvalidURL) as error:
            raise InvalidInput(f"{address.text} or its key cannot be used.") from error

    def close(self) -> None:
        self._http.close()

    # Calls

    def get(self, *parts: str | int, **query: Any) -> Any:
        """Send GET for the path of these parts (see `path_of`), and return the JSON."""
        return self.json(HttpCall("GET", path_of(*parts), query))

    def write(self, call: HttpCall) -> Any:
        """Send a write with a new idempotency key, so that retries do it once; return the JSON."""
        key = {"idempotency-key": uuid.uuid4().hex}
        return self.json(replace(call, headers={**(call.headers or {}), **key}))

    def json(self, call: HttpCall) -> Any:
        """Send a call and return the JSON of the answer; None if the body is empty."""
        response = self._sent(call, whole=True)
        if not response.content:
            return None
        try:
            return json.loads(response.content)
        except ValueError as error:
            raise self._no_server(response) from error

    @contextmanager
    def opened(self, call: HttpCall) -> Iterator[httpx.Response]:
        """Send a call and yield the answer, its body unread; raise if it is an error or breaks."""
        import httpx

        response = self._sent(call, whole=False)
        try:
            yield response
        except httpx.HTTPError as error:
            raise BrokenOff(
                f"The answer of the server at {self.address.text} broke off: try again."
            ) from error
        finally:
            response.close()

    # Inside

    def _sent(self, call: HttpCall, *, whole: bool) -> httpx.Response:
        """Send a call, with retries, and return the answer; read its whole body if `whole`."""
        import httpx

        for tried in count():
            tries_left = max(0, self.retries - tried)
            # Pauses grow and are random, so that the retries of many clients are spread.
            pause = min(FIRST_PAUSE_S * 2**tried, LONGEST_PAUSE_S) * self._random.uniform(0.5, 1)
            try:
                response = self._http.send(self._request(call), stream=not whole)
                if response.status_code >= 400:
                    response.read()
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                # If no call ever succeeded the address may be wrong: raise without retries.
                if not tries_left or not self._reached:
                    raise errors.Unavailable(
                        f"No server answers at {self.address.text} ({error}): start it with "
                        "`hades serve`, or check the address."
                    ) from error
            except httpx.TimeoutException as error:
                raise errors.Unavailable(
                    f"The server at {self.address.text} did not answer within "
                    f"{self.timeout_s:g} seconds: try again, or open it with a longer timeout_s."
                ) from error
            except httpx.TransportError as error:
                if not tries_left or not call.repeatable:
                    raise errors.Unavailable(
                        f"The connection to the server at {self.address.text} broke off: try again."
                    ) from error
            else:
                self._reached = True
                if response.status_code < 400:
                    return response
                wait = _wished_pause_s(response)
                # A timed-out write may still run there; with the same key we get its answer.
                keyed = "idempotency-key" in (call.headers or {})
                again = response.status_code == 503 or (response.status_code == 504 and keyed)
                if not again or wait is None or not tries_left:
                    raise self._refusal(call, response)
                pause = max(pause, min(wait, LONGEST_PAUSE_S))
            time.sleep(pause)
        raise AssertionError("unreachable")

    def _request(self, call: HttpCall) -> httpx.Request:
        headers = dict(call.headers or {})
        body: Any = call.body
        if callable(body):
            body = body()
        elif body is not None:
            headers["content-type"] = "application/json"
            body = _json(body)
        query = {name: _written(value) for name, value in (call.query or {}).items()}
        return self._http.build_request(
            call.method,
            call.path,
            timeout=self._patient if call.patient else self._http.timeout,
            params={name: value for name, value in query.items() if value is not None} or None,
            content=body,
            headers=headers,
        )

    def _refusal(self, call: HttpCall, response: httpx.Response) -> errors.HadesError:
        try:
            problem = json.loads(response.content)
            if call.path.startswith(ADMIN) and problem["detail"] == NOTHING_THERE:
                return errors.Denied(
                    f"{self.address.text} is not for operators: open the server's admin socket."
                )
            return refusal(problem, response.status_code)
        except (ValueError, KeyError, TypeError, AttributeError):
            return self._no_server(response)

    def _no_server(self, response: httpx.Response) -> errors.HadesError:
        kind = _BY_STATUS.get(response.status_code, errors.Unavailable)
        return kind(
            f"{self.address.text} answered {response.status_code}, but not as HADES does: "
            "check the address."
        )


_KINDS: dict[str, type[errors.HadesError]] = {
    kind.__name__: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.HadesError)
}
"""The exceptions by the `code` of a problem."""
_BY_STATUS: dict[int, type[errors.HadesError]] = {
    **dict.fromkeys((400, 405, 413, 422), InvalidInput),
    **dict.fromkeys((401, 403), errors.Denied),
    **dict.fromkeys((409, 412), errors.Conflict),
    404: errors.NotFound,
}
"""The exceptions for answers without a known code, such as a proxy's; else Unavailable."""


def refusal(problem: Mapping[str, Any], status: int) -> errors.HadesError:
    """Return the exception that the server's memory raised, by its code, else by the status."""
    kind = _KINDS.get(problem.get("code", ""), errors.HadesError)
    if kind is errors.HadesError:
        kind = _BY_STATUS.get(status, errors.Unavailable)
    return kind(str(problem["detail"]))


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"An argument cannot be sent as JSON: {error}.") from error


def encode_cursor(key: Any) -> str:
    """Return a cursor for the items after the one with this key."""
    parts = list(key) if isinstance(key, list | tuple) else [key]
    text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _written(value: Any) -> Any:
    """Return a query parameter's value; None (left out) for None and False."""
    if value is None or value is False:
        return None
    return "true" if value is True else value


def _wished_pause_s(response: httpx.Response) -> float | None:
    """Return the seconds of `Retry-After`; None without it, which means: do not retry."""
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
