"""Every rule of a table has an example, and reads it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from hades.language.english import (
    code_questions,
    connections,
    periods,
    prose_patterns,
)
from hades.language.english.prose_facts import facts_in

SUNDAY_NOON = datetime(2025, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize("rule", code_questions.RELATION_RULES, ids=lambda rule: rule.example)
def test_relation_questions(rule: code_questions.RelationRule) -> None:
    assert next(code_questions.relations_asked(rule.example))[0] is rule


@pytest.mark.parametrize("rule", connections.CONNECTION_RULES, ids=lambda rule: rule.example)
def test_connections(rule: connections.ConnectionRule) -> None:
    matching = [own for own in connections.CONNECTION_RULES if own.pairs(rule.example.rstrip("?"))]
    assert matching[0] is rule
    assert connections.connection_asked(rule.example) == [("Ann", "Ben")]


def test_only_the_first_word_of_a_name_is_an_article() -> None:
    assert [*connections.spellings("“the Panama canal”")][1:] == [
        "the Panama canal",
        "Panama canal",
    ]
    assert [*connections.spellings("Panama canal")] == ["Panama canal"]


@pytest.mark.parametrize("verb", prose_patterns.VERBS, ids=lambda verb: verb.example)
def test_verbs_of_facts(verb: prose_patterns.Verb) -> None:
    assert [fact.relation for fact in facts_in(verb.example)] == [verb.relation]
    assert verb.pattern.search(verb.example)


@pytest.mark.parametrize("rule", periods.RULES, ids=lambda rule: rule[2])
def test_periods(rule: tuple[re.Pattern[str], object, str]) -> None:
    said, span = rule[2].split(": ")
    words = tuple(word for word, _, _ in periods.split_words(said))
    asked = periods.QuestionWords(words, SUNDAY_NOON)
    assert asked.match(rule[0], 0)
    period = periods.read_period(asked, 0)
    since, until = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in span.split())
    assert period is not None
    assert (period.since, period.until, period.end) == (since, until, len(words))
