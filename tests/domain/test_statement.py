"""A fact said in words, with its time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hades
from hades.domain.statement import statement


def day(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def edge(
    relation: str, begins: str, ends: str | None = None, recorded: str = "2025-12-01"
) -> hades.Edge:
    ends_at = hades.Node("topic", "server/db07"), hades.Node("entity", "rack 4")
    times = day(begins), day(ends), day(recorded)
    return hades.Edge(1, ends_at[0], relation, ends_at[1], 1.0, *times)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("begins", "ends", "when"),
    [
        ("2025-05-03", None, ", since 3 May 2025"),
        ("2025-05-03T14:30", None, ", since 3 May 2025"),
        ("2027-01-01", None, ", from 1 January 2027"),
        ("2025-05-03", "2025-06-09", ", from 3 May to 9 June 2025"),
        ("2024-05-03", "2025-06-09", ", from 3 May 2024 to 9 June 2025"),
        ("2025-05-03T09:00", "2025-05-03T17:00", ", on 3 May 2025"),
        ("0001-01-01", "2025-06-09", ", until 9 June 2025"),
        ("0001-01-01", None, ""),
    ],
)
def test_a_fact_is_said_with_its_time(begins: str, ends: str | None, when: str) -> None:
    told = edge("runs_on", begins, ends)
    assert statement(told) == f"server/db07 runs on rack 4{when}"


def test_a_plan_that_came_true_is_from_its_day_on_or_since() -> None:
    assert statement(edge("x", "2025-05-03", recorded="2025-04-01")).endswith("from 3 May 2025")
    assert statement(edge("x", "2025-05-03", recorded="2025-06-01")).endswith("since 3 May 2025")


@pytest.mark.parametrize(
    ("kind", "since", "until", "understood"),
    [
        ("during", "2025-03-01", "2025-04-01", "1 to 31 March 2025"),
        ("during", "2025-04-01", "2025-07-01", "1 April to 30 June 2025"),
        ("during", "2024-12-01", "2025-03-01", "1 December 2024 to 28 February 2025"),
        ("during", "2025-03-12", "2025-03-13", "12 March 2025"),
        ("during", "2025-03-12T14:30", "2025-03-13", "12 March 2025 14:30 to 13 March 2025"),
        ("since", "2025-03-12", "2025-03-20T10:00", "since 12 March 2025"),
        ("before", None, "2025-06-01", "before 1 June 2025"),
        ("origin", None, None, "the first version"),
        ("past", None, None, "what no longer holds"),
        ("before", None, None, "what no longer holds"),
        ("during", None, None, "not narrowed to a time"),
    ],
)
def test_a_time_is_said_as_it_was_understood(
    kind: str, since: str | None, until: str | None, understood: str
) -> None:
    assert (
        str(hades.TimeWords(hades.TimeKind(kind), "then", day(since), day(until)))
        == f"then: {understood}"
    )


def test_relations_are_said_as_words() -> None:
    said = {name: statement(edge(name, "0001-01-01")) for name in ("is-part_of", "_a__b-")}
    assert said["is-part_of"] == "server/db07 is part of rack 4"
    assert said["_a__b-"] == "server/db07 a b rack 4"
