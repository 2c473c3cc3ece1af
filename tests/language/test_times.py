from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.domain.times import from_micros, iso, to_micros
from hades.errors import InvalidInput
from hades.language.english.moments import parse_time

NOW = to_micros(datetime(2024, 3, 31, 15, 30, tzinfo=UTC))  # a Sunday


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024", "2024-01-01T00:00:00"),
        ("2024-03", "2024-03-01T00:00:00"),
        ("2024-3", "2024-03-01T00:00:00"),
        ("2024-Q2", "2024-04-01T00:00:00"),
        ("2024-03-05", "2024-03-05T00:00:00"),
        ("2024-03-05T14:00", "2024-03-05T14:00:00"),
        ("2024-03-05 14:00:01.5", "2024-03-05T14:00:01.500000"),
        ("2024-03-05T14:00:00Z", "2024-03-05T14:00:00"),
        ("2024-03-05T14:00+02:00", "2024-03-05T12:00:00"),
        ("March 2024", "2024-03-01T00:00:00"),
        ("5 March 2024", "2024-03-05T00:00:00"),
        ("Mar 5th, 2024", "2024-03-05T00:00:00"),
        ("now", "2024-03-31T15:30:00"),
        ("today", "2024-03-31T00:00:00"),
        ("Yesterday", "2024-03-30T00:00:00"),
        ("tomorrow", "2024-04-01T00:00:00"),
        ("3 weeks ago", "2024-03-10T15:30:00"),
        ("an hour ago", "2024-03-31T14:30:00"),
        ("1 month ago", "2024-02-29T15:30:00"),
        ("two years ago", "2022-03-31T15:30:00"),
        ("in 2 days", "2024-04-02T15:30:00"),
        ("last week", "2024-03-24T15:30:00"),
        ("last monday", "2024-03-25T00:00:00"),
        ("last sunday", "2024-03-24T00:00:00"),
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
        ("Mon, 8 May 2023 13:56 +0200", "2023-05-08T11:56:00"),
        ("08.05.2023", "2023-05-08T00:00:00"),
        ("31.12.2025", "2025-12-31T00:00:00"),
        ("03.04.2024", "2024-04-03T00:00:00"),
        ("Christmas", "2023-12-24T00:00:00"),
        ("Christmas 2022", "2022-12-24T00:00:00"),
        ("February", "2024-02-01T00:00:00"),
        ("last March", "2023-03-01T00:00:00"),
        ("Friday", "2024-03-29T00:00:00"),
        ("the start of last year", "2023-01-01T00:00:00"),
        ("summer 2023", "2023-06-01T00:00:00"),
        ("next week", "2024-04-01T00:00:00"),
    ],
)
def test_times_as_people_write_them(written: str, meant: str) -> None:
    assert parse_time(written, NOW).isoformat() == meant + "+00:00"


def test_dates_and_datetimes_are_taken_as_they_are() -> None:
    zone = timezone(timedelta(hours=2))
    assert parse_time(date(2024, 3, 5), NOW) == datetime(2024, 3, 5, tzinfo=UTC)
    assert parse_time(datetime(2024, 3, 5, 12), NOW) == datetime(2024, 3, 5, 12, tzinfo=UTC)
    assert parse_time(datetime(2024, 3, 5, 14, tzinfo=zone), NOW).hour == 12


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        "soon",
        "03/04/2024",
        "2024-13",
        "2024-02-30",
        "5 weeks",
        "in 2 days ago",
        "12 foos ago",
        "the March release",
        "8 May 2023 25:00",
    ],
)
def test_what_cannot_be_read_is_refused(nonsense: str) -> None:
    with pytest.raises(InvalidInput):
        parse_time(nonsense, NOW)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "03/04/2024",
            "'03/04/2024' is not understood everywhere alike: write 2024-03-04 or 2024-04-03.",
        ),
        (
            "03/04/24",
            "'03/04/24' is not understood everywhere alike: write 2024-03-04 or 2024-04-03.",
        ),
        (
            "31/31/2020",
            "'31/31/2020' is not understood everywhere alike: write it as year-month-day.",
        ),
        (
            "00/00/20",
            "'00/00/20' is not understood everywhere alike: write it as year-month-day.",
        ),
        ("31/12/2020", "'31/12/2020' is not understood everywhere alike: write 2020-12-31."),
        ("12/31/2020", "'12/31/2020' is not understood everywhere alike: write 2020-12-31."),
    ],
)
def test_a_date_with_slashes_is_refused_for_what_it_is(written: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_time(written, NOW)
    assert str(refused.value) == says


def test_a_number_is_not_a_time() -> None:
    with pytest.raises(InvalidInput):
        parse_time(5, NOW)  # type: ignore[arg-type]


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_and_text_lose_nothing(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert datetime.fromisoformat(iso(moment)) == moment


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_a_clear_refusal(text: str) -> None:
    with suppress(InvalidInput):
        assert parse_time(text, NOW).tzinfo is UTC
