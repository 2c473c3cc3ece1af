"""Edges, entities, questions, the graph and proposals over HTTP, at a story everybody knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from making import T1, T2, remember_story
from rest_making import ADMIN, WRITER, Asker, S, asking

import hades

BEFORE = "2024-02-01"


@pytest.fixture
def ask(path: Path, clock: Any) -> Iterator[Asker]:
    clock.set("2024-06-01")
    with hades.open(path, clock=clock) as memory:
        remember_story(memory)
    with asking(path, clock=clock) as asker:
        yield asker


def _relations(ask: Asker, query: str) -> list[str]:
    return [edge["relation"] for edge in ask.get(f"{S}/edges?{query}").json()["items"]]


def test_edges_hold_for_a_time(ask: Asker) -> None:
    assert _relations(ask, "name=design/approach_x") == ["viable_after_fix"]
    assert _relations(ask, f"name=design/approach_x&as_of={BEFORE}") == ["rejected_because"]
    assert _relations(ask, "known_at=2024-01-01&all=true") == []
    assert set(_relations(ask, "all=true")) == {"rejected_because", "viable_after_fix"}
    assert _relations(ask, "name=bugs/bug_y&direction=out") == []
    believed = ask.get(f"{S}/edges/1").json()["items"]
    assert [edge["superseded_by"] for edge in believed] == [None, 2]
    turn = ask.get(f"{S}/when-changed/design/approach_x?before=rejected_because").json()
    assert turn["at"].startswith(T2)
    assert ask.get(f"{S}/edges/77").status_code == 404


def test_edges_come_in_pages(ask: Asker) -> None:
    for number in range(5):
        ask.post(f"{S}/edges", {"source": "a", "relation": "r", "target": f"t{number}"})
    page = ask.get(f"{S}/edges?relation=r&limit=2").json()
    seen = [edge["target"]["name"] for edge in page["items"]]
    ask.post(f"{S}/edges/end", {"source": page["items"][1]["id"]})
    ask.post(f"{S}/edges", {"source": "a", "relation": "r", "target": "t5"})
    while page["next"]:
        page = ask.get(f"{S}/edges?relation=r&limit=2&cursor={page['next']}").json()
        seen += [edge["target"]["name"] for edge in page["items"]]
    assert seen == ["t0", "t1", "t2", "t3", "t4", "t5"]


def test_facts_are_told_ended_and_changed(ask: Asker) -> None:
    told = ask.post(f"{S}/edges", {"source": "ann", "relation": "lives_in", "target": "Rome"})
    assert told.json()["target"] == {"kind": "entity", "name": "Rome"}
    changed = ask.post(
        f"{S}/edges/change",
        {"source": "ann", "relation": "lives_in", "to": "Oslo", "new_relation": "lives_in"},
    ).json()
    assert [edge["target"]["name"] for edge in changed["opened"]] == ["Oslo"]
    ended = ask.post(f"{S}/edges/end", {"source": "ann", "relation": "lives_in"}).json()
    assert ended["items"][0]["valid_to"] is not None
    assert ask.post(f"{S}/edges/end", {}).status_code == 422
    assert ask.post(f"{S}/edges/end", {"source": "a"}).status_code == 422
    assert ask.post(f"{S}/edges/end", {"source": 99}).status_code == 404
    missing = ask.post(f"{S}/edges/change", {"source": "ann", "relation": "nothing"})
    assert missing.status_code == 404


def test_an_inverse_relation_takes_over(ask: Asker) -> None:
    assert ask.put(f"{S}/inverses/works%2Fat", {"inverse": "left"}).json() == {"works/at": "left"}
    assert ask.get(f"{S}/inverses").json()["works/at"] == "left"


def test_entities_have_names_aliases_and_kinds(ask: Asker) -> None:
    for name in ("Tim Burton", "T. Burton", "Zoe"):
        ask.post(f"{S}/edges", {"source": name, "relation": "likes", "target": "film"})
    ask.post(f"{S}/entities/alias", {"name": "Tim Burton", "alias": "TB"})
    ask.post(f"{S}/entities/merge", {"keep": "Tim Burton", "others": ["T. Burton"]})
    found = ask.get(f"{S}/entities?glob=Tim*").json()["items"]
    assert [(one["name"], one["aliases"], one["merged"]) for one in found] == [
        ("Tim Burton", ["TB"], ["T. Burton"])
    ]
    assert ask.get(f"{S}/entity/TB").json()["name"] == "Tim Burton"
    assert ask.get(f"{S}/entity/alias").status_code == 404
    ask.post(f"{S}/entities/split", {"name": "T. Burton"})
    names, cursor = [], ""
    while cursor is not None:
        page = ask.get(f"{S}/entities?limit=1{cursor and '&cursor=' + cursor}").json()
        names += [one["name"] for one in page["items"]]
        cursor = page["next"]
    assert names == sorted(names)
    assert {"Tim Burton", "T. Burton", "Zoe", "film"} <= set(names)
    assert ask.post(f"{S}/entities/split", {"name": "nobody"}).status_code == 404
    assert ask.post(f"{S}/entities/merge", {"keep": "Zoe", "others": []}).status_code == 422


def test_names_are_found_where_they_are_mentioned(ask: Asker) -> None:
    found = ask.get(f"{S}/mentions/Bug%20Y").json()["items"]
    assert {one["chunk"]["topic"] for one in found} >= {"bugs/bug_y", "refactoring/q1"}
    assert ask.get(f"{S}/about/Bug%20Y?limit=3").status_code == 200
    assert ask.get(f"{S}/mentions/Nobody").status_code == 404


@pytest.mark.parametrize("call", ["search", "rank"])
def test_a_question_finds_passages_as_of_a_time(ask: Asker, call: str) -> None:
    question = {"question": "Is approach X viable?", "limit": 3}
    now = ask.post(f"{S}/{call}", question).json()["items"]
    assert "viable" in now[0]["chunk"]["text"]
    then = ask.post(f"{S}/{call}", {**question, "as_of": BEFORE}).json()["items"]
    assert all("viable" not in hit["chunk"]["text"] for hit in then)
    unknown = ask.post(f"{S}/{call}", {**question, "known_at": T1}).json()["items"]
    assert unknown == []


def test_a_question_is_answered_with_passages_and_paths(ask: Asker) -> None:
    recall = ask.post(f"{S}/recall", {"question": "Why was approach X rejected?", "as_of": BEFORE})
    assert "rejected due to Bug Y" in recall.json()["context"]
    assert recall.json()["valid"].startswith(BEFORE)
    answer = ask.post(f"{S}/ask", {"question": "Is approach X viable?", "budget": 500}).json()
    assert "viable" in answer["sentences"][0]["text"]
    said = [f"{one['text']} {one['label']}" for one in answer["sentences"]]
    assert answer["text"].splitlines() == said
    cites = {cited["label"]: cited["cite"] for cited in answer["citations"]}
    assert set(cites) == {one["label"] for one in answer["sentences"]}
    assert cites["[F1]"] == "edge 2"
    assert answer["is_doubtful"] is False
    assert 0 < answer["probability"] <= 1
    whole = ask.post(
        f"{S}/ask", {"question": "Is approach X viable?", "budget": 500, "whole": True}
    ).json()
    assert whole.keys() - answer.keys() == {"recall"}
    unknown = ask.post(f"{S}/ask", {"question": "Is approach Z viable?"}).json()
    assert unknown["unsaid"] == ["approach Z"]
    planned = ask.post(f"{S}/recall", {"question": "x", "plan": {"graph": {"hops": 99}}}).json()
    assert any(note["reason"] == "clamped" for note in planned["reasons"])


def test_what_was_just_written_is_found(ask: Asker) -> None:
    ask.put(f"{S}/states/zebra", {"content": "Zebras have stripes."})
    found = ask.post(f"{S}/search", {"question": "stripes"}).json()["items"]
    assert found[0]["chunk"]["topic"] == "zebra"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": "  "},
        {"question": "x", "limit": 0},
        {"question": "x", "limit": 10**6},
        {"question": "x", "limit": True},
        {"question": "x", "retriever": "window"},
        {"question": "x", "kind": "novel"},
        {"question": "x", "as_of": "once upon a time"},
        {"question": "x" * 100_001},
    ],
)
def test_a_bad_question_is_refused(ask: Asker, body: dict[str, object]) -> None:
    refused = ask.post(f"{S}/search", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "InvalidInput")


@pytest.mark.parametrize(
    "plan", [{"nonsense": 1}, {"graph": {"hops": "far"}}, {"\ud800": 1}, {"graph": {"\ud800": 1}}]
)
def test_a_bad_plan_is_refused(ask: Asker, plan: dict[str, object]) -> None:
    body = json.dumps({"question": "x", "plan": plan}).encode()
    headers = {"content-type": "application/json"}
    refused = ask("POST", f"{S}/recall", content=body, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "InvalidInput")


def test_the_graph_is_explored(ask: Asker) -> None:
    paths = ask.get(f"{S}/paths?source=design/approach_x&target=refactoring/q1").json()["items"]
    assert paths[0]["steps"][-1]["target"]["name"] == "refactoring/q1"
    near = ask.get(f"{S}/neighbours/design/approach_x").json()["items"]
    assert "refactoring/q1" in {one["node"]["name"] for one in near}
    chosen = "relation=viable_after_fix&relation=fixed_by&direction=out&least_weight=0.5"
    near = ask.get(f"{S}/neighbours/design/approach_x?{chosen}").json()["items"]
    assert [one["path"]["steps"][0]["relation"] for one in near] == ["viable_after_fix"]
    assert ask.get(f"{S}/neighbours/design/approach_x?direction=up").status_code == 422
    drawn = ask.get(f"{S}/subgraph?names=design/approach_x&{chosen}").json()
    assert [edge["relation"] for edge in drawn["edges"]] == ["viable_after_fix"]
    drawn = ask.get(f"{S}/subgraph?names=design/approach_x&names=lunch&hops=1").json()
    assert {"design/approach_x", "lunch"} <= {node["name"] for node in drawn["nodes"]}
    mind = ask.get(f"{S}/working-memory/design/approach_x?budget=300").json()
    assert mind["items"][0]["why"] == "latest"
    then = ask.get(f"{S}/neighbours/design/approach_x?as_of={BEFORE}").json()["items"]
    assert "refactoring/q1" not in {one["node"]["name"] for one in then}
    assert ask.get(f"{S}/subgraph").json()["nodes"]
    assert ask.get(f"{S}/paths?source=lunch&target=nowhere").status_code == 404


@pytest.mark.parametrize("format", ["node-link", "graphml"])
def test_the_graph_leaves_as_of_a_time(ask: Asker, format: str) -> None:
    sent = ask.get(f"{S}/export?format={format}&as_of={BEFORE}")
    assert sent.status_code == 200
    assert "rejected due to Bug Y" in sent.text
    assert "viable after the fix" not in sent.text
    if format == "node-link":
        assert sent.json()["nodes"]


def test_an_export_in_no_format_is_refused(ask: Asker) -> None:
    assert ask.get(f"{S}/export?format=arango").status_code == 422


def test_what_nobody_is_sure_of_waits_for_an_admin(ask: Asker) -> None:
    wish = {"name": "ann", "relation": "knows", "target": "bob", "confidence": 0.3}
    before = ask.get(f"{S}/proposals").json()["items"]
    waits = ask.post(f"{S}/proposals", wish, caller=WRITER).json()
    assert waits["status"] == "waiting"
    assert _relations(ask, "relation=knows") == []
    listed = ask.get(f"{S}/proposals").json()["items"]
    assert listed == [*before, waits]
    approve = f"{S}/proposals/{waits['id']}/approve"
    assert ask.post(approve, caller=ADMIN).json()["status"] == "applied"
    assert _relations(ask, "relation=knows") == ["knows"]
    assert ask.post(approve, caller=ADMIN).status_code == 409
    sure = ask.post(f"{S}/proposals", {**wish, "target": "cy", "confidence": 0.9}).json()
    assert sure["status"] == "applied"
    other = ask.post(f"{S}/proposals", {**wish, "target": "dee"}).json()
    told = ask.post(f"{S}/proposals/{other['id']}/reject", {"why": "no"}).json()
    assert (told["status"], told["why"]) == ("rejected", "no")
    assert ask.post(f"{S}/proposals/999/approve").status_code == 404


def test_a_space_tells_how_it_stands(ask: Asker) -> None:
    assert ask.get(f"{S}/stats").json()["topics"] == 4
    assert ask.get(f"{S}/log?limit=2").json()["items"][0]["action"]
    before = ask.get(f"{S}/change").json()["value"]
    ask.put(f"{S}/states/x", {"content": "x"})
    assert ask.get(f"{S}/change").json()["value"] > before
    assert ask.get(f"{S}/time?when=yesterday").json() == {"time": "2024-05-31T00:00:00Z"}


def test_spaces_are_apart(ask: Asker) -> None:
    assert ask.post("/v1/spaces", {"name": "a/b"}).status_code == 201
    assert ask.post("/v1/spaces", {"name": "a/b"}).status_code == 409
    assert ask.put("/v1/spaces/a%2Fb/states/x", {"content": "there"}).status_code == 201
    assert ask.get(f"{S}/states/x").status_code == 404
    assert ask.get("/v1/spaces/a%2Fb/states/x").json()["content"] == "there"
    assert ask.get("/v1/spaces/nowhere/topics").status_code == 404
    left = ask.delete("/v1/spaces/a%2Fb").json()["items"]
    assert [space["name"] for space in left] == ["default"]
    assert ask.get("/v1/spaces/a%2Fb/topics").status_code == 404
    assert ask.delete("/v1/spaces/a%2Fb").status_code == 404


def test_the_default_space_stays(ask: Asker) -> None:
    assert ask.delete("/v1/spaces/default").status_code == 422
    assert ask.get(f"{S}/stats").status_code == 200


def test_a_topic_is_promoted_and_a_space_looked_after(ask: Asker) -> None:
    body = {"reason": "The refactoring is merged."}
    done = ask.post(f"{S}/promote/design/approach_x", body).json()
    assert (done["changed"], done["by"], done["state"]["version"]) == (True, "extractive", 3)
    assert not ask.post(f"{S}/promote/design/approach_x", body).json()["changed"]
    assert ask.post(f"{S}/promote/nothing", body).status_code == 404
    assert ask.post(f"{S}/promote/design/approach_x", {}).status_code == 422
    found = ask.get(f"{S}/suggestions?topic=refactoring/q1").json()["items"]
    assert found[0]["other"] == "bugs/bug_y"
    assert ask.get(f"{S}/quality").json()["topics"] == 4
