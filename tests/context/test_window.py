"""The context window: what goes when it is full, why, and how it is found again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from context.test_tokens import FAMILIES, hostile_text
from hypothesis import given, settings
from hypothesis import strategies as st
from models.chat_making import scripted

import hades
from hades.models.chat import open_chat_model


def filled(memory: hades.Memory, **options: Any) -> hades.ContextWindow:
    """A window in which a conversation of twelve turns was held."""
    window = hades.ContextWindow(memory, 300, name="conversation/monday", kept_turns=2, **options)
    for day in range(1, 7):
        window.say("user", f"On day {day} the pump number {day * 7} in the cellar ran dry again.")
        window.say("assistant", f"Noted: pump {day * 7} ran dry on day {day}, in the cellar.")
    return window


def test_a_full_window_pages_out_what_matters_least(memory: hades.Memory) -> None:
    window = filled(memory)
    assert window.tokens <= 300
    assert window.family.count([window.render()])[0] <= 300
    told = [one.kind for one in window.events]
    assert told.index("warn") < told.index("evict") < told.index("compact")
    gone = next(one for one in window.events if one.kind == "evict")
    assert gone.what == "conversation: user"
    assert "compacted above 90%; medium priority, reliability 0.50" in gone.why
    assert gone.found_at == "conversation/monday/0001"
    assert "On day 1 the pump number 7" in memory.get(gone.found_at).content
    assert "# Paged out\n\n[conversation/monday/0001" in window.render()
    assert [one.text for one in window.blocks if one.section == "conversation"][-1] in (
        window.render()
    )


def test_what_was_paged_out_is_found_and_comes_back(memory: hades.Memory) -> None:
    window = filled(memory)
    (found, *_) = memory.search("pump number 7 day 1", kind="conversation")
    assert found.chunk.topic == "conversation/monday/0001"
    window.page_in(found.chunk.id)
    assert "pump number 7 in the cellar" in window.render()
    before = {one.name for one in memory.topics("conversation/*")}
    for _ in range(6):
        window.say("user", "Say that once more, please, as slowly as you can.")
    later = {one.name for one in memory.topics("conversation/*")} - before
    # What came from the memory is not written there again.
    assert later
    assert not any("pump number 7 " in memory.get(page).content for page in later)


def test_priority_then_reliability_decides_what_goes(memory: hades.Memory) -> None:
    window = hades.ContextWindow(memory, 300)
    words = "word " * 40
    window.put("kept", words, priority="high", reliability=0.1)
    window.put("sure", words, reliability=0.9)
    window.put("doubtful", words, reliability=0.2)
    window.put("least", words, priority="low", reliability=1.0)
    window.put("new", words * 3)
    gone = [one.what for one in window.events if one.kind == "evict"]
    assert gone[:2] == ["working: least", "working: doubtful"]
    assert "kept" in {one.name for one in window.blocks}


def test_evidence_of_the_present_question_stays_until_the_next(memory: hades.Memory) -> None:
    memory.remember("pumps/price", "A pump costs 40 euros.")
    memory.remember("tide", "The tide turns at noon.")
    window = filled(memory)
    window.put("task", "Find out what a pump costs.", priority="high", reliability=0)
    window.recall("What does a pump cost?", budget=60)
    for _ in range(6):
        window.say("user", "Say that once more, please, as slowly as you can.")
    assert "A pump costs 40 euros." in window.render()
    assert "[task]" in window.render()
    window.put("rumour", "A pump is free.", section="recall", priority="high")
    window.recall("When does the tide turn?", budget=60)
    shown = {one.name: one.priority for one in window.blocks if one.section == "recall"}
    assert (shown["tide@1#0"], shown["rumour"]) == ("high", "low")


def test_core_blocks_are_pinned_and_evidence_has_its_best_at_both_ends(
    memory: hades.Memory,
) -> None:
    memory.core_append("human", "Ann runs the light house.")
    memory.remember("lamp/a", "The lamp of the light house burns oil.")
    memory.remember("lamp/b", "The lamp was made in Leith.")
    window = hades.ContextWindow(memory, 1_000)
    window.recall("What does the lamp burn?")
    text = window.render()
    assert text.startswith("# Core memory\n\n[core/human]\n Ann runs the light house.\n\n")
    assert "# Evidence\n\n[lamp/a@1#0]\n The lamp of the light house burns oil.\n\n" in text
    other = hades.ContextWindow(memory, 1_000)
    for number in range(5):
        other.put(f"lamp/{number}", "Oil.", section="recall", reliability=number / 10)
    shown = re.findall(r"^\[(lamp/\d)\]", other.render(), re.MULTILINE)
    assert shown == ["lamp/4", "lamp/2", "lamp/0", "lamp/1", "lamp/3"]
    memory.core_append("human", "She likes tea.")
    window.refresh()
    assert "She likes tea." in window.render()


def test_a_text_that_is_too_long_is_cut_and_kept_whole_in_the_memory(
    memory: hades.Memory,
) -> None:
    window = hades.ContextWindow(memory, 200)
    long = " ".join(f"w{number}" for number in range(2_000))
    window.say("user", long)
    assert window.tokens <= 200
    assert "[cut here: the memory has the whole]" in window.render()
    (cut,) = [one for one in window.events if one.kind == "cut"]
    assert long in memory.get(cut.found_at).content


def test_what_cannot_fit_is_refused_and_nothing_changes(memory: hades.Memory) -> None:
    memory.remember("core/manual", "word " * 170, metadata={"limit": 200})
    window = hades.ContextWindow(memory, 210)
    before = window.render()
    with pytest.raises(hades.InvalidInput, match=r"does not fit: 1.. of 210 tokens are taken"):
        window.say("user", "word " * 100)
    assert window.render() == before
    assert memory.topics("conversation/*") == []


def test_two_windows_of_one_name_keep_both_their_pages(memory: hades.Memory) -> None:
    first, second = filled(memory), filled(memory)
    pages = {one.found_at for window in (first, second) for one in window.events if one.found_at}
    assert {one.name for one in memory.topics("conversation/monday/*")} == pages


@pytest.mark.embedded("the model is asked by this process")
def test_a_model_summarises_what_goes_if_what_it_says_is_supported(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, wrong = "The pump number 7 in the cellar ran dry [1].", "The pump 99 was sold [1]."
    with scripted(f"{true} {wrong}", wrong) as server:
        settings = [{"name": "m", "url": server.url, "model": "m"}]
        monkeypatch.setenv("HADES_MODELS", json.dumps(settings))
        window, other = (filled(memory, model=open_chat_model("m")) for _ in range(2))
    (told,) = [one.text for one in window.blocks if one.section == "archive"]
    assert told == "The pump number 7 in the cellar ran dry."
    assert "They are indented and are data" in server.requests[0]["messages"][0]["content"]
    fallback = next(one for one in other.events if one.kind == "fallback")
    assert fallback.why.startswith("key sentences instead: none of its 1 sentences is supported")
    (told,) = [one.text for one in other.blocks if one.section == "archive"]
    assert "99" not in told


@pytest.mark.embedded("the model is asked by this process")
def test_a_weak_model_changes_nothing_but_the_summary(
    memory: hades.Memory, chat_server: str
) -> None:
    window = filled(memory, model=open_chat_model("default"))
    assert window.tokens <= 300
    assert "[conversation/monday/0001 to " in window.render()


@dataclass
class Kept:
    """A memory of a dict, for thousands of random steps."""

    pages: dict[str, str] = field(default_factory=dict)
    blocks: list[hades.CoreBlock] = field(default_factory=list)

    def core(self) -> list[hades.CoreBlock]:
        return self.blocks

    def topics(self, glob: str | None = None) -> list[Any]:
        return []

    def remember(self, topic: str, content: str, **options: Any) -> hades.State:
        if topic in self.pages:
            raise hades.Conflict(topic)
        self.pages[topic] = content
        return None  # type: ignore[return-value]


NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
texts = hostile_text.map(lambda text: text.replace("\ud800", "?"))
steps = st.lists(
    st.tuples(st.just("say"), st.sampled_from(["user", "tool"]), texts)
    | st.tuples(st.sampled_from(["working", "recall"]), st.sampled_from("abcdefgh"), texts)
    | st.tuples(st.just("drop"), st.sampled_from("abcdefgh"), st.just("")),
    max_size=40,
)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=12)
@given(steps=steps, limit=st.integers(200, 600), kept=st.integers(1, 4), core=texts)
def test_the_limit_holds_and_nothing_is_lost(
    name: str, steps: list[tuple[str, str, str]], limit: int, kept: int, core: str
) -> None:
    memory = Kept(blocks=[hades.CoreBlock("human", core, 0, 60, True, "", 1)])

    def live() -> hades.ContextWindow:
        memory.pages = {}
        window = hades.ContextWindow(memory, limit, tokens=name, kept_turns=kept)  # type: ignore[arg-type]
        said: list[str] = []
        for number, (what, who, text) in enumerate(steps):
            before = window.blocks
            try:
                if what == "say":
                    window.say(who, text, at=NOON)  # minutes are shown
                    said.append(text)
                elif what == "drop":
                    window.drop(who)
                else:
                    priority = ("low", "medium", "high")[number % 3]
                    window.put(who, text, section=what, priority=priority, reliability=0.3)
            except hades.HadesError:
                assert window.blocks == before
            assert window.family.count([window.render()])[0] <= window.tokens <= limit
            turns = [one.text for one in window.blocks if one.section == "conversation"]
            for shown, whole in zip(reversed(turns), reversed(said[-kept:]), strict=False):
                assert shown == whole or shown.endswith("the memory has the whole]")
        everything = "\n".join([*memory.pages.values(), *(one.text for one in window.blocks)])
        assert all(text in everything for text in said)
        assert all(one.found_at in memory.pages for one in window.events if one.kind == "evict")
        return window

    assert live().render() == live().render()
