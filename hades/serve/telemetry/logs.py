"""Logs: JSON on standard error, one object per record; plain text on a terminal.

Records of the server and of its libraries get the id of their request. Keys and tokens are
masked, because more people may read a log than may have a key.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal, TextIO

from hades.errors import InvalidInput
from hades.serve.auth.caller import CALL_RECORD

Shape = Literal["auto", "json", "text"]
LEVELS = ("debug", "info", "warning", "error")

_SECRETS = re.compile(
    r"""(?ix)
    ( \b (?: bearer | basic ) \s+
    | \b (?: authorization | cookie | api[-_]?key | token | password | secret ) ["']? \s* [=:] \s*
      (?: (?: bearer | basic ) \s+ )? ["']?
    )
    [^\s"',;&]+
    | \b hades_[a-z]*_?[A-Za-z0-9_-]{16,}
    """
)
MASKED = "[hidden]"
QUIET = {
    "httpx": logging.WARNING,
    "mcp": logging.WARNING,
    "urllib3": logging.WARNING,
    "opentelemetry": logging.ERROR,
}
"""Libraries that would log every request or retry, with the least level that is kept."""
_TEXT = "%(asctime)s %(levelname)-7s %(message)s  %(request)s"


def masked(text: str) -> str:
    """Return a text with keys, tokens and passwords replaced by `[hidden]`."""
    return _SECRETS.sub(lambda match: (match[1] or "") + MASKED, text)


def _prepare(record: logging.LogRecord) -> bool:
    """Add the id of the current request to a record, and mask secrets; keep every record."""
    call = CALL_RECORD.get()
    record.request = "" if call is None else call.request
    record.msg = masked(record.getMessage())
    record.args = None
    if record.exc_info:
        record.exc_text = masked(logging.Formatter().formatException(record.exc_info))
    return True


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object: at, level, logger, message, request, error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object on one line, without empty fields."""
        entry = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request": getattr(record, "request", ""),
            "error": record.exc_text,
        }
        shown = {name: value for name, value in entry.items() if value}
        return json.dumps(shown, ensure_ascii=False)


@contextmanager
def logging_to(
    stream: TextIO | None = None, *, level: str = "info", shape: Shape = "auto"
) -> Iterator[None]:
    """Send all log records, also uvicorn's, to a stream while the context is open.

    Run uvicorn with `log_config=None`; otherwise it adds handlers of its own.
    """
    if level not in LEVELS:
        raise InvalidInput(f"There is no log level {level!r}: use one of {', '.join(LEVELS)}.")
    out = sys.stderr if stream is None else stream
    is_text = shape == "text" or (shape == "auto" and out.isatty())
    handler = logging.StreamHandler(out)
    handler.addFilter(_prepare)
    handler.setFormatter(logging.Formatter(_TEXT, "%H:%M:%S") if is_text else JsonFormatter())
    root = logging.getLogger()
    least = logging.getLevelNamesMapping()[level.upper()]
    levels = {
        root: least,
        **{logging.getLogger(name): max(at, least) for name, at in QUIET.items()},
    }
    before = {logger: logger.level for logger in levels}
    root.addHandler(handler)
    for logger, at in levels.items():
        logger.setLevel(at)
    try:
        yield
    finally:
        handler.flush()
        root.removeHandler(handler)
        for logger, was in before.items():
            logger.setLevel(was)
