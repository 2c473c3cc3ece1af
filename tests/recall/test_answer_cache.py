"""Kept answers: the same as new ones, bounded, and gone when something was written or purged."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from debian import program
from hypothesis import given, settings
from hypothesis import strategies as st
from making import UNHURRIED

import hades
from hades.recall import answer_cache
from tests.conftest import HeldClock

QUESTION = "Who runs the billing service?"


@pytest.fixture
def billing(path: Path, clock: HeldClock) -> Iterator[hades.Memory]:
    with hades.open(path, clock=clock, actor="ann") as memory:
        memory.remember("billing", "The billing service is run by Mira.")
        memory.remember("shop", "The shop is run by Tom.")
        yield memory


def _uses(memory: hades.Memory) -> dict[str, int]:
    return dict(memory.inside.engine.answers.uses)


def _same(found: hades.Recall) -> hades.Recall:
    """An answer without what it cost."""
    speed = replace(found.conveyance, value=0)
    return replace(found, ms=0, telemetry=(), conveyance=speed)


def test_the_same_question_is_answered_once(billing: hades.Memory) -> None:
    first = billing.recall(QUESTION, plan=UNHURRIED)
    again = billing.recall(QUESTION, plan=UNHURRIED)
    assert _uses(billing) == {"kept": 1, "shared": 0, "made": 1}
    assert _same(again) == _same(first)
    assert [stage.stage for stage in again.telemetry] == ["cache"]
    assert "The billing service is run by Mira. [1]" in str(billing.ask(QUESTION))


def test_whatever_is_asked_otherwise_is_another_question(billing: hades.Memory) -> None:
    billing.create_space("other")
    billing.recall(QUESTION)
    billing.recall(QUESTION, budget=200)
    billing.recall(QUESTION, mode="planning")
    billing.recall(QUESTION, glob="shop*")
    billing.recall(QUESTION, plan={"final_context": 1})
    billing.at("2024-01-01").recall(QUESTION)
    billing.in_space("other").recall(QUESTION)
    assert _uses(billing)["kept"] == 0


def test_a_write_makes_every_answer_new(billing: hades.Memory) -> None:
    billing.recall(QUESTION)
    billing.remember("billing", "The billing service is run by Noor.")
    assert "Noor" in billing.recall(QUESTION).context
    billing.purge("billing")
    assert "Noor" not in billing.recall(QUESTION).context
    assert b"Noor" not in b"".join(text for _, text in billing.inside.engine.answers.kept.items())


def test_an_answer_is_not_kept_if_something_was_written_meanwhile(billing: hades.Memory) -> None:
    answers, made = billing.inside.engine.answers, billing.recall(QUESTION)

    def make() -> hades.Recall:
        billing.remember("billing", "The billing service is run by Noor.")
        return made

    before = answers.kept.items()
    answers.answer(("asked",), make, ready=lambda: None, holds_until=lambda since: since + 10**12)
    assert answers.kept.items() == before


def test_time_ends_an_answer(billing: hades.Memory, clock: HeldClock) -> None:
    """What was planned comes true, and a time in words moves on, without any write."""
    billing.remember("billing", "The billing service is run by Ola.", valid_from="2024-01-02")
    assert "Mira" in str(billing.ask(QUESTION))
    assert "Mira" in str(billing.ask(QUESTION))
    clock.tick(2 * 86_400)
    assert "Ola" in str(billing.ask(QUESTION))
    billing.remember("billing", "It is run by Ola.", tags=["team"], valid_from="2024-01-05")
    billing.remember("billing", "It is run by Ola.", tags=["core"], valid_from="2024-01-06")
    clock.set("2024-01-05")
    assert billing.recall(QUESTION, tag="team").passages
    clock.set("2024-01-06")
    assert billing.recall(QUESTION, tag="team").passages == ()
    made = _uses(billing)["made"]
    billing.recall("What was noted yesterday?")
    billing.recall("What was noted yesterday?")
    assert _uses(billing)["made"] == made + 2


@pytest.mark.slow
def test_the_bound_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADES_ANSWER_CACHE_MB", "1")
    with hades.open(path) as memory:
        for number in range(20):
            memory.remember(f"note/{number}", "Words that are found. " * 60)
        for number in range(40):
            memory.recall(f"Which words are found {number}?", mode="brainstorming", budget=20_000)
            answers = memory.inside.engine.answers.kept
            assert answers.bytes == sum(len(text) for _, text in answers.items())
            assert answers.bytes <= 1 << 20
        assert 0 < len(answers.items()) < 40


def test_none_are_kept_where_the_setting_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADES_ANSWER_CACHE_MB", "0")
    with hades.open(path) as memory:
        memory.remember("note", "Words.")
        memory.recall("Which words?")
        memory.recall("Which words?")
        assert _uses(memory)["kept"] == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from("abc"), st.sampled_from(["red", "blue"])),
        st.tuples(st.just("plan"), st.sampled_from("abc"), st.sampled_from(["green", "white"])),
        st.tuples(st.just("forget"), st.sampled_from("abc"), st.just("")),
        st.tuples(st.just("wait"), st.just(""), st.just("")),
        st.tuples(st.just("ask"), st.sampled_from("abc"), st.just("")),
    ),
    max_size=12,
)


@given(STEPS)
@settings(max_examples=12)
def test_with_and_without_are_the_same(steps: list[tuple[str, str, str]]) -> None:
    import tempfile

    clock = HeldClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(f"{folder}/a.hades", clock=clock) as kept,
        hades.open(f"{folder}/b.hades", clock=clock) as plain,
    ):
        for memory in (kept, plain):
            memory.remember("a", "The colour of a is black.")
        plain.inside.engine.answers.kept.bound = 0
        for what, topic, colour in steps:
            clock.tick(3600)
            if what == "wait":
                clock.tick(86_400)
            for memory in (kept, plain):
                text = f"The colour of {topic} is {colour}."
                if what == "remember":
                    memory.remember(topic, text)
                elif what == "plan":
                    day = time.gmtime(clock.micros // 1_000_000 + 90_000)
                    memory.remember(topic, text, valid_from=time.strftime("%Y-%m-%d", day))
                elif what == "forget" and topic in {one.name for one in memory.topics()}:
                    memory.forget(topic)
            if what == "ask":
                asked: Any = {"plan": UNHURRIED}
                for _ in range(2):
                    question = f"What is the colour of {topic}?"
                    one, other = (_same(m.recall(question, **asked)) for m in (kept, plain))
                    assert one == other


# Redis


@pytest.fixture(scope="module")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Redis server of our own."""
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    server = program("redis-server", "redis-server")
    if server is None:
        pytest.skip("there is no redis-server and it cannot be installed: apt-get install it")
    socket = tmp_path_factory.mktemp("redis") / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    running = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL, cwd=socket.parent)
    for _ in range(200):
        if socket.exists():
            break
        time.sleep(0.05)
    yield f"unix://{socket}"
    running.terminate()
    running.wait(10)


@pytest.fixture
def shared(redis_socket: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """That Redis, named by the settings, and empty."""
    import redis

    monkeypatch.setenv("HADES_REDIS_URL", redis_socket)
    client = redis.Redis.from_url(redis_socket)
    client.flushall()
    yield client
    client.close()


def test_processes_share_answers(shared: Any, path: Path, clock: HeldClock) -> None:
    with hades.open(path, clock=clock) as one, hades.open(path, clock=clock) as other:
        one.remember("billing", "The billing service is run by Mira.")
        first = one.recall(QUESTION)
        found = other.recall(QUESTION)
        assert _uses(other) == {"kept": 0, "shared": 1, "made": 0}
        assert _same(found) == _same(first)
        assert all(shared.ttl(key) > 0 for key in shared.scan_iter())
        one.purge("billing")
        assert shared.keys() == []


def test_what_comes_from_redis_is_not_believed(shared: Any, path: Path, clock: HeldClock) -> None:
    with hades.open(path, clock=clock) as memory:
        memory.remember("billing", "The billing service is run by Mira.")
        memory.recall(QUESTION)
        [key] = shared.keys()
        good = shared.get(key)
        generation = memory.inside.store.meta("generation") or ""
        forged = blake2b(key + b"\0" + good[32:], key=generation.encode(), digest_size=32)
        by_hand = forged.digest() + good[32:]  # by who reads what all roles of a database read
        bad_ones = (b"", b"x" * 10, good[:-1] + b"!", b"\0" * 32 + good[32:], b"y" * 5_000_000)
        for bad in (*bad_ones, by_hand):
            shared.set(key, bad)
            memory.inside.engine.answers.kept.clear()
            assert "Mira" in memory.recall(QUESTION).context
        assert _uses(memory)["shared"] == 0


def test_without_redis_everything_goes_on(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    monkeypatch.setenv("HADES_REDIS_URL", f"unix://{tmp_path}/none.sock")
    with hades.open(path) as memory, caplog.at_level(logging.WARNING):
        memory.remember("billing", "The billing service is run by Mira.")
        for question in (QUESTION, "Is it Mira?", "Who is it?"):
            assert "Mira" in memory.recall(question).context
        assert caplog.text.count("Redis does not answer") == 1
        memory.purge("billing")
        assert memory.inside.store.owed() == ["indexes"], "deleting there is tried again"


def test_a_redis_that_dies_is_tried_again(
    shared: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "TRIED_AGAIN_S", 0.0)
    with hades.open(path) as memory:
        memory.remember("billing", "The billing service is run by Mira.")
        memory.recall(QUESTION)
        held = memory.inside.engine.answers.shared
        assert held is not None
        shared.client_kill_filter(_type="normal", skipme=True)  # connections break in the middle
        assert "Mira" in memory.recall("Who is it?").context
        assert "Mira" in memory.recall("Is it Mira?").context
        assert len(shared.keys()) >= 2
