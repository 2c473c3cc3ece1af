"""Entities: other names, merging, splitting."""

from __future__ import annotations

import pytest

import hades
from tests.conftest import HeldClock


def test_spelling_does_not_make_another_entity(memory: hades.Memory) -> None:
    memory.relate("Ann Lee", "knows", "Bob")
    memory.relate("ann  lee", "likes", "BOB")
    assert [e.name for e in memory.entities()] == ["Ann Lee", "Bob"]


def test_an_alias_finds_the_entity(memory: hades.Memory) -> None:
    memory.relate("multi-head attention", "part_of", "transformer", kind="method")
    memory.add_alias("multi-head attention", "MHA")
    assert len(memory.edges("mha")) == 1
    entity = memory.entities("multi*")[0]
    assert (entity.kind, entity.aliases, entity.edges) == ("method", ("MHA",), 1)
    with pytest.raises(hades.Conflict):
        memory.add_alias("multi-head attention", "transformer")


def test_merging_makes_two_one_and_splitting_undoes_it(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("Jon Smith", "knows", "Bob")
    memory.relate("John Smith", "likes", "Cyd")
    before = memory.edges()
    clock.set("2024-02-01")
    memory.merge("John Smith", "Jon Smith")
    assert [str(e) for e in memory.edges("Jon Smith")] == [
        "John Smith --[knows]--> Bob",
        "John Smith --[likes]--> Cyd",
    ]
    assert memory.entities("John*")[0].merged == ("Jon Smith",)
    assert memory.entities("John*")[0].edges == 2
    assert len(memory.at(known="2024-01-15").edges("Jon Smith")) == 1
    clock.set("2024-03-01")
    memory.split("Jon Smith")
    assert memory.edges() == before
    assert len(memory.edges("Jon Smith")) == 1
    assert len(memory.at(known="2024-02-15").edges("Jon Smith")) == 2


def test_merges_chain(memory: hades.Memory) -> None:
    for name in ("a", "b", "c"):
        memory.relate(name, "in", "world")
    memory.merge("b", "a")
    memory.merge("c", "b")
    assert len(memory.edges("a")) == len(memory.edges("c")) == 3
    with pytest.raises(hades.Conflict):
        memory.merge("a", "c")
    memory.split("b")
    assert len(memory.edges("a")) == 2
    assert len(memory.edges("c")) == 1


def test_facts_are_settled_across_a_merge(memory: hades.Memory) -> None:
    memory.relate("Jon", "works_at", "Acme", valid_from="2020")
    memory.relate("John", "knows", "Bob")
    memory.merge("John", "Jon")
    memory.relate("John", "works_at", "Globex", valid_from="2022", exclusive=True)
    assert [e.target.name for e in memory.edges("John", relation="works_at")] == ["Globex"]
    assert memory.relate("Jon", "works_at", "Globex", valid_from="2023").id == 3


def test_an_alias_can_be_split_off(memory: hades.Memory) -> None:
    memory.relate("Python", "is_a", "language")
    memory.add_alias("Python", "Monty")
    memory.split("Monty")
    assert [e.name for e in memory.entities()] == ["Monty", "Python", "language"]
    assert memory.edges("Monty") == []


def test_what_cannot_be_merged_or_split(memory: hades.Memory) -> None:
    memory.remember("notes/a", "text")
    memory.relate("Ann", "wrote", "notes/a")
    with pytest.raises(hades.InvalidInput, match="topic"):
        memory.merge("Ann", "notes/a")
    with pytest.raises(hades.NotFound):
        memory.merge("Ann", "Nobody")
    with pytest.raises(hades.NotFound, match="not merged"):
        memory.split("Ann")


@pytest.mark.embedded("a client has no snapshots")
def test_mentions_and_about_are_refused_alike_inside_a_snapshot(memory: hades.Memory) -> None:
    memory.relate("Ann Lee", "knows", "Bob Smith")
    memory.remember("a", "Ann Lee met Bob Smith.")
    for waiting in (1, 0):
        assert memory.pending == waiting
        for ask in (memory.mentions, memory.about, memory.at("now").mentions):
            with memory.snapshot(), pytest.raises(hades.InvalidInput, match="not inside"):
                ask("Ann Lee")
        memory.index()


def _kinds(memory: hades.Memory) -> dict[str, str]:
    return {entity.name: entity.kind for entity in memory.entities()}


def test_texts_tell_the_kinds_of_names_in_any_order(memory: hades.Memory) -> None:
    texts = {
        "a": "Yesterday I read about Zed Quill again.",
        "b": "Zed Quill is a Danish painter.",
        "c": "The boat belongs to Zed Quill.",
    }
    for space, order in (("one", "abc"), ("two", "cba"), ("three", "bca")):
        memory.create_space(space)
        inside = memory.in_space(space)
        for topic in order:
            inside.remember(topic, texts[topic])
            inside.search("Zed")
        assert _kinds(inside)["Zed Quill"] == "person"


def test_no_text_changes_a_kind_that_a_user_set(memory: hades.Memory) -> None:
    memory.remember("a", "Zed Quill is a Danish painter.")
    memory.search("Zed")
    memory.set_kind("Zed Quill", "concept")
    memory.remember("b", "The painter Zed Quill (born 1950) is a poet.")
    memory.remember("c", "We saw ZED QUILL in Oslo.")
    memory.search("Zed")
    assert memory.entity("Zed Quill").kind == "concept"


def test_a_relation_tells_the_kinds_of_its_ends(memory: hades.Memory) -> None:
    memory.relate("Zed Quill", "works_at", "Quillworks")
    memory.relate("Zed Quill", "born_in", "Quillby")
    memory.relate("Ora", "works_at", "Harbour", kind="robot")
    assert _kinds(memory) == {
        "Zed Quill": "person",
        "Quillworks": "organisation",
        "Quillby": "place",
        "Ora": "robot",
        "Harbour": "robot",
    }


def test_a_renamed_entity_keeps_its_facts_and_its_old_names(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("Initech", "is_in", "Austin")
    memory.set_kind("Initech", "organisation")
    memory.add_alias("Initech", "Initech Inc")
    clock.set("2024-02-01")
    renamed = memory.rename("Initech", "Initrode")
    assert (renamed.name, renamed.kind) == ("Initrode", "organisation")
    assert [str(edge.source) for edge in memory.edges("Initech Inc")] == ["Initrode"]
    assert memory.entity("Initech") == renamed
    assert memory.at(known="2024-01-15").entity("Initech").name == "Initech"
    assert memory.rename("Initrode", "Initech").name == "Initech"
    assert memory.rename("Initech", "INITECH").name == "INITECH"
    assert memory.rename("initech", "Initech Inc").name == "Initech Inc"
    assert memory.split("INITECH").name == "INITECH"


def test_a_name_is_unique_in_its_space(memory: hades.Memory) -> None:
    memory.relate("Ann", "knows", "Bob", kind="person")
    memory.relate("ann", "likes", "Bob", kind="method")
    assert [entity.name for entity in memory.entities()] == ["Ann", "Bob"]
    memory.remember("design/x", "Ann draws.")
    for taken in ("Bob", "design/x"):
        with pytest.raises(hades.Conflict):
            memory.rename("Ann", taken)


def test_purging_a_merged_name_purges_that_one(memory: hades.Memory) -> None:
    memory.relate("Jon Smith", "wrote", "p7")
    memory.relate("John Smith", "wrote", "p8")
    memory.merge("John Smith", "Jon Smith")
    memory.purge("Jon Smith")
    assert [str(e) for e in memory.edges()] == ["John Smith --[wrote]--> p8"]
    assert [e.name for e in memory.entities()] == ["John Smith", "p8"]


def test_purging_by_an_alias_takes_the_text_along(memory: hades.Memory) -> None:
    memory.relate("Ann", "r", "B")
    memory.remember("Ann", "private")
    memory.add_alias("Ann", "Annie")
    memory.purge("Annie")
    assert memory.topics() == []


def test_names_that_only_look_alike_stay_apart(memory: hades.Memory) -> None:
    for names in (("C", "C++", "C#"), ("が", "か"), ("की", "का"), ("a+b", "a-c")):
        memory.create_space(names[0])
        space = memory.in_space(names[0])
        for name in names:
            space.relate(name, "is", "language")
        assert {e.name for e in space.entities()} == {*names, "language"}


def test_a_topic_spelled_otherwise_still_has_its_entitys_edges(memory: hades.Memory) -> None:
    memory.relate("Ann", "works_at", "Acme")
    memory.remember("ann", "a person")
    assert len(memory.edges("ann")) == 1


def test_forgetting_leaves_what_it_was_merged_with(memory: hades.Memory) -> None:
    memory.relate("Ann", "r", "x")
    memory.relate("Annette", "works_at", "Acme")
    memory.merge("Annette", "Ann")
    memory.remember("Ann", "text")
    memory.forget("Ann")
    assert [str(e) for e in memory.edges()] == ["Annette --[works_at]--> Acme"]
