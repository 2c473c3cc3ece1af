"""Language models behind a server: who may have them called, and what is counted."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp_making import ANN, EVE, Offered, talk
from served_making import Served

sys.path.append(str(Path(__file__).parents[1] / "models"))

from chat_making import SLOW, Scripted, scripted, use

import hades

pytest_plugins = ["served_fixtures"]

ASK = "/v1/spaces/default/ask"
WHY = {"question": "Why was approach X rejected?", "model": "a"}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    with scripted("Approach X was rejected because of Bug Y [1].") as server:
        use(monkeypatch, server, input_price=1.0, output_price=2.0)
        yield server


@pytest.fixture
def told(served: Served) -> Served:
    with hades.open(f"unix://{served.listening['rw'].where}") as client:
        client.remember("design/x", "Approach X was rejected because of Bug Y.")
    return served


def test_readers_have_no_model_called(
    told: Served, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model may cost money: it needs the role writer, or a setting."""
    with told.by("http", told.key("reader")) as reader:
        refused = reader.post(ASK, json=WHY)
        assert (refused.status_code, refused.json()["code"]) == (403, "Denied")
        assert reader.get("/v1/spaces/default/models?check=true").status_code == 403
        assert reader.post(ASK, json={"question": WHY["question"]}).status_code == 200
        assert reader.get("/v1/spaces/default/models").json()["items"][0]["name"] == "a"
        assert not model.requests
        monkeypatch.setenv("HADES_MODEL_ROLE", "reader")
        assert reader.post(ASK, json=WHY).json()["kind"] == "model"


def test_a_writer_is_answered_and_it_is_counted(told: Served, model: Scripted) -> None:
    with told.by("http", told.key("writer")) as writer:
        said = writer.post(ASK, json=WHY).json()
        assert said["sentences"][0]["text"] == "Approach X was rejected because of Bug Y."
        assert said["usage"]["model"] == "a"
        checked = writer.get("/v1/spaces/default/models?check=true").json()["items"][0]
        assert checked["answers"] is True
        assert checked["totals"]["calls"] >= 2
        assert model.url not in str(checked)
    with told.by("admin") as admin:
        metrics = admin.get("/metrics").text
    for name in ("calls", "failures", "prompt_tokens", "completion_tokens", "cost"):
        assert f'hades_model_{name}_total{{model="a"}}' in metrics


MODEL_CALLS = 8
"""Calls of models that a server makes at once."""


@pytest.mark.slow
def test_a_server_that_drips_its_head_keeps_no_thread(
    told: Served, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More callers than model threads are all answered, and the next one has its model."""
    stop = threading.Event()
    monkeypatch.setenv("HADES_BREAKER_FAILURES", "1000")
    use(monkeypatch, model, timeout_s=0.5)
    model.say(SLOW["head"](stop))
    with told.by("http", told.key("writer")) as writer:
        writer.timeout = 60  # a hang guard
        with ThreadPoolExecutor(MODEL_CALLS + 1) as callers:
            asked = [callers.submit(writer.post, ASK, json=WHY) for _ in range(MODEL_CALLS + 1)]
            said = [answer.result().json() for answer in asked]
        assert {answer["kind"] for answer in said} == {"extractive"}
        for answer in said:
            assert "did not answer within 0.5 seconds" in answer["fallback"]
        stop.set()
        use(monkeypatch, model)
        model.say("Approach X was rejected because of Bug Y [1].")
        assert writer.post(ASK, json=WHY).json()["kind"] == "model"


def test_a_client_asks_with_the_models_of_the_server(told: Served, model: Scripted) -> None:
    with hades.open(f"unix://{told.listening['rw'].where}") as client:
        assert client.ask(WHY["question"], model="a").kind == "model"
        assert client.ask(WHY["question"], model="a", dry_run=True).kind == "dry_run"
        assert client.models(check=True)[0].answers
        with pytest.raises(hades.InvalidInput, match="No model is called"):
            client.ask(WHY["question"], model="gpt")


def test_an_agent_asks_with_a_model(told: Served, model: Scripted) -> None:
    async def life(client: Any) -> Any:
        return await client.call_tool("ask", WHY)

    said = talk(Offered(told.executor), life, caller=ANN)
    assert "In the words of a, checked" in said.content[0].text
    assert said.structured_content["usage"]["model"] == "a"
    assert talk(Offered(told.executor), life, caller=EVE).is_error
    model.say("Approach X was rejected because of Bug Q [1].")
    said = talk(Offered(told.executor), life, caller=ANN)
    assert "the model did not help" in said.content[0].text


@pytest.mark.slow
def test_servers_start_without_the_client_of_models() -> None:
    code = "import sys, hades.serve.app, hades.serve.mcp.server\n"
    code += "assert 'openai' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
