"""Logs: one JSON line for each thing said, with its request and without secrets."""

from __future__ import annotations

import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.serve.auth.caller import CALL_RECORD, CallRecord
from hades.serve.telemetry.logs import MASKED, logging_to, masked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_says_when_what_and_for_which_request() -> None:
    out = io.StringIO()
    token = CALL_RECORD.set(CallRecord("abc"))
    with logging_to(out):
        logging.getLogger("hades.serve").info("Listening on %s", "port 8600")
    CALL_RECORD.reset(token)
    line = json.loads(out.getvalue())
    assert line["at"].endswith("+00:00")
    assert line | {"at": ""} == {
        "at": "",
        "level": "info",
        "logger": "hades.serve",
        "message": "Listening on port 8600",
        "request": "abc",
    }


def test_an_error_is_one_line_too() -> None:
    out = io.StringIO()
    with logging_to(out):
        try:
            raise ValueError("two\nlines")
        except ValueError:
            logging.getLogger("uvicorn.error").exception("It failed")
    (line,) = out.getvalue().splitlines()
    assert "ValueError: two\nlines" in json.loads(line)["error"]


def test_a_terminal_gets_text_and_a_level_is_kept() -> None:
    out = Terminal()
    with logging_to(out, level="warning"):
        logging.getLogger("hades.serve").info("not this")
        logging.getLogger("hades.serve").warning("but this")
    assert out.getvalue().strip().endswith("WARNING but this")
    assert "not this" not in out.getvalue()


def test_nothing_stays_behind() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    with logging_to(io.StringIO(), level="debug"):
        pass
    assert (root.level, list(root.handlers)) == before
    with pytest.raises(hades.InvalidInput, match="no log level 'loud'"), logging_to(level="loud"):
        pass


def test_secrets_are_hidden() -> None:
    for text in (
        "Authorization: Bearer SECRET123",
        "authorization=Basic SECRET123",
        "GET /open?token=SECRET123&next=1",
        '{"api_key": "SECRET123"}',
        "x-api-key: SECRET123",
        "cookie: session=SECRET123",
        "key hades_SECRET1230000000000 was used",
        "password=SECRET123;",
    ):
        assert "SECRET123" not in masked(text), text
        assert MASKED in masked(text), text


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=1))
def test_a_key_never_reaches_the_log(key: str) -> None:
    out = io.StringIO()
    with logging_to(out, shape="json"):
        logging.getLogger("x").info("token=%s", f"S3CRET{key}")
    assert "S3CRET" not in out.getvalue()
    json.loads(out.getvalue())


def test_ordinary_words_are_left_alone() -> None:
    told = "3 tokens, the key to it, hades_memory_topics, http://127.0.0.1:8600/v1"
    assert masked(told) == told
