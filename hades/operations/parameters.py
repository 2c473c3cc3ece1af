"""Parameters that several operations share: types, meaning and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, TypedDict

from hades.domain.rules import (
    clean_direction,
    clean_kind,
    clean_name,
    clean_note,
    clean_number,
)
from hades.domain.times import TIMES_MEANT, TimeLike
from hades.domain.topics import TOPIC_KINDS
from hades.operations.declare import Param
from hades.store.records import Direction

CONTENT_CHARACTERS_AT_MOST = 16 * 2**20
TEXT_CHARACTERS_AT_MOST = 100_000
NUMBER_AT_MOST = 2**62
PAGE_AT_MOST = 1_000
BATCH_WRITES_AT_MOST = 10_000
LIST_AT_MOST = 10_000
HOPS_AT_MOST = 5
TOKENS_AT_MOST = 200_000


def whole_number(
    help: str, what: str, *, least: int = 0, most: int | None = NUMBER_AT_MOST, **more: Any
) -> Param:
    """Return a parameter for a whole number; error messages call it `what`."""
    rule = partial(clean_number, what=what, least=least)
    return Param(help, least=least, most=most, rule=rule, **more)


PATTERN = partial(clean_name, what="pattern")
RELATION = partial(clean_name, what="relation")

TopicName = Annotated[
    str,
    Param("The topic, such as design/approach_x.", example="design/approach_x", rule=clean_name),
]
Name = Annotated[str, Param("The topic or entity.", example="design/approach_x", rule=clean_name)]
EntityName = Annotated[
    str, Param("The entity.", example="Tim Burton", rule=partial(clean_name, what="entity"))
]
Relation = Annotated[
    str,
    Param("The relation, such as rejected_because.", example="rejected_because", rule=RELATION),
]
Relations = Annotated[
    Iterable[str] | None,
    Param("Follow only this relation; may be repeated.", flag="--relation/-r", characters=200),
]
WhichWay = Annotated[
    Direction,
    Param(
        "out, in or both.",
        flag="--direction",
        choices=("out", "in", "both"),
        rule=clean_direction,
    ),
]
LeastWeight = Annotated[
    float,
    Param("Follow only edges of at least this weight, 0 to 1.", flag="--least-weight", least=0),
]
Content = Annotated[
    str,
    Param(
        "The text to store.",
        example="Rejected: it triggers Bug Y.",
        characters=CONTENT_CHARACTERS_AT_MOST,
    ),
]
Question = Annotated[
    str,
    Param(
        "The question.", example="Why was approach X rejected?", characters=TEXT_CHARACTERS_AT_MOST
    ),
]
Turns = Annotated[
    Iterable[str] | None,
    Param(
        "An earlier question or answer, oldest first; repeat the option for more.",
        flag="--turn",
        example=["Where is the barn?"],
        characters=TEXT_CHARACTERS_AT_MOST,
    ),
]
Evidence = Annotated[
    str,
    Param("Why it is true, or who says so.", flag="--evidence", characters=TEXT_CHARACTERS_AT_MOST),
]
Version = Annotated[
    int | None, whole_number("The version number.", "version", least=1, flag="--version/-v")
]
OptionalContent = Annotated[
    str | None,
    Param(
        "The new text of the topic.",
        flag="--content",
        characters=CONTENT_CHARACTERS_AT_MOST,
        rule=clean_note,
    ),
]
Tags = Annotated[
    Iterable[str] | None, Param("A tag; may be repeated.", flag="--tag/-t", example=["decision"])
]
Metadata = Annotated[
    Mapping[str, Any] | None, Param("A JSON object to store with it.", flag="--metadata", json=True)
]
Confidence = Annotated[float | None, Param("How sure it is, 0 to 1.", flag="--confidence", least=0)]
Importance = Annotated[
    float | None, Param("How important it is, 0 to 1.", flag="--importance", least=0)
]
Weight = Annotated[float | None, Param("How strong it is, 0 to 1.", flag="--weight", least=0)]
ValidFrom = Annotated[
    TimeLike | None,
    Param("When it became true.", flag="--valid-from", example="2024-01-10", characters=100),
]
ValidTo = Annotated[
    TimeLike | None, Param("When it stopped being true.", flag="--valid-to", characters=100)
]
ExpectVersion = Annotated[
    int | None,
    whole_number(
        "Fail unless the topic is at this version (0: it is new).",
        "expected version",
        most=None,
        flag="--expect-version",
    ),
]
Exclusive = Annotated[
    bool, Param("Allow one target at a time: the new fact ends the old one.", flag="--exclusive")
]
Create = Annotated[bool, Param("Accept new names that resemble known ones.", flag="--create")]
NewKind = Annotated[
    str,
    Param(
        "The kind of a new entity: person, method …",
        flag="--kind",
        rule=partial(clean_name, what="kind"),
    ),
]
Glob = Annotated[
    str | None,
    Param("A name pattern, such as 'design/*'.", example="design/*", rule=PATTERN),
]
TopicGlob = Annotated[
    str | None,
    Param("Only topics whose name matches, such as 'docs/*'.", flag="--glob", rule=PATTERN),
]
AboutUser = Annotated[
    str | None,
    Param(
        "Only what is known about this user: topics below users/NAME.",
        flag="--about",
        rule=partial(clean_name, what="user"),
    ),
]
Tag = Annotated[str | None, Param("Only topics with this tag.", flag="--tag/-t", rule=PATTERN)]
TopicKind = Annotated[
    str | None,
    Param(
        "Only topics of this kind: " + ", ".join(TOPIC_KINDS) + ".",
        flag="--kind",
        choices=TOPIC_KINDS,
        rule=clean_kind,
    ),
]
Limit = Annotated[
    int,
    whole_number(
        "How many to show at most.", "limit", least=1, most=PAGE_AT_MOST, flag="--limit/-n"
    ),
]
Most = Annotated[
    int, whole_number("How many to show at most.", "limit", most=LIST_AT_MOST, flag="--limit/-n")
]
PageLimit = Annotated[
    int | None,
    whole_number("How many to show at most.", "limit", most=PAGE_AT_MOST, flag="--limit/-n"),
]
Hops = Annotated[
    int,
    whole_number("How many edges away at most.", "hops", least=1, most=HOPS_AT_MOST, flag="--hops"),
]
DryRun = Annotated[bool, Param("Only show what would be done.", flag="--dry-run")]
Budget = Annotated[
    int | None,
    whole_number(
        "How many tokens the context may have.",
        "budget",
        least=50,
        most=TOKENS_AT_MOST,
        flag="--budget/-b",
    ),
]
Since = Annotated[
    TimeLike | None,
    Param("Only what became true at or after this time.", flag="--since", characters=100),
]
Until = Annotated[
    TimeLike | None,
    Param("Only what became true before this time.", flag="--until", characters=100),
]
By = Annotated[
    str,
    Param(
        "Filter by when notes were written, or by the times they mention.",
        flag="--by",
        choices=TIMES_MEANT,
        default="written",
    ),
]


class Filters(TypedDict, total=False):
    """The filters of a question; `Inside.scope` reads them."""

    tag: Tag
    kind: TopicKind
    glob: TopicGlob
    about: AboutUser
    since: Since
    until: Until
    by: By


When = Annotated[
    TimeLike | None, Param("When it happened (default: now).", flag="--when", characters=100)
]
ModelName = Annotated[
    str | None,
    Param(
        "The language model to call: `default` or a name from the settings (default: none).",
        flag="--model",
        characters=100,
        calls_model=True,
    ),
]


def token_budget(least: int) -> Param:
    """Return the parameter of a budget of at least `least` tokens."""
    return whole_number(
        "How many tokens at most.", "budget", least=least, most=TOKENS_AT_MOST, flag="--budget/-b"
    )
