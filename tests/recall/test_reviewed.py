"""What reviewers found in recall, its indexes and ingestion; each kept as it was shown."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import hades


def test_text_of_an_undone_batch_never_comes_back(memory: hades.Memory, tmp_path: Path) -> None:
    note = tmp_path / "n.md"
    note.write_text("The cat sleeps in the kitchen all day long.\n")
    with suppress(RuntimeError), memory.batch():
        memory.ingest(note)
        raise RuntimeError("undone")
    note.write_text("Dogs run in the garden every morning.\n")
    memory.ingest(note)
    (hit,) = memory.search("who runs in the garden?")
    assert hit.chunk.text.startswith("Dogs run")
    assert hit.retrievers["meaning"] > 0.3


def test_purging_a_merged_entity_leaves_other_handles_right(path: Path) -> None:
    with hades.open(path) as memory, hades.open(path) as other:
        memory.remember("n", "# Note\n\nZed met Yps in Paris.")
        memory.relate("Zed", "knows", "Hub")
        memory.relate("Yps", "knows", "Hub")
        memory.merge("Zed", "Yps")
        other.recall("Zed")
        memory.purge("Yps")
        memory.relate("Paris", "in", "France")
        expected = [one.node.name for one in memory.neighbours("Zed")]
        assert [one.node.name for one in other.neighbours("Zed")] == expected


def test_an_alias_of_today_was_not_known_then(memory: hades.Memory) -> None:
    memory.remember("a", "# Note\n\nWe met Mister Zeb there.")
    memory.relate("Mister Zeb", "is", "person")
    memory.search("Zeb")
    then = memory.log()[0].at
    memory.add_alias("Mister Zeb", "Zebulon")
    assert memory.search("Zebulon", retriever="names")
    assert not memory.at(known=then).search("Zebulon", retriever="names")


def test_what_was_related_later_joins_nothing_in_what_was_known(memory: hades.Memory) -> None:
    memory.remember("a", "We saw a blue whale in the north.")
    memory.remember("b", "A blue whale eats krill.")
    memory.search("whale")
    then = memory.log()[0].at
    memory.relate("blue whale", "is", "animal")
    memory.remember("c", "Something else.")  # new names are looked for in old texts, too
    assert memory.paths("a", "b")
    assert not memory.at(known=then).paths("a", "b")


def test_a_topic_true_since_the_first_day(memory: hades.Memory) -> None:
    memory.remember("a", "The sky is blue.", valid_from="0001-01-01")
    memory.remember("a", "The sky is blue because of scattering.")
    assert memory.recall("why is the sky blue?").passages


def test_a_plan_leaves_todays_text_in_todays_graph(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "What holds today.", valid_from="2022")
        memory.relate("a", "needs", "b", valid_from="2022")
        memory.remember("a", "What is planned.", valid_from="2999")
        memory.search("today")
    with hades.open(path) as memory:
        assert "a@1#0" in [one.node.name for one in memory.neighbours("a")]


def test_evidence_of_one_long_word_is_cut(memory: hades.Memory) -> None:
    memory.remember("a", "# Mercury\n\nText.")
    memory.relate("a", "needs", "b", evidence="x" * 5_000)
    (path, *_) = memory.paths("a", "b")
    assert len(path.steps[-1].snippet) < 100


def test_facts_told_of_what_is_named_are_in_the_answer(memory: hades.Memory) -> None:
    memory.relate("Ann Lee", "works_at", "Acme", valid_from="2020")
    assert "Acme" in memory.recall("Where does Ann Lee work?").context
    memory.remember("people/ann", "Ann Lee works at Acme.", valid_from="2020")
    memory.change_fact("Ann Lee", "works_at", to="Globex", at="2022")
    assert "works_at]--> Globex" in memory.recall("Where does Ann Lee work?").context


def test_links_of_texts_are_called_by_their_name(memory: hades.Memory, tmp_path: Path) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "team.md").write_text("# Team\n\nWho we are.\n")
    (folder / "incident.md").write_text("# Incident\n\nSee [the team](team.md).\n")
    memory.ingest(folder)
    steps = [step for one in memory.paths("proj/incident.md", "proj/team.md") for step in one.steps]
    assert "refers_to" in {step.relation for step in steps}
    assert "same as" not in {step.relation for step in steps}


def test_two_files_with_one_record_id_do_not_overwrite_each_other(
    memory: hades.Memory, tmp_path: Path
) -> None:
    for name, text in (("x", "alpha"), ("y", "beta")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "a", "text": text}))
    first = memory.ingest(tmp_path, prefix="two")
    assert (first.added, len(first.skipped)) == (1, 1)
    again = memory.ingest(tmp_path, prefix="two")
    assert (again.added, again.changed, again.unchanged) == (0, 0, 1)


def test_a_path_that_is_not_there_does_not_stop_the_others(
    memory: hades.Memory, tmp_path: Path
) -> None:
    (tmp_path / "here.md").write_text("# Here\n\nText.\n")
    summary = memory.ingest(tmp_path / "here.md", tmp_path / "not_here.md")
    assert summary.added == 1
    assert "not_here.md" in summary.skipped[0][0]
