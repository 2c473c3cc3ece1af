"""The time in the words of a question: read where there is one, and only there."""
# ruff: noqa: E501 (one row of a table is one line)

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.language.english.time_words import happens_in, read_bare_time, read_time

WEDNESDAY = datetime(2025, 10, 15, 10, 30, tzinfo=UTC)


def at(text: str) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


# question | now ("" is Wednesday 15 October 2025, 10:30) | words | kind | since | until | wants
WINDOWS = """
what happened today | | today | during | 2025-10-15 | 2025-10-16 | happenings
what happened yesterday | | yesterday | during | 2025-10-14 | 2025-10-15 | happenings
Who called yesterday morning? | | yesterday morning | during | 2025-10-14 | 2025-10-14T12:00 | happenings
who is on call tonight | | tonight | during | 2025-10-15T18:00 | 2025-10-16T06:00 | state
what was in the fridge this morning | | this morning | during | 2025-10-15 | 2025-10-15T12:00 | state
what broke last night | | last night | during | 2025-10-14T18:00 | 2025-10-15T06:00 | happenings
What did Ann say in yesterday's call? | | in yesterday's | during | 2025-10-14 | 2025-10-15 | state
the day before yesterday, who fed the cat? | | the day before yesterday | during | 2025-10-13 | 2025-10-14 | state
what did I promise Tom the week before last | | the week before last | during | 2025-09-29 | 2025-10-06 | happenings
what happened last week | | last week | during | 2025-10-06 | 2025-10-13 | happenings
what did I do this week? | | this week | during | 2025-10-13 | 2025-10-20 | happenings
What went wrong last week? | 2025-10-13T00:00 | last week | during | 2025-10-06 | 2025-10-13 | happenings
who comes next week | | next week | during | 2025-10-20 | 2025-10-27 | state
what did the tutor say in last week's lesson | | in last week's | during | 2025-10-06 | 2025-10-13 | state
what happened in the last week | | in the last week | during | 2025-10-08 | 2025-10-15T10:30 | happenings
What did the tax office want this past month? | | this past month | during | 2025-09-15 | 2025-10-15T10:30 | state
what did the bike cost in the past month | 2025-03-31T09:00 | in the past month | during | 2025-02-28 | 2025-03-31T09:00 | state
Anything new over the last three days? | | over the last three days | during | 2025-10-12 | 2025-10-15T10:30 | happenings
what changed in the past 24 hours | | in the past 24 hours | during | 2025-10-14T10:30 | 2025-10-15T10:30 | happenings
Any visitors in the last couple of weeks? | | in the last couple of weeks | during | 2025-10-01 | 2025-10-15T10:30 | happenings
summarise last month | | last month | during | 2025-09-01 | 2025-10-01 | happenings
Summarize this month. | | this month | during | 2025-10-01 | 2025-11-01 | happenings
what was decided last quarter | | last quarter | during | 2025-07-01 | 2025-10-01 | happenings
Which books did I read this year? | | this year | during | 2025-01-01 | 2026-01-01 | happenings
Who was treasurer last year? | | last year | during | 2024-01-01 | 2025-01-01 | state
what did we plant the previous year | | the previous year | during | 2024-01-01 | 2025-01-01 | happenings
how was the weather over the weekend | | over the weekend | during | 2025-10-11 | 2025-10-13 | state
what did we do last weekend | | last weekend | during | 2025-10-11 | 2025-10-13 | happenings
what did we do last weekend, mostly | 2025-10-12T09:00 | last weekend | during | 2025-10-04 | 2025-10-06 | happenings
who visited the past weekend | | the past weekend | during | 2025-10-11 | 2025-10-13 | happenings
who visits this weekend | | this weekend | during | 2025-10-18 | 2025-10-20 | state
what happened last Monday | | last Monday | during | 2025-10-13 | 2025-10-14 | happenings
what happened last Wednesday | | last Wednesday | during | 2025-10-08 | 2025-10-09 | happenings
who plays next Friday | | next Friday | during | 2025-10-17 | 2025-10-18 | state
What did we agree on Monday? | | on Monday | during | 2025-10-13 | 2025-10-14 | happenings
who was in the office on Friday afternoon | | on Friday afternoon | during | 2025-10-10T12:00 | 2025-10-10T18:00 | state
what was the score 3 days ago | | 3 days ago | during | 2025-10-12 | 2025-10-13 | state
where was I two weeks ago | | two weeks ago | during | 2025-09-29 | 2025-10-06 | state
who had the key a month ago? | | a month ago | during | 2025-09-01 | 2025-10-01 | state
what was our rent two years ago | | two years ago | during | 2023-10-01 | 2023-11-01 | state
what was our rent a year ago | | a year ago | during | 2024-10-01 | 2024-11-01 | state
what was our rent six months ago | | six months ago | during | 2025-04-01 | 2025-05-01 | state
what was the load an hour ago | | an hour ago | during | 2025-10-15T09:00 | 2025-10-15T10:00 | state
what did milk cost in March | | in March | during | 2025-03-01 | 2025-04-01 | state
who coached in november | | in november | during | 2024-11-01 | 2024-12-01 | state
in may who had the allotment | | in may | during | 2025-05-01 | 2025-06-01 | state
which tram did I take back in feb? | | in feb | during | 2025-02-01 | 2025-03-01 | state
what happened in October | | in October | during | 2025-10-01 | 2025-11-01 | happenings
what was the tariff last March | | last March | during | 2025-03-01 | 2025-04-01 | state
what was the tariff last October | | last October | during | 2024-10-01 | 2024-11-01 | state
who teaches next March | | next March | during | 2026-03-01 | 2026-04-01 | state
which passports will expire in March | | in March | during | 2026-03-01 | 2026-04-01 | state
what was the fee in March 2024 | | in March 2024 | during | 2024-03-01 | 2024-04-01 | state
what did Sarah know in March 1412 | | in March 1412 | during | 1412-03-01 | 1412-04-01 | state
what was the fee in March last year | | in March last year | during | 2024-03-01 | 2024-04-01 | state
Who ran the club in 2019? | | in 2019 | during | 2019-01-01 | 2020-01-01 | state
Which flats came up for rent in early June? | | in early June | during | 2025-06-01 | 2025-06-11 | happenings
how many hens were there in mid-June | | in mid-June | during | 2025-06-11 | 2025-06-21 | state
how many hens were there in late July | | in late July | during | 2025-07-21 | 2025-08-01 | state
who led the choir in early 2024 | | in early 2024 | during | 2024-01-01 | 2024-05-01 | state
where was the van at the beginning of May | | at the beginning of May | during | 2025-05-01 | 2025-05-11 | state
where was the van at the end of May | | at the end of May | during | 2025-05-21 | 2025-06-01 | state
what was my weight at the start of the year | | at the start of the year | during | 2025-01-01 | 2025-02-01 | state
what was the balance at year end | | at year end | during | 2024-12-01 | 2025-01-01 | state
what was the balance at the end of the month | | at the end of the month | during | 2025-09-21 | 2025-10-01 | state
who watered the plants in the first half of June | | in the first half of June | during | 2025-06-01 | 2025-06-16 | state
what did diesel cost in the second half of 2024 | | in the second half of 2024 | during | 2024-07-01 | 2025-01-01 | state
what changed in the first week of September | | in the first week of September | during | 2025-09-01 | 2025-09-08 | happenings
What changed at the nursery in the first two weeks of July? | | in the first two weeks of July | during | 2025-07-01 | 2025-07-15 | happenings
what did we note in the second week of June | | in the second week of June | during | 2025-06-08 | 2025-06-15 | happenings
Which valves did we touch in the last week of August? | | in the last week of August | during | 2025-08-25 | 2025-09-01 | happenings
what was paid on the last day of September | | on the last day of September | during | 2025-09-30 | 2025-10-01 | state
what did rice cost in the last two months of 2024 | | in the last two months of 2024 | during | 2024-11-01 | 2025-01-01 | state
what was the turnover in Q2 | | in Q2 | during | 2025-04-01 | 2025-07-01 | state
what was the turnover in Q4 2023 | | in Q4 2023 | during | 2023-10-01 | 2024-01-01 | state
what was the turnover in the second quarter of 2024 | | in the second quarter of 2024 | during | 2024-04-01 | 2024-07-01 | state
what was the turnover in 2024-Q3 | | in 2024-Q3 | during | 2024-07-01 | 2024-10-01 | state
which coat did I wear in spring | | in spring | during | 2025-03-01 | 2025-06-01 | state
where did we swim in the summer | | in the summer | during | 2025-06-01 | 2025-09-01 | state
who tended the bees last winter | | last winter | during | 2024-12-01 | 2025-03-01 | state
who tended the bees last winter? | 2026-01-10T09:00 | last winter | during | 2024-12-01 | 2025-03-01 | state
what was blooming last spring | 2025-04-10T09:00 | last spring | during | 2024-03-01 | 2024-06-01 | state
what will bloom this autumn | | this autumn | during | 2025-09-01 | 2025-12-01 | state
where were we in the spring of 2022 | | in the spring of 2022 | during | 2022-03-01 | 2022-06-01 | state
who was there at New Year | | at New Year | during | 2024-12-31 | 2025-01-02 | state
who won in the winter of 2023-24 | | in the winter of 2023-24 | during | 2023-12-01 | 2024-03-01 | state
Where were we over Christmas? | | over Christmas | during | 2024-12-24 | 2024-12-27 | state
what went on on May 22nd | | on May 22nd | during | 2025-05-22 | 2025-05-23 | happenings
who had the keys on 22 May | | on 22 May | during | 2025-05-22 | 2025-05-23 | state
who had the keys on 22 May 2024 | | on 22 May 2024 | during | 2024-05-22 | 2024-05-23 | state
who had the keys on May 22, 2024? | | on May 22, 2024 | during | 2024-05-22 | 2024-05-23 | state
who had the keys on the 22nd of May | | on the 22nd of May | during | 2025-05-22 | 2025-05-23 | state
who had the keys on the first of May | | on the first of May | during | 2025-05-01 | 2025-05-02 | state
who had the keys on 29 February | | on 29 February | during | 2024-02-29 | 2024-03-01 | state
who had the keys on 2025-05-22 | | on 2025-05-22 | during | 2025-05-22 | 2025-05-23 | state
who had the keys in 2025-05 | | in 2025-05 | during | 2025-05-01 | 2025-06-01 | state
what happened 22 May | | 22 May | during | 2025-05-22 | 2025-05-23 | happenings
What happened, 2025-05-22? | | 2025-05-22 | during | 2025-05-22 | 2025-05-23 | happenings
What came of the strike, 10 to 16 February? | | 10 to 16 February | during | 2025-02-10 | 2025-02-17 | happenings
who was away between March and May | | between March and May | during | 2025-03-01 | 2025-06-01 | state
who was away between November and January | | between November and January | during | 2024-11-01 | 2025-02-01 | state
who was away between March and May 2023 | | between March and May 2023 | during | 2023-03-01 | 2023-06-01 | state
who was away from November 2022 to February | | from November 2022 to February | during | 2022-11-01 | 2023-03-01 | state
which hens died between August and Christmas? | | between August and Christmas | during | 2024-08-01 | 2024-12-27 | happenings
what happened from 3 to 9 June | | from 3 to 9 June | during | 2025-06-03 | 2025-06-10 | happenings
what happened between June 3 and 9 | | between June 3 and 9 | during | 2025-06-03 | 2025-06-10 | happenings
what happened from 3-9 June | | from 3-9 June | during | 2025-06-03 | 2025-06-10 | happenings
what happened on the weekend of 4 and 5 October | | on the weekend of 4 and 5 October | during | 2025-10-04 | 2025-10-06 | happenings
what was noted in the week of 10 September | | in the week of 10 September | during | 2025-09-08 | 2025-09-15 | happenings
who was on duty in week 26 | | in week 26 | during | 2025-06-23 | 2025-06-30 | state
who was on duty in 2024-W26 | | in 2024-W26 | during | 2024-06-24 | 2024-07-01 | state
as of June, who leads the choir | | as of June | during | 2025-06-01 | 2025-07-01 | state
who joined since June | | since June | since | 2025-06-01 | 2025-10-15T10:30 | happenings
anything new on the roof since Monday? | | since Monday | since | 2025-10-13 | 2025-10-15T10:30 | happenings
What has changed since last week? | | since last week | since | 2025-10-06 | 2025-10-15T10:30 | happenings
what changed from June onwards | | from June onwards | since | 2025-06-01 | 2025-10-15T10:30 | happenings
who was mayor after June | | after June | since | 2025-07-01 | 2025-10-15T10:30 | state
which visas expire after March 2026 | | after March 2026 | since | 2026-04-01 | | state
what did the pool cost before July | | before July | before | | 2025-07-01 | state
who had the dog until July? | | until July | before | | 2025-07-01 | state
which shares did I own prior to 2020 | | prior to 2020 | before | | 2020-01-01 | state
what must be painted before July | | before July | before | | 2026-07-01 | state
what has to be done by year end | | by year end | before | | 2026-01-01 | state
what has to be done by the end of June | | by the end of June | before | | 2026-07-01 | state
how many had signed by the end of June | | by the end of June | before | | 2025-07-01 | state
which forms are due by Friday | | by Friday | before | | 2025-10-18 | state
who was in the band before 3 June 2024 | | before 3 June 2024 | before | | 2024-06-03 | state
When did we move the piano last year? | | last year | during | 2024-01-01 | 2025-01-01 | date
"""

# question | words | kind | event | wants
EVENTS = """
what has changed since the release? | since the release | since | the release | happenings
anything new since release 4.2 | since release 4.2 | since | release 4.2 | happenings
who maintains it since the 4.2 release | since the 4.2 release | since | the 4.2 release | state
Where did the backups go before the migration? | before the migration | before | the migration | state
Before Lisbon, where did we live? | Before Lisbon | before | Lisbon | state
how warm was it before the March storm | before the March storm | before | the March storm | state
who sat by the window before ida | before ida | before | ida | state
what was the rent until we signed? | until we signed | before | we signed | state
what happened during the outage | during the outage | during | the outage | happenings
what went on while Ida was away? | while Ida was away | during | Ida was away | happenings
who had keys at the time of the burglary | at the time of the burglary | during | the burglary | state
what did he weigh after the operation, and why | after the operation | since | the operation | state
after Del left who did the books | after Del left | since | Del left | state
who ran the shop after Del left? | after Del left | since | Del left | state
what was the price before the 14 February deadline | before the 14 February deadline | before | the 14 February deadline | state
who paid during the 2024 audit | during the 2024 audit | during | the 2024 audit | state
what was planned before the summer party | before the summer party | before | the summer party | state
"""

# question | words
ORIGIN = """
who originally owned the boat | originally
what did we at first suspect | at first
How many were we initially? | initially
the colour of the door in the beginning | in the beginning
how did the plan look at the very beginning | at the very beginning
who led the choir when it was founded | when it was founded
"""

# question
NO_TIME = """
what may I eat
may i park on a friday
this may be wrong, is it
who leads the march on the square
Are deliveries on Friday okay?
do we deliver on Fridays
what is her last name
who was second in the race
what happens in the second act
what is the last version
rota week 30
what is in the rota of week 30
who is today's contact
what is the day of month
what was said of the 45th idea
meeting 2025-07-17 summer planning
what was said in meeting 2025-07-17
case 2025-042
what happened in call 2025-08-22 Greengate
is the 14 February deadline firm
what is 12 May about
what was in the March release
who wrote the 2024 report
how do I say it in 2000 characters
can it take over 2000 requests
when did the door change
since when is the shop closed
Until when is the ticket good?
by when must I answer
On which day was the wall painted?
what date was the wedding
how long ago was the war
When does the train leave?
who looks after the garden
who is named after Ida
how often does it ring before it gives up
what do I have to do before the release
how to restart after an outage
can he eat before the operation
what is the key used to sign with
what did we use to clean the lens
how many days until the fair
what did it come to in the end
it is 6 in the morning, may I call
what should I do next time
how old is the house
where does old Mrs Lind live
which version of spring boot do we use
what is used in spring boot
the end of phase 2
in the first week of the trial
what did he do 99999 days ago
what is on the 5th floor
who came first
how did she do in her first exam
did she phone after 5pm
what does the man charge who called in May
what has been booked for january
what did the doctor say at first glance
why was the first plan dropped
what is planned between the fair and the race
who won on the 31st of June

"""


def rows(table: str, columns: int) -> list[list[str]]:
    lines = [line for line in table.split("\n") if line.strip()]
    found = [[cell.strip() for cell in line.split("|")] for line in lines]
    assert all(len(row) == columns for row in found)
    return found


@pytest.mark.parametrize(
    ("question", "now", "said", "kind", "since", "until", "wants"), rows(WINDOWS, 7)
)
def test_a_window(
    question: str, now: str, said: str, kind: str, since: str, until: str, wants: str
) -> None:
    read = read_time(question, at(now) or WEDNESDAY)
    assert read == hades.TimeWords(hades.TimeKind(kind), said, at(since), at(until))
    asked = hades.Wants.STATE if wants == "happenings" else hades.Wants(wants)
    assert happens_in(question, read, asked) is (wants == "happenings")


@pytest.mark.parametrize(("question", "said", "kind", "event", "wants"), rows(EVENTS, 5))
def test_an_event(question: str, said: str, kind: str, event: str, wants: str) -> None:
    read = read_time(question, WEDNESDAY)
    assert read == hades.TimeWords(hades.TimeKind(kind), said, event=event)
    assert happens_in(question, read, hades.Wants.STATE) is (wants == "happenings")


@pytest.mark.parametrize(("question", "said"), rows(ORIGIN, 2))
def test_the_first_version(question: str, said: str) -> None:
    assert read_time(question, WEDNESDAY) == hades.TimeWords(hades.TimeKind.ORIGIN, said)


@pytest.mark.parametrize("question", [row[0] for row in rows(NO_TIME, 1)])
def test_no_time(question: str) -> None:
    read = read_time(question, WEDNESDAY)
    assert read is None
    assert not happens_in(question, read, hades.Wants.STATE)


def test_a_period_after_the_word_summary() -> None:
    march = hades.TimeWords(hades.TimeKind.DURING, "March", at("2025-03-01"), at("2025-04-01"))
    assert read_bare_time(" March", WEDNESDAY) == march
    assert read_bare_time(" of March", WEDNESDAY) == march
    assert read_bare_time(" the project", WEDNESDAY) is None


def test_of_several_times_the_first_outside_a_relative_clause_counts() -> None:
    read = read_time("in May, what was left of the sum that we had in March?", WEDNESDAY)
    assert read is not None
    assert read.said == "in May"
    read = read_time("what was the man that called in May doing, in March", WEDNESDAY)
    assert read is not None
    assert read.said == "in March"
    read = read_time("which day did he use to come, in spring", WEDNESDAY)
    assert read is not None
    assert read.kind is hades.TimeKind.DURING


def test_the_asking_clock_may_have_any_zone() -> None:
    late = datetime(2025, 10, 16, 1, 0, tzinfo=timezone(timedelta(hours=5)))
    read = read_time("what happened today", late)
    assert read is not None
    assert read.since == datetime(2025, 10, 15, tzinfo=UTC)
    assert read_time("what happened today", datetime(2025, 10, 15, 12, 0)) == read


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert read_time("word " * 200 + "what happened yesterday", WEDNESDAY) is None


PIECES = tuple(
    """the last first second week weeks of in on by before since between and from to early late
    end start year month 2025-05-22 2025-W53 9999 0001 31 30th may june monday weekend ago 99999
    3 q2 , ? christmas half this next past who that did is used day after until while""".split()  # noqa: SIM905
)
ANY_QUESTION = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=25).map(" ".join)
ANY_MOMENT = st.datetimes() | st.sampled_from((datetime.min, datetime.max))


@given(ANY_QUESTION, ANY_MOMENT, st.integers(-14, 14))
def test_any_text_can_be_read_at_any_moment(question: str, now: datetime, zone: int) -> None:
    read = read_time(question, now.replace(tzinfo=timezone(timedelta(hours=zone))))
    assert happens_in(question, read, hades.Wants.STATE) in (True, False)
    if read:
        assert read.said in question
        assert read.event in read.said
        if read.since and read.until:
            assert read.since < read.until
