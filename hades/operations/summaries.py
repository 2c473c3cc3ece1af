"""Summaries of days, weeks and months, and the states they were made of."""

from __future__ import annotations

from typing import Annotated

from hades.domain.summaries import LEVELS, Consolidation
from hades.domain.times import TimeLike
from hades.domain.topics import State
from hades.errors import InvalidInput
from hades.operations import states
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import (
    PAGE_AT_MOST,
    DryRun,
    ModelName,
    PageLimit,
    TopicName,
    Version,
    whole_number,
)
from hades.store.records import Progress


@operation(
    "POST", "/consolidate", role=Role.WRITER, command="consolidate", job=True, needs_space=True
)
def consolidate(
    inside: Inside,
    *,
    since: Annotated[
        TimeLike | None, Param("Only periods from this time on.", "--since", characters=100)
    ] = None,
    until: Annotated[
        TimeLike | None, Param("Only periods up to this time.", "--until", characters=100)
    ] = None,
    level: Annotated[
        str | None,
        Param(f"One of {', '.join(LEVELS)} (else all).", "--level", choices=tuple(LEVELS)),
    ] = None,
    at_least: Annotated[
        int,
        whole_number(
            "How many states a day or month must have.",
            "at_least",
            least=1,
            most=PAGE_AT_MOST,
            flag="--at-least",
        ),
    ] = 10,
    model: ModelName = None,
    dry_run: DryRun = False,
    on_progress: Progress | None = None,
) -> Consolidation:
    """Summarise the days, weeks and months that are over.

    A summary is the state of a topic `summary/2026-11-03`, `summary/2026-W45` or
    `summary/2026-11`. It is made again when something of its time was written or changed.
    Questions about a longer time are answered from summaries, with the originals cited; other
    questions never see them. With a `model` the model writes them; sentences that its sources do
    not support are dropped, and if most are, the summary consists of sentences of the texts.
    """
    from hades.lifecycle.consolidate import Consolidator

    if level is not None and level not in LEVELS:
        raise InvalidInput(f"There is no level {level!r}: use one of {', '.join(LEVELS)}.")
    first = inside.time(since)
    last = inside.time(until)
    if first is not None and last is not None and first > last:
        raise InvalidInput(f"{since} is after {until}: give `since` and `until` in their order.")
    from hades.models.chat import open_chat_model

    report = on_progress or (lambda _what, _done, _total: None)
    chat = None if model is None else open_chat_model(model)
    run = (inside.store, inside.space_id, inside.actor, at_least, report, dry_run, chat)
    return Consolidator(*run).run(first, last, [LEVELS[level]] if level else LEVELS.values())


@operation("GET", "/originals/{summary}", command="drill", timed=True, cursor=lambda one: [one.id])
def originals(
    inside: Inside,
    summary: Annotated[str, Param("The topic of a summary.", example="summary/2026-11")],
    version: Version = None,
    *,
    every: Annotated[
        bool, Param("Go down to the original states instead of one level.", "--all")
    ] = False,
    after: Annotated[str | None, Param("Only states after this one: topic@version.")] = None,
    limit: PageLimit = None,
) -> list[State]:
    """Show what a summary was made of.

    `every` goes down to the original states instead of one level. They come in the order of
    time; `after` and `limit` page through a long list.
    """
    with inside.store.snapshot():
        state = states.get(inside, summary, version)
        if not state.consolidated_from and not state.level:
            raise InvalidInput(
                f"{state.id} is not a summary: `hades topics 'summary/*'` lists them."
            )
        ids = list(state.consolidated_from)
        if every:
            ids = inside.store.summaries.originals(inside.space_id, summary, state.version)
        first = ids.index(after) + 1 if after in ids else 0
        return [_cited(inside, id_) for id_ in ids[first:][:limit]]


@operation("GET", "/summaries/{topic}", command="summaries", timed=True)
def summaries(inside: Inside, topic: TopicName, version: Version = None) -> list[State]:
    """List the summaries that cover a topic.

    Daily summaries come first; each is listed in all its versions, and `history` shows how they
    differ. With `version`, list only the summaries that cover this version of the topic.
    """
    with inside.store.snapshot():
        states.get(inside, topic, version)
        ids = inside.store.summaries.holding(inside.space_id, topic, version)
        return [_cited(inside, id_) for id_ in ids]


def _cited(inside: Inside, id_: str) -> State:
    topic, _, version = id_.rpartition("@")
    return states.get(inside, topic, int(version))
