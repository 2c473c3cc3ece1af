"""Language models: what a call promises, whatever a server does."""

import asyncio
import gc
import json
import logging
import socket
import threading
from typing import Any

import pytest
from chat_making import SLOW, drip, endless, half, said, scripted, use
from hang_guard import within_a_minute
from pydantic import BaseModel

import hades
from hades.models.chat import UnusableReply, open_chat_model, totals
from hades.settings import load_settings

KEY = "sk-secret-0123456789"


class Person(BaseModel):
    name: str
    age: int


def test_a_real_server_answers(chat_server: str) -> None:
    text, usage = open_chat_model("default").complete("Be brief.", "Say hello.", max_tokens=6)
    assert text
    assert usage.model == "smol"
    assert usage.prompt_tokens > 0
    assert 0 < usage.completion_tokens <= 6
    paid = usage.prompt_tokens + 2 * usage.completion_tokens
    assert usage.cost == pytest.approx(paid / 1_000_000)


def test_a_real_server_answers_by_a_schema(chat_server: str) -> None:
    text = "Ann is 30 years old. Give her name and age."
    ann, usage = open_chat_model("smol").complete_json("Be brief.", text, Person, max_tokens=40)
    assert isinstance(ann, Person)
    assert usage.completion_tokens > 0


def test_before_a_call_its_cost_is_known_and_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with scripted("Hello.") as server:
        use(monkeypatch, server, input_price=1.0, output_price=10.0)
        usage = open_chat_model("default").estimate("Be brief.", "Say hello.", max_tokens=100)
        assert not server.requests
    assert usage.completion_tokens == 100
    assert 5 <= usage.prompt_tokens <= 40
    assert usage.cost == pytest.approx((usage.prompt_tokens + 1000) / 1_000_000)


def test_a_server_without_schemas_is_asked_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = (400, b'{"error": {"message": "response_format is not supported"}}')
    with scripted(refusal, '```json\n{"name": "Ann", "age": 30}\n```') as server:
        use(monkeypatch, server)
        ann, _ = open_chat_model("a").complete_json("Who?", "Ann, 30.", Person, max_tokens=40)
    assert ann == Person(name="Ann", age=30)
    assert "response_format" not in server.requests[1]
    assert '"age"' in server.requests[1]["messages"][0]["content"]


def test_a_wrong_reply_is_asked_for_once_more_with_the_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with scripted('{"name": "Ann"}', '{"name": "Ann", "age": 30}') as server:
        use(monkeypatch, server, input_price=1.0, output_price=1.0)
        ann, usage = open_chat_model("a").complete_json("Who?", "Ann, 30.", Person, max_tokens=40)
    assert ann.age == 30
    assert "age: Field required" in server.requests[1]["messages"][-1]["content"]
    assert (usage.prompt_tokens, usage.completion_tokens) == (20, 10)  # of both calls
    assert usage.cost == pytest.approx(30 / 1_000_000)


DEEP = '{"name": ' + "[" * 100_000


@pytest.mark.parametrize("text", ["no JSON at all", DEEP, '{"name": 1, "age": "x"}', "{}"])
def test_a_reply_that_stays_wrong_is_unusable(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with scripted(text) as server:
        use(monkeypatch, server)
        with pytest.raises(UnusableReply, match="did not answer as asked"):
            open_chat_model("a").complete_json("Who?", "Ann.", Person, max_tokens=40)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ((500, b"oops"), "did not answer"),
        ((503, b'{"error": {"message": "loading"}}'), "loading"),
        ((404, b'{"error": {"message": "no such model"}}'), "refused the request: no such"),
        ((302, b""), "refused the request"),
        (b"not JSON", "did not answer with JSON"),
        (b'{"choices": []}', "empty or unreadable reply"),
        (b"[" * 100_000, "did not answer with JSON"),
        (b'"choices"', "empty or unreadable reply"),
        (b"{}", "empty or unreadable reply"),
        (said("  "), "empty or unreadable reply"),
        (b"x" * 2_000_000, "did not answer"),
        (endless, "did not answer"),
        (half, "did not answer"),
    ],
    ids=range(13),
)
def test_what_a_server_does_wrong_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, answer: Any, fault: str
) -> None:
    with scripted(answer) as server:
        use(monkeypatch, server)
        with pytest.raises(hades.HadesError, match=fault):
            open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)


@pytest.mark.parametrize("slow", SLOW, ids=SLOW)
def test_a_server_that_is_slow_is_given_up(monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    """One deadline holds for the head and the body, whatever arrives in between."""
    stop = threading.Event()
    with scripted(SLOW[slow](stop)) as server:
        use(monkeypatch, server, timeout_s=0.3)
        said = within_a_minute(lambda: open_chat_model("a").complete("x", "y", max_tokens=8))
        stop.set()
    assert isinstance(said, hades.Unavailable)
    assert "did not answer within 0.3 seconds" in str(said)


def test_the_deadline_holds_for_all_attempts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that asks for a pause before each retry is waited for no longer."""
    stop = threading.Event()
    busy = drip(stop, b"HTTP/1.1 503 Busy\r\nRetry-After: 50\r\nContent-Length: 0\r\n\r\n")
    with scripted(busy) as server:
        use(monkeypatch, server, timeout_s=0.5, retries=10)
        said = within_a_minute(lambda: open_chat_model("a").complete("x", "y", max_tokens=8))
        stop.set()
    assert isinstance(said, hades.Unavailable)
    assert "within 0.5 seconds" in str(said)
    assert len(server.requests) <= 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_shakes_no_hands_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server accepts a connection and never answers the TLS handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        use(monkeypatch, f"https://127.0.0.1:{listening.getsockname()[1]}/v1", timeout_s=0.3)
        model = open_chat_model("a")
        said = str(within_a_minute(lambda: model.complete("x", "y", max_tokens=8)))
    assert "did not answer within 0.3 seconds" in said
    gc.collect()  # httpcore leaves the socket of a cancelled handshake to the collector


def test_a_call_may_be_made_inside_an_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook."""

    async def cell() -> str:
        return open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)[0]

    with scripted("Hello.") as server:
        use(monkeypatch, server)
        assert asyncio.run(cell()) == "Hello."


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted((500, b"busy"), "Hello.") as server:
        use(monkeypatch, server, retries=1)
        assert open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)[0] == "Hello."


def test_the_next_model_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not there, one whose replies are of no use, and the third."""
    with scripted("nonsense") as weak, scripted('{"name": "Ann", "age": 30}') as good:
        use(monkeypatch, "http://127.0.0.1:1/v1", weak, good)
        ann, usage = open_chat_model("default").complete_json(
            "Who?", "Ann, 30.", Person, max_tokens=40
        )
        assert (ann.name, usage.model) == ("Ann", "c")
        assert len(weak.requests) == 2
        with pytest.raises(UnusableReply):  # asked by name, no other answers
            open_chat_model("b").complete_json("Who?", "Ann.", Person, max_tokens=40)
    with pytest.raises(hades.Unavailable, match=r"a at http://127\.0\.0\.1:1/v1 did not answer"):
        open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)


def test_a_model_that_reads_too_little_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted("Hello.") as server:
        use(monkeypatch, server, context_tokens=256)
        with pytest.raises(hades.InvalidInput, match="reads 256 tokens"):
            open_chat_model("a").complete("Be brief.", "word " * 300, max_tokens=8)
        assert not server.requests


@pytest.mark.parametrize("status", [401, 400, 500])
def test_the_key_is_sent_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another")
    quoting = (status, json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode())
    with scripted(quoting) as server, caplog.at_level(logging.DEBUG):
        use(monkeypatch, server, key_variable="MY_KEY")
        with pytest.raises(hades.HadesError) as caught:
            open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "org-of-another" not in str(server.headers)
    assert caught.value.__cause__ is None
    assert KEY not in f"{caught.value!r} {caplog.text} {load_settings()!r}"


def test_what_is_no_key_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1\nX-Evil: 1")
    with scripted("Hello.") as server:
        use(monkeypatch, server, key_variable="MY_KEY")
        with pytest.raises(hades.Denied, match="key of the model a"):
            open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)
        assert not server.requests


def test_a_server_that_writes_too_much_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted("word " * 10_000) as server:
        use(monkeypatch, server)
        assert len(open_chat_model("a").complete("x", "y", max_tokens=8)[0]) <= 8 * 32


def test_totals_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = totals().get("a")
    with scripted("Hello.", b"{}") as server:
        use(monkeypatch, server)
        open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)
        with pytest.raises(UnusableReply):
            open_chat_model("a").complete("Be brief.", "Hello?", max_tokens=8)
    now = totals()["a"]
    assert now.calls - (before.calls if before else 0) == 2
    assert now.failures - (before.failures if before else 0) == 1
    assert now.completion_tokens - (before.completion_tokens if before else 0) >= 5


def test_half_characters_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted("half \ud800") as server:
        use(monkeypatch, server)
        assert open_chat_model("a").complete("x", "\udc00", max_tokens=8)[0] == "half ?"


def test_the_short_form() -> None:
    environment = {"HADES_MODEL": "openai:http://127.0.0.1:8080/v1#qwen3"}
    (model,) = load_settings(environment).all_models()
    assert (model.name, model.url) == ("qwen3", "http://127.0.0.1:8080/v1")
    assert model.key_variable == "HADES_MODEL_KEY"


def test_a_wrong_short_form_is_told_in_words() -> None:
    with pytest.raises(hades.InvalidInput, match="in short form: openai:http://127") as caught:
        load_settings({"HADES_MODEL": "nonsense"})
    assert "\\" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "nonsense",
        '[{"name": "a"}]',
        '[{"name": "a", "url": "http://user:secret@host/v1", "model": "m"}]',
        '[{"name": "a", "url": "file:///etc/passwd", "model": "m"}]',
        '[{"name": "default", "url": "http://h/v1", "model": "m"}]',
    ],
)
def test_wrong_models_are_refused(value: str) -> None:
    with pytest.raises(hades.InvalidInput) as caught:
        load_settings({"HADES_MODELS": value})
    assert "secret" not in str(caught.value)
    with pytest.raises(hades.InvalidInput):
        load_settings({"HADES_MODEL": "http://127.0.0.1:8080/v1"})


def test_without_a_model_one_sentence_says_so() -> None:
    with pytest.raises(hades.Unavailable, match="HADES_MODEL"):
        open_chat_model("default")


def test_a_model_nobody_knows(chat_server: str) -> None:
    with pytest.raises(hades.InvalidInput, match="default, smol"):
        open_chat_model("gpt")
