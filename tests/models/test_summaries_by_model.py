"""Summaries by a model: what it says is taken where it stands in what it cites, and only there."""

from __future__ import annotations

from typing import Any

import pytest
from chat_making import scripted
from test_chat import use

import hades
from tests.conftest import HeldClock

NOTES = {"deal": "Decided with Ada: we buy Osprey for 300 euros.", "hat": "Bela lost his hat."}


@pytest.fixture
def noted(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    clock.set("2024-04-10")
    for topic, text in NOTES.items():
        memory.remember(topic, text, valid_from="2024-03-05")
    return memory


def _month(memory: hades.Memory, **more: Any) -> hades.State:
    memory.consolidate(level="monthly", at_least=1, **more)
    return memory.get("summary/2024-03")


def test_what_stands_in_its_source_is_taken(
    noted: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted("We buy Osprey for 300 euros [1]. Bela lost his hat [2].") as server:
        use(monkeypatch, server)
        made = _month(noted, model="a")
        assert (made.metadata["by"], made.metadata["why"]) == ("a", "")
        assert "- We buy Osprey for 300 euros. [deal@1]" in made.content
        assert "\n Decided with Ada" in server.requests[0]["messages"][1]["content"]
        assert _month(noted, model="a").version == 1
        assert len(server.requests) == 1


def test_what_does_not_is_dropped_or_nothing_is_taken(
    noted: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = "We buy Osprey for 300 euros [1]. Bela lost 17 dogs [2]."
    with scripted("We buy Osprey for 900 euros [1]. Bela found it.", half) as server:
        use(monkeypatch, server)
        made = _month(noted, model="a")
        assert made.metadata["by"] == "extractive"
        assert made.metadata["why"].startswith("none of its 2 sentences is supported")
        assert "300 euros" in made.content
        noted.remember("late", "It rained.", valid_from="2024-03-06")
        made = _month(noted, model="a")
        assert (made.metadata["by"], made.metadata["why"]) == ("a", "1 dropped")
        assert "dogs" not in made.content


def test_a_model_that_is_not_there_makes_nobody_fail(
    noted: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "http://127.0.0.1:9/v1")
    made = _month(noted, model="a")
    assert made.metadata["by"] == "extractive"
    assert made.metadata["why"]
    with pytest.raises(hades.InvalidInput, match="No model is called"):
        noted.consolidate(model="nobody")


def test_a_dry_run_says_what_it_would_cost(
    noted: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted("Nothing.") as server:
        use(monkeypatch, server, input_price=1.0, output_price=2.0)
        told = noted.consolidate(level="monthly", at_least=1, model="a", dry_run=True)
        assert server.requests == []
    assert told.usage is not None
    assert told.usage.prompt_tokens > 20
    assert told.usage.completion_tokens == 320
    assert told.usage.cost


def test_a_real_weak_model_is_checked(noted: hades.Memory, chat_server: str) -> None:
    made = _month(noted, model="default")
    assert made.metadata["by"] in ("extractive", "smol")
    assert "Osprey" in made.content or made.metadata["by"] == "smol"
