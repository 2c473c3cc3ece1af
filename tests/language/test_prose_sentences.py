"""Facts from prose against 309 sentences, labelled before anybody had seen the patterns, and 40
with prices and durations, labelled before there were patterns for them.

A line is a sentence and what a careful reader takes from it: `subject|relation|object`, with `!`
where it says that this no longer holds, or `-`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hades.language.english.prose_facts import facts_in

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("name", "found"), [("prose_sentences.txt", 0.4), ("number_sentences.txt", 0.9)]
)
def test_nine_of_ten_facts_are_right_and_so_many_are_found(name: str, found: float) -> None:
    told, right, labelled = 0, 0, 0
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        sentence, _, label = line.partition(" || ")
        wanted = [one.split("|") for one in label.split(" ; ") if one != "-"]
        labelled += len(wanted)
        for fact in facts_in(sentence):
            told += 1
            right += any(
                _ends(fact.subject, fact.object) == _ends(source, target)
                and (fact.negated or fact.valid_to is not None) == relation.endswith("!")
                for source, relation, target in wanted
            )
    assert right / told >= 0.9
    assert right / labelled >= found


def _ends(one: str, other: str) -> set[str]:
    """Two names in any order, as they are without an article or a title."""
    return {_bare(one), _bare(other)}


def _bare(name: str) -> str:
    words = name.strip(" .").casefold().split()
    return " ".join(words[1:] if words[0] in ("the", "a", "an", "our", "dr.", "ticket") else words)
