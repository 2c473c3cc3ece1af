"""The times that sentences of a note speak of, seen from Friday, 14 March 2025."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hades.domain.statement import window_words
from hades.language.english.event_times import ALL_TIME, dated_sentences

FRIDAY = datetime(2025, 3, 14, 10, tzinfo=UTC)
SENTENCES = """
Yesterday Bear sold the van. | 13 March 2025
Dentist on Thursday 14:00, the cracked molar. | 20 March 2025
Dentist on thurs 14:00. | 20 March 2025
Flight on 3 April. | 3 April 2025
The flight on 3 March was late. | 3 March 2025
Kiln broke on Tues. | 11 March 2025
Storm on Monday night took the roof. | 10 March 2025
Van goes to the garage next week Tuesday. | 18 March 2025
The scan two weeks ago showed it. | 28 February 2025
The new element comes in ten days. | 24 March 2025
Meeting on the 20th, 9:30. | 20 March 2025
She flies on 3 May, back on the 9th. | 3 May 2025; 9 May 2025
I was ill from Monday to Wednesday. | 10 to 12 March 2025
Holiday 28 July to 9 August. | 28 July to 9 August 2025
Ferry booked for 19 July, return 2 August. | 19 July 2025; 2 August 2025
Party is on Sat 22 March at 8pm. | 22 March 2025
Stairs have to be in by end of April. | 30 April 2025
They come in mid April. | 11 to 20 April 2025
Saturday's fair was wet. | 8 March 2025
Invoice 2025-044 is due 2025-04-01. | 1 April 2025
Physio Wednesday 11:15, and again a week later same time. | 19 March 2025; 26 March 2025
Choir on Mondays at 7, and every Tuesday. |
The bakery is open Tuesday to Friday. |
Repair shop Kowalski: open Tue to Fri, closed on Monday. |
It opens at 7 from Tuesday to Sunday. |
Simone is in Monday to Wednesday. |
Works Monday to Wednesday, speaks German. |
Choir practice is on Thursday evenings. |
The bakery was closed on Monday. | 10 March 2025
The fair opens on Saturday. | 15 March 2025
She is there Tuesday to Thursday next week. | 18 to 20 March 2025
Jonas is away from Tuesday to Thursday. | 18 to 20 March 2025
Jonas is away from Sunday to Saturday. | 16 to 22 March 2025
Glass is collected on the first Monday of the month. |
The bins are collected on Friday. | 14 March 2025
Sat in the sun all day, maybe in a May mood. |
The 3rd try on the 16th floor worked. |
Best honey this year! |
"""
MOVED = """
Our meeting is pushed from the 20th to the 25th. | 25 March 2025 | 20 March 2025
Next week's rehearsal moved from Monday to Wednesday. | 19 March 2025 | 17 March 2025
The dentist on Thursday is moved to Friday 21 March. | 21 March 2025 | 20 March 2025
Got the skip extended to 11 April. | 11 April 2025 | ever
The bees are delayed by the cold, he delivers on 26 April. | 26 April 2025 | ever
The dentist on Thursday is cancelled. | | 20 March 2025
They moved to Lisbon in 2019. | 1 January to 31 December 2019 |
"""


def rows(table: str) -> list[list[str]]:
    lines = table.strip().split("\n")
    return [[cell.strip() for cell in line.split("|")] for line in lines]


@pytest.mark.parametrize(("text", "times"), rows(SENTENCES))
def test_a_sentence_speaks_of_times(text: str, times: str) -> None:
    found = [span for row in dated_sentences(text, FRIDAY) for span in row.times]
    assert "; ".join(window_words(*span) for span in found) == times


@pytest.mark.parametrize(("text", "times", "replaced"), rows(MOVED))
def test_a_sentence_moves_something(text: str, times: str, replaced: str) -> None:
    (row,) = dated_sentences(text, FRIDAY)
    assert "; ".join(window_words(*span) for span in row.times) == times
    span = row.replaced
    told = "" if span is None else "ever" if span == ALL_TIME else window_words(*span)
    assert told == replaced


def test_a_sentence_goes_on_from_the_one_before() -> None:
    concert, rehearsal = dated_sentences("Concert on 24 May. Rehearsal two days before.", FRIDAY)
    assert (rehearsal.times[0][0] - concert.times[0][0]).days == -2
    lunch, choir = dated_sentences("Saturday they came for lunch. Sunday choir.", FRIDAY)
    assert [row.times[0][0].day for row in (lunch, choir)] == [8, 9]


def test_other_languages_and_odd_texts_have_no_times() -> None:
    assert dated_sentences("Der Zahnarzt ist nicht am 3 March und die Praxis zu", FRIDAY) == ()
    assert dated_sentences("99999999 days later in 99999 years on 31 June 9999-99", FRIDAY) == ()
