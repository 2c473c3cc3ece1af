"""Problems: errors as `application/problem+json` (RFC 9457).

Each class of error has one status; `detail` is the error's message. `code` is the name of
the error's class, so that a client can raise the same exception.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from hades import errors
from hades.client.connection import NOTHING_THERE
from hades.errors import Conflict, HadesError, InvalidInput

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

_STATUS = {
    "NotFound": 404,
    "Conflict": 409,
    "Refused": 409,
    "InvalidInput": 422,
    "Denied": 403,
    "Unavailable": 503,
    "Corrupt": 500,
    "HadesError": 500,
}
"""Statuses by the name of the error's class; some subclasses have their own `status`."""
_CODE = {401: "Denied", 403: "Denied", 404: "NotFound", 409: "Conflict", 412: "Conflict"}
_CODE |= dict.fromkeys((503, 504, 507), "Unavailable")
"""Codes for errors of other libraries, by status; all other statuses below 500 are InvalidInput."""

ERRORS_AT_MOST = 20
"""How many faults of one request are reported; a request may have thousands."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FAILED_INSIDE = "The server failed; its log says why."

_log = logging.getLogger("hades.serve")


class PreconditionFailed(Conflict):
    """The condition `If-Match` or `If-None-Match` does not hold for the current state."""

    status = 412


class TooLarge(InvalidInput):
    """The request is larger than its limit."""

    status = 413


class FieldProblem(BaseModel):
    """One fault of a request: where it is, and what is wrong."""

    where: str
    what: str


class ProblemDetails(BaseModel):
    """An error, in one sentence."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    """The class of the error in `hades.errors`."""
    errors: list[FieldProblem] = []
    """The faults of a request that does not match its schema."""


def problem(
    status: int,
    detail: str,
    code: str | None = None,
    *,
    wrong: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error as problem details (RFC 9457). `wrong` lists the faults of single fields."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": _encodable(detail),
        "code": code or _CODE.get(status, "InvalidInput" if status < 500 else "HadesError"),
    }
    if wrong:
        body["errors"] = list(wrong)
    return Response(to_json(body), status, headers, MEDIA_TYPE)


def code_of(error: BaseException) -> str:
    """Return the name of the error's class, or of its nearest base, in `hades.errors`."""
    known = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return next(known, HadesError).__name__


def status_of(error: HadesError) -> int:
    """Return the HTTP status of an error."""
    return int(getattr(error, "status", _STATUS[code_of(error)]))


def install(app: FastAPI) -> None:
    """Make an app answer every error with a problem."""
    handlers: dict[type[Exception], Any] = {
        HadesError: _ours,
        RequestValidationError: _unfit,
        HTTPException: _http,
        ClientDisconnect: _gone,
        OSError: _disk,
        Exception: _unforeseen,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of problems with these statuses."""
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}: what went wrong, in one sentence",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in statuses
    }


ANY = documented(400, 401, 403, 404, 409, 413, 415, 422, 500, 503, 504)
"""Problems that any call may be answered with."""


async def _ours(_request: Request, error: HadesError) -> Response:
    status = status_of(error)
    headers = {}
    if status in (503, 504):
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return problem(status, str(error), code_of(error), headers=headers)


async def _unfit(request: Request, error: RequestValidationError) -> Response:
    faults = error.errors()[:ERRORS_AT_MOST]
    wrong = [_wrong(fault) for fault in faults]
    first = wrong[0]
    sentence = f"{first['where']}: {first['what']}."
    if any(fault["type"] == "json_invalid" for fault in faults):
        return problem(400, f"The body is not JSON: {sentence}", wrong=wrong)
    other = bool(request.headers.get("content-type")) and not is_json(request)
    if first["where"] == "body" and other:
        return problem(415, "Send the body as application/json.")
    return problem(422, f"The request does not match its schema: {sentence}", wrong=wrong)


def is_json(request: Request) -> bool:
    """Whether a request says that its body is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _wrong(fault: Mapping[str, Any]) -> dict[str, str]:
    # Names of fields come from the request, and may not be encodable.
    where = ".".join(str(part) for part in fault["loc"])
    what = str(fault.get("ctx", {}).get("error", fault["msg"])).rstrip(".")
    return {"where": _encodable(where)[:200], "what": _encodable(what)[:500]}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


async def _http(request: Request, error: HTTPException) -> Response:
    if error.status_code == 405:
        return problem(
            405, "This address has other methods.", headers=_allowed(request) or error.headers
        )
    missing = error.status_code == 404
    detail = NOTHING_THERE if missing else str(error.detail)
    return problem(error.status_code, detail, headers=error.headers)


def _allowed(request: Request) -> dict[str, str]:
    """Return `Allow` with all methods of the address, since Starlette names those of one route
    only."""
    route = getattr(request.scope.get("route"), "path_format", "")
    methods = request.app.openapi()["paths"].get(route, {})
    return {"Allow": ", ".join(sorted(method.upper() for method in methods))} if methods else {}


async def _gone(_request: Request, _error: Exception) -> Response:
    # The client is gone: this only sets the status in the audit log and the metrics.
    return problem(400, "The client disconnected before the request was complete.")


async def _disk(request: Request, error: OSError) -> Response:
    if error.errno in _DISK_FULL:
        return problem(507, "There is no room on the server's disk: tell its operator.")
    return await _unforeseen(request, error)


async def _unforeseen(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.scope.get("path"), exc_info=error)
    return problem(500, FAILED_INSIDE)
