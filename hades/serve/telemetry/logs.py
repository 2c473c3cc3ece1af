"""Logs: one JSON object a line on standard error, plain text on a terminal.

Whatever the server and the libraries below it say goes through here, with the id of the
request it was said for. Keys and tokens are masked: a log is read by more people than a key
is meant for.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from hades.errors import InvalidInput
from hades.serve.auth import call_record

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
"""Libraries that would tell of every request they make, or try again."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""What every record has; the rest was given by `extra`."""


def masked(text: str) -> str:
    """A text without keys, tokens and passwords."""
    return _SECRETS.sub(lambda found: (found[1] or "") + MASKED, text)


def _request_id() -> str:
    """The id of the request that is being served, where there is one."""
    record = call_record.current.get()
    return "" if record is None else record.request


class JsonLines(logging.Formatter):
    """A record as one JSON object: at, level, logger, message, request, extras, error."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
        }
        if request := _request_id():
            line["request"] = request
        for name, value in vars(record).items():
            if name not in _OWN and name not in line:
                line[name] = masked(value) if isinstance(value, str) else value
        if record.exc_info:
            line["error"] = masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=lambda value: masked(str(value)))


class TextLines(logging.Formatter):
    """A record for people: time, level, message, and the request it belongs to."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line; `format` puts the error below it."""
        request = _request_id()
        return super().formatMessage(record) + (f"  [{request}]" if request else "")

    def format(self, record: logging.LogRecord) -> str:
        """Line and error without secrets."""
        return masked(super().format(record))


@contextmanager
def logging_to(
    stream: TextIO | None = None, *, level: str = "info", shape: Shape = "auto"
) -> Iterator[None]:
    """Everything that is logged inside goes to the stream, ours and uvicorn's alike.

    Run uvicorn with `log_config=None`, else it puts its own handlers on top.
    """
    if level not in LEVELS:
        raise InvalidInput(f"There is no log level {level!r}: {', '.join(LEVELS)}.")
    out = sys.stderr if stream is None else stream
    is_text = shape == "text" or (shape == "auto" and out.isatty())
    handler = logging.StreamHandler(out)
    handler.setFormatter(TextLines() if is_text else JsonLines())
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
