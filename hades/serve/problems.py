"""Problems: what went wrong, as `application/problem+json` (RFC 9457).

Each kind of error has one status; the sentence is the error's own. `code` is the name of
the error's class, so that a client can raise the same one again.
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
from hades.errors import Conflict, HadesError, InvalidInput

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1

_STATUS: dict[type[HadesError], int] = {
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Refused: 409,
    errors.InvalidInput: 422,
    errors.Denied: 403,
    errors.Unavailable: 503,
    errors.Corrupt: 500,
    HadesError: 500,
}
_CODE = {401: "Denied", 403: "Denied", 404: "NotFound", 409: "Conflict", 412: "Conflict"}
_CODE |= dict.fromkeys((503, 504, 507), "Unavailable")
"""The codes of what is not one of our errors; else InvalidInput below 500."""

ERRORS_AT_MOST = 20
"""Things wrong with one request that are told: one may have thousands."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FAILED_INSIDE = "Something went wrong inside; the server's log says what."

_log = logging.getLogger("hades.serve")


class PreconditionFailed(Conflict):
    """`If-Match` or `If-None-Match` names another state than the current one."""

    status = 412


class TooLarge(InvalidInput):
    """More was sent than is taken."""

    status = 413


class FieldProblem(BaseModel):
    """One thing wrong with a request."""

    where: str
    what: str


class ProblemDetails(BaseModel):
    """What went wrong, in one sentence."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    """The class of the error in `hades.errors`."""
    errors: list[FieldProblem] = []
    """Each thing wrong with a request that does not fit its description."""


def problem(
    status: int,
    detail: str,
    code: str | None = None,
    *,
    wrong: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A response that says what went wrong."""
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


def problem_of(error: HadesError) -> Response:
    """The response for one of our errors."""
    kind = next(kind for kind in type(error).__mro__ if kind in _STATUS)
    status = getattr(error, "status", _STATUS[kind])
    headers = {}
    if status in (503, 504):
        headers["Retry-After"] = str(getattr(error, "retry_after_s", RETRY_AFTER_S))
    return problem(status, str(error), kind.__name__, headers=headers)


def code_of(error: BaseException) -> str:
    """The name of an error's class in `hades.errors`."""
    known = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return next(known, HadesError).__name__


def install(app: FastAPI) -> None:
    """Let every error of an app become a problem."""
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
    """These statuses as OpenAPI describes them."""
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}: what went wrong, in one sentence",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
        for status in statuses
    }


ANY = documented(400, 401, 403, 404, 409, 413, 415, 422, 500, 503, 504)
"""What any call may meet: a key that is missing or not enough, an overload, a wrong value."""


async def _ours(_request: Request, error: HadesError) -> Response:
    return problem_of(error)


async def _unfit(request: Request, error: RequestValidationError) -> Response:
    told = error.errors()[:ERRORS_AT_MOST]
    found = [_wrong(one) for one in told]
    first = found[0]
    sentence = f"{first['where']}: {first['what']}."
    if any(one["type"] == "json_invalid" for one in told):
        return problem(400, f"The body is not JSON: {sentence}", wrong=found)
    other = bool(request.headers.get("content-type")) and not is_json(request)
    if first["where"] == "body" and other:
        return problem(415, "Send the body as application/json.")
    return problem(422, f"The request does not fit its description: {sentence}", wrong=found)


def is_json(request: Request) -> bool:
    """Whether a request says that its body is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _wrong(one: Mapping[str, Any]) -> dict[str, str]:
    # Names of fields come from the request, and may not be encodable.
    where = ".".join(str(part) for part in one["loc"])
    what = str(one.get("ctx", {}).get("error", one["msg"])).rstrip(".")
    return {"where": _encodable(where)[:200], "what": _encodable(what)[:500]}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


async def _http(request: Request, error: HTTPException) -> Response:
    if error.status_code == 405:
        return problem(
            405, "This address takes other methods.", headers=_allowed(request) or error.headers
        )
    missing = error.status_code == 404
    detail = "There is nothing at this address." if missing else str(error.detail)
    return problem(error.status_code, detail, headers=error.headers)


def _allowed(request: Request) -> dict[str, str]:
    """Every method of an address: each is a route of its own, and one alone answered."""
    route = getattr(request.scope.get("route"), "path_format", "")
    methods = request.app.openapi()["paths"].get(route, {})
    return {"Allow": ", ".join(sorted(method.upper() for method in methods))} if methods else {}


async def _gone(_request: Request, _error: Exception) -> Response:
    """Nobody reads it; it is what the audit log and the metrics say of the request."""
    return problem(400, "The request ended before all of it was here.")


async def _disk(request: Request, error: OSError) -> Response:
    if error.errno in _DISK_FULL:
        return problem(507, "There is no room on the server's disk: tell its operator.")
    return await _unforeseen(request, error)


async def _unforeseen(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.scope.get("path"), exc_info=error)
    return problem(500, FAILED_INSIDE)
