"""Resolution: names spelled nearly alike become one, names near in meaning are joined."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import hades
from hades.lifecycle import resolve as resolving

NOTES = {
    "a": "John Smith built the bridge at Oakham. John Smith was an engineer.",
    "b": "Jon Smith was born in Leeds.",
    "c": "Jean Smith and Joan Smith were painters. The automobile has wheels.",
    "d": "Reginald LeBorg met the Prime Minister of Canada and the Canadian Prime Minister.",
    "e": "Reginald Le Borg made films. The Prime Minister of Canada saw them.",
    "f": "The Canadian Prime Minister travels. Python 3.10 is not Python 3.11.",
}


def _noted(memory: hades.Memory, order: tuple[str, ...] = tuple(NOTES)) -> hades.Memory:
    for topic in order:
        memory.remember(topic, NOTES[topic])
        memory.search("anything")
    return memory


def test_spellings_are_merged_and_the_rest_is_left(memory: hades.Memory) -> None:
    found = _noted(memory).resolve()
    assert {(pair.keep, pair.other, pair.why) for pair in found.merged} == {
        ("John Smith", "Jon Smith", "a silent h"),
        ("Reginald Le Borg", "Reginald LeBorg", "written apart"),
    }
    assert all(0.5 < pair.score < 1 for pair in found.merged)
    assert {m.chunk.topic for m in memory.mentions("Jon Smith")} == {"a", "b"}
    (entity,) = memory.entities("John Smith")
    assert (entity.merged, entity.frequency) == (("Jon Smith",), 2)
    assert {"Jean Smith", "Joan Smith"} <= {e.name for e in memory.entities()}


def test_names_near_in_meaning_are_joined_not_merged(memory: hades.Memory) -> None:
    found = _noted(memory).resolve()
    (pair,) = found.similar
    assert (pair.keep, pair.other) == ("Canadian Prime Minister", "Prime Minister of Canada")
    (edge,) = memory.edges("Prime Minister of Canada", relation="similar_to")
    assert str(edge) == "Canadian Prime Minister --[similar_to]--> Prime Minister of Canada"
    assert edge.weight == edge.components["sim"] == pair.score
    assert 0.8 <= edge.weight <= 1
    assert len(memory.entities("*Prime Minister*")) == 2


def test_a_second_run_does_nothing(memory: hades.Memory) -> None:
    _noted(memory).resolve()
    change = memory.change
    again = memory.resolve()
    assert (again.merged, again.similar, again.ended, again.embedded) == ((), (), 0, 0)
    assert memory.change == change


def test_a_dry_run_writes_nothing_and_says_the_same(memory: hades.Memory) -> None:
    _noted(memory)
    change = memory.change
    would = memory.resolve(dry_run=True)
    assert memory.change == change
    assert would.dry_run
    assert would.embedded > 0
    assert memory.resolve().merged == would.merged


@pytest.mark.parametrize("order", list(itertools.permutations(NOTES))[::97])
def test_the_order_of_arrival_does_not_matter(
    memory: hades.Memory, tmp_path: Path, order: tuple[str, ...]
) -> None:
    expected = _noted(memory).resolve()
    with hades.open(tmp_path / "other.hades") as other:
        assert _noted(other, order).resolve() == expected
        assert [str(e) for e in other.edges()] == [str(e) for e in memory.edges()]


def test_what_was_split_is_not_merged_again(memory: hades.Memory) -> None:
    _noted(memory).resolve()
    assert memory.log(50)[-1].action == "remember"
    assert "resolve" in {change.action for change in memory.log(50)}
    memory.split("Jon Smith")
    assert {m.chunk.topic for m in memory.mentions("Jon Smith")} == {"b"}
    assert memory.resolve().merged == ()


def test_what_was_called_a_mistake_is_not_joined_again(memory: hades.Memory) -> None:
    _noted(memory).resolve()
    (edge,) = memory.edges(relation="similar_to")
    memory.unrelate(edge.id, mistake=True)
    assert memory.resolve().similar == ()
    assert memory.edges(relation="similar_to") == []


def test_an_edge_that_no_longer_follows_is_ended(memory: hades.Memory) -> None:
    _noted(memory).resolve()
    for topic in ("d", "f"):
        memory.forget(topic)
    assert memory.resolve().ended == 1
    assert memory.edges(relation="similar_to") == []
    _noted(memory, ("d", "f"))
    assert len(memory.resolve().similar) == 1


def test_two_titles_or_one_passage_speak_against_it(tmp_path: Path, memory: hades.Memory) -> None:
    rows = [
        {"id": "1", "title": "Philip Saville", "text": "A director."},
        {"id": "2", "title": "Philip Savile", "text": "Another."},
        {"id": "3", "title": "Lists", "text": "Joaquin Murrieta is not Joaquin Murrietta."},
    ]
    (tmp_path / "people.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    memory.ingest(tmp_path / "people.jsonl")
    found = memory.resolve()
    assert found.merged == ()
    assert {pair.why for pair in found.left} == {
        "a doubled letter, but both are titles",
        "a doubled letter, but one passage has both",
    }


def test_a_stopped_run_goes_on(memory: hades.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    _noted(memory)
    monkeypatch.setattr(resolving, "_BATCH_NAMES", 2)

    def stop(what: str, done: int, total: int) -> None:
        if what == "embedding names" and done == 2:
            raise KeyboardInterrupt

    wanted = memory.resolve(dry_run=True).embedded
    with pytest.raises(KeyboardInterrupt):
        memory.resolve(on_progress=stop)
    assert memory.resolve().embedded == wanted - 2
    assert len(memory.edges(relation="similar_to")) == 1


def test_symbols_of_code_are_never_merged(tmp_path: Path, memory: hades.Memory) -> None:
    (tmp_path / "tools.py").write_text(
        "def load_all_cache():\n    pass\n\n\ndef _load_all_cache():\n    pass\n"
    )
    memory.ingest(tmp_path / "tools.py")
    found = memory.resolve()
    assert (found.merged, found.left, found.similar) == ((), (), ())


def test_not_inside_a_batch(memory: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="not inside"), memory.batch():
        memory.resolve()


def test_the_command_says_what_it_does(path: Path) -> None:
    with hades.open(path) as memory:
        _noted(memory)
    run = [sys.executable, "-c", "from hades.cli import main; main()", "resolve", "--memory", path]
    said = subprocess.run([*run, "--dry-run"], capture_output=True, text=True, check=True).stdout
    assert "Jon Smith would be merged into John Smith" in said
    done = subprocess.run([*run, "--json"], capture_output=True, text=True, check=True).stdout
    assert {pair["other"] for pair in json.loads(done)["merged"]} == {
        "Jon Smith",
        "Reginald LeBorg",
    }
