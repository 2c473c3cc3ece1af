"""The lexicon: words of English by what they do in a sentence, each list once."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """a about above after again against all also although am among an and any are around as at
    away back be became because been before began being below besides between both but by came
    can cannot come could did do does doing done down during each either else even ever every few
    finally first following for former formerly found from further furthermore get go good got had
    has have having he hello hence her here hers hey herself hi him himself his how however i if in
    including indeed instead into is it its itself just last later latter least less let like
    likely made mainly make making many may maybe me meanwhile might mine more moreover most mostly
    much must my myself near neither never nevertheless new next no none nor not nothing now of off
    often oh ok okay on once one only onto or originally other others otherwise our ours out over
    own per perhaps please previously quite rather really recently s said same second see seen
    several shall she should since so some soon still such sure t take than thank thanks that the
    their theirs them themselves then there therefore these they third this those though three
    through throughout thus to today together too toward towards two under unlike until up upon us
    use used using usually various very via was we well went were what when where whereas whether
    which while who whole whom whose why will with within without would wow yeah yes yet you your
    yours yourself four five six seven eight nine ten january february march april june july august
    september october november december monday tuesday wednesday thursday friday saturday
    sunday""".split()  # noqa: SIM905 — a list of 250 lines would not read better
)
"""Words that name nothing and find nothing by themselves."""

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
"""English names of months, whole and short, in lower case."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
COUNTS |= {"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
