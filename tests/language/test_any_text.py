"""What must hold of every text: properties of the rules of languages."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from cases import rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hades
from hades.context.text.tags import neutral_tags
from hades.domain.plain import one_line
from hades.domain.times import from_micros, iso, to_micros
from hades.language.english.contradiction import contradiction, entails
from hades.language.english.grounding import check_sentences
from hades.language.english.moments import parse_time
from hades.language.english.proper_names import extract_names
from hades.language.english.question_terms import terms_of
from hades.language.english.time_words import happens_in, read_time
from hades.language.languages import language_of
from hades.language.likeness import candidates, is_comparable, jaccard, same_spelling
from hades.language.names import name_key, name_parts
from hades.language.said import said_sentences
from hades.language.sentences import spans
from hades.language.units import UNITS_AT_MOST, units
from hades.language.wording import numberless, spoken
from hades.language.words import _WORDS, words, written_words
from hades.recall.plan import default_plan
from hades.recall.question.reading import read_question

NOW = to_micros(datetime(2025, 10, 9, tzinfo=UTC))


# Languages, words and sentences


@given(st.text(max_size=80))
def test_every_text_has_a_language_and_its_words_as_written(text: str) -> None:
    assert language_of(text) is not None
    assert len(written_words(text)) == len(words(text))
    terms_of(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_has_the_same_words_by_the_shorter_way(text: str) -> None:
    assert words(text) == _WORDS.findall(text)
    assert words(text.lower()) == [word.casefold() for word in words(text)]


@given(st.lists(st.sampled_from(["C", "a", "_", "+", "++", "#", " ", "9"])).map("".join))
def test_names_with_signs_are_the_same_by_both_ways(text: str) -> None:
    assert words(text) == _WORDS.findall(text)


@given(st.text(alphabet=st.sampled_from("aB .!?\n。-1'\"।"), max_size=80))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    found = list(spans(text))
    assert found == sorted(found)
    assert "".join("".join(text[a:b].split()) for a, b in found) == "".join(text.split())
    assert all(text[a:b] == text[a:b].strip() for a, b in found)


@given(st.text(alphabet="ab|-`#*:.\n \t[]()<>=+~0_", max_size=400))
def test_any_text_gives_a_bounded_number_of_units_with_letters(text: str) -> None:
    found = units(text)
    assert len(found) <= UNITS_AT_MOST
    assert all(any(map(str.isalnum, unit.text)) for unit in found)


FRAMES = [row["text"] for row in rows("frame_tags")]


@given(st.text(), st.sampled_from(FRAMES), st.text())
def test_no_text_around_a_tag_protects_it(before: str, tag: str, after: str) -> None:
    assert "</system-reminder" not in neutral_tags(f"{before}{tag}{after}").lower()


# Names


@given(st.text(min_size=1).filter(str.strip))
def test_a_key_is_never_empty_and_folding_twice_changes_nothing(name: str) -> None:
    key = name_key(name)
    assert key
    assert name_key(key) == key


@given(st.text())
def test_a_name_as_it_is_spoken_has_no_joints(name: str) -> None:
    said = spoken(name)
    assert said == " ".join(said.split())
    assert spoken(said) == said
    assert not set(said) & set("/_:-")


@given(st.text())
def test_the_parts_of_a_name_stand_in_it(name: str) -> None:
    for part in name_parts(name):
        assert part
        assert any(part in word for word in words(name))


@given(st.text(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_names_that_differ_in_numbers_alone_are_one_without_them(
    name: str, one: int, other: int
) -> None:
    assert numberless(f"{name} {one}") == numberless(f"{name} {other}")


@given(st.text())
def test_every_proper_name_has_letters_or_digits(text: str) -> None:
    assert all(any(map(str.isalnum, name)) for name in extract_names(text))


PARTS_OF_NAMES = ["A", "b", ".", "'", "’s", "and", "of", "for", "the", "1", "May", "Mon", "I'm"]


@given(st.lists(st.sampled_from([*PARTS_OF_NAMES, '"', "\n", "&"])).map(" ".join))
def test_no_proper_name_begins_or_ends_with_a_space(text: str) -> None:
    for name in extract_names(text):
        assert name == name.strip()


SHORT_WORDS = st.text("abcdehinorstuz", min_size=2, max_size=10)
KEYS = st.lists(SHORT_WORDS, min_size=1, max_size=4).map(" ".join)


@given(KEYS, KEYS)
def test_likeness_has_no_direction(one: str, other: str) -> None:
    assert same_spelling(one, other) == same_spelling(other, one)
    assert jaccard(one, other) == jaccard(other, one)
    assert jaccard(one, one) == 1
    assert same_spelling(one, one) is None


@given(st.lists(KEYS, unique=True, min_size=2, max_size=30))
def test_candidates_are_pairs_of_places(names: list[str]) -> None:
    pairs = candidates(sorted(names))
    assert len(pairs) == len(set(pairs))
    assert all(0 <= one < other < len(names) for one, other in pairs)


def test_near_spellings_meet_among_many() -> None:
    names = {f"person {a}{b} of {b}{a}burg" for a in "klmnprst" for b in ("an", "er", "io", "ul")}
    names |= {"jon smith", "john smith", "philippe de broca", "philipe de broca"}
    ordered = sorted(names)
    met = {frozenset((ordered[one], ordered[other])) for one, other in candidates(ordered)}
    assert frozenset(("jon smith", "john smith")) in met
    assert frozenset(("philippe de broca", "philipe de broca")) in met
    assert candidates([]) == candidates(["alone"]) == []
    assert not is_comparable("ann lee")


# Times


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_and_text_lose_nothing(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert datetime.fromisoformat(iso(moment)) == moment


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_a_clear_refusal(text: str) -> None:
    with suppress(hades.InvalidInput):
        assert parse_time(text, NOW).tzinfo is UTC


def test_dates_and_datetimes_are_taken_as_they_are() -> None:
    zone = timezone(timedelta(hours=2))
    assert parse_time(date(2024, 3, 5), NOW) == datetime(2024, 3, 5, tzinfo=UTC)
    assert parse_time(datetime(2024, 3, 5, 12), NOW) == datetime(2024, 3, 5, 12, tzinfo=UTC)
    assert parse_time(datetime(2024, 3, 5, 14, tzinfo=zone), NOW).hour == 12
    with pytest.raises(hades.InvalidInput):
        parse_time(5, NOW)  # type: ignore[arg-type]


PIECES = tuple(
    """the last first second week weeks of in on by before since between and from to early late
    end start year month 2025-05-22 2025-W53 9999 0001 31 30th may june monday weekend ago 99999
    3 q2 , ? christmas half this next past who that did is used day after until while""".split()  # noqa: SIM905
)
TIMED = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=25).map(" ".join)
MOMENTS = st.datetimes() | st.sampled_from((datetime.min, datetime.max))


@given(TIMED, MOMENTS, st.integers(-14, 14))
def test_the_time_of_any_question_is_read_at_any_moment(
    question: str, now: datetime, zone: int
) -> None:
    read = read_time(question, now.replace(tzinfo=timezone(timedelta(hours=zone))))
    assert happens_in(question, read, hades.Wants.STATE) in (True, False)
    if read:
        assert read.said in question
        assert read.event in read.said
        if read.since and read.until:
            assert read.since < read.until


# Questions and statements

ASKED = ("who", "why", "or", "and", "both", "vs", "compare", ",", "?", ":", "of", "'s", "Ann")


@given(st.lists(st.sampled_from(ASKED) | st.text(max_size=5), max_size=20).map(" ".join))
def test_any_text_can_be_asked(question: str) -> None:
    asked = read_question(question, NOW)
    assert default_plan(asked.intent, asked.mode)
    assert str(asked).startswith("It asks for ")


@given(st.text(max_size=600), st.text(max_size=600))
def test_any_texts_can_be_compared(one: str, other: str) -> None:
    contradiction(one, other, other, one)
    if entails(one, other):
        assert contradiction(other, one) is None


TOWNS = st.sampled_from(["Ulm", "Gera", "Acme", "Bonn"])
NUMBERS = st.integers(0, 10**6)


@given(TOWNS, NUMBERS, TOWNS, NUMBERS)
def test_a_value_changed_only_if_the_subject_is_the_same(
    where: str, before: int, there: str, after: int
) -> None:
    old, new = f"The fee in {where} is {before} euros.", f"The fee in {there} is {after} euros."
    changed = where == there and before != after
    assert contradiction(new, old) == ((str(before), str(after)) if changed else None)


VOCABULARY = "Ann owns not 12 rejected Bug Y March 2024 the 1,200 two never é 猫".split()  # noqa: SIM905
MARKS = ["[1]", "[F2]", "[9, 1]", ".", ",", "; but"]
PLAIN = st.lists(st.sampled_from(VOCABULARY)).map(" ".join)
MARKED = st.lists(st.sampled_from(VOCABULARY + MARKS)).map(" ".join)


@given(PLAIN)
def test_what_a_source_says_is_supported(said: str) -> None:
    for checked in check_sentences(f"{said} [1].", {"1": said}):
        assert checked.why in ("", "says nothing that can be checked")


@given(st.one_of(MARKED, st.text(max_size=200)), MARKED)
def test_checking_loses_nothing_and_nothing_uncited_passes(text: str, source: str) -> None:
    checked = check_sentences(text, {"1": source, "F2": source})
    told = [word for one in checked for word in words(one.text)]
    assert len(told) <= len(words(text))
    for one in checked:
        assert one.supported == (not one.why)
        assert not one.supported or set(one.cited) <= {"1", "F2"}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(["user", "Ana"]), st.text(max_size=300)), max_size=6))
def test_every_sentence_is_a_part_of_its_turn(said: list[tuple[str, str]]) -> None:
    for sentence in said_sentences(said):
        assert said[sentence.turn][1][sentence.start : sentence.end] == sentence.text
        assert sentence.speaker == said[sentence.turn][0]


@given(st.text())
def test_a_shown_name_is_one_line_and_steers_nothing(name: str) -> None:
    shown = one_line(name)
    assert len(shown) == len(name)
    assert len(shown.splitlines()) <= 1
    assert shown.isprintable() or any(one.isspace() for one in shown)
    assert one_line(shown) == shown
