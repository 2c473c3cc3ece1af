"""Feedback on recalls, the query log, and the weights that are learned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Annotated

from hades.domain.feedback import (
    Feedback,
    LoggedQuery,
    ParameterChange,
    Target,
    WeightSnapshot,
    given_verdicts,
    read_targets,
)
from hades.domain.rules import clean_list, clean_number
from hades.domain.times import NOW
from hades.errors import Conflict, InvalidInput
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import NUMBER_AT_MOST, TEXT_CHARACTERS_AT_MOST, Limit

VERDICTS_AT_MOST = 100
Snapshot = Annotated[
    int,
    Param(
        "The number of a weight snapshot; 0: the shipped weights.",
        example=1,
        most=NUMBER_AT_MOST,
        rule=partial(clean_number, what="snapshot"),
    ),
]


@operation("POST", "/feedback/{recall}", role=Role.WRITER, command="feedback")
def feedback(
    inside: Inside,
    recall: Annotated[
        str,
        Param("The id of a recall, as `query-log` lists it.", example="3f9a1c", characters=100),
    ],
    *,
    used: Annotated[
        Iterable[str] | None,
        Param("A path or fact that was used: path:1, fact:2.", flag="--used", characters=20),
    ] = None,
    rejected: Annotated[
        Iterable[str] | None,
        Param("A path or fact that was wrong: path:2.", flag="--rejected", characters=20),
    ] = None,
    useful: Annotated[
        Iterable[str] | None,
        Param("The number of a useful passage; may be repeated.", flag="--useful", characters=20),
    ] = None,
    useless: Annotated[
        Iterable[str] | None,
        Param("The number of a useless one; may be repeated.", flag="--useless", characters=20),
    ] = None,
    answer: Annotated[
        str | None,
        Param(
            "A text that cites the recall: [1], [F2], (path 3).",
            flag="--answer",
            characters=TEXT_CHARACTERS_AT_MOST,
        ),
    ] = None,
) -> Feedback:
    """Say which paths, facts and passages of a recall were good.

    Verdicts on paths teach the weights of relations. Verdicts on paths and facts change the belief
    in extracted edges, never in told ones, and verdicts on passages the strength of their states.
    An `answer` that cites a recall gives verdicts too: its citations are good, and items ranked
    above a citation were passed over. A verdict counts once, and what one actor can move is
    limited. See `docs/upkeep.md`.
    """
    good = _targets("path", used, "used") + _targets("passage", useful, "useful")
    bad = _targets("path", rejected, "rejected") + _targets("passage", useless, "useless")
    if len(good) + len(bad) > VERDICTS_AT_MOST:
        raise InvalidInput(f"One feedback has at most {VERDICTS_AT_MOST} verdicts.")
    from hades.lifecycle.learning import Learner

    with inside.write("feedback") as write:
        shown = inside.store.query_log.get(inside.space_id, recall)
        verdicts = given_verdicts(shown, good, bad, answer or "")
        if not verdicts and answer:
            raise InvalidInput("The answer cites nothing that was shown: write [1], [F1] or (P1).")
        if not verdicts:
            raise InvalidInput("Say what was good or bad: a path, a fact, a passage or an answer.")
        before = inside.store.feedback.verdicts(inside.space_id, recall)
        for (kind, number), verdict in verdicts.items():
            known = before.get((kind, number), verdict)
            if known.good != verdict.good and known.sure and verdict.sure:
                verdict_word = "good" if known.good else "bad"
                raise Conflict(
                    f"{kind} {number} of recall {recall} was called {verdict_word} before."
                )
        new = {target: verdict for target, verdict in verdicts.items() if target not in before}
        done = Feedback(recall, len(new), held_out=False, pairs=0, snapshot=0, adopted=False)
        write.cancelled = not new
        if new:
            learner = Learner(inside.store, write, inside.space_id, inside.actor)
            judgement = learner.judge(shown, new)
            learner.believe(shown, judgement)
            learner.judge_states(shown, new)
            done = learner.take(recall, judgement)
        return replace(done, snapshot=inside.store.weights.in_force(inside.space_id, NOW).snapshot)


def _targets(kind: str, given: Iterable[str] | None, name: str) -> list[Target]:
    return [] if given is None else read_targets(kind, clean_list(given, name))


@operation("GET", "/query-log", command="query-log", needs_space=True)
def query_log(inside: Inside, limit: Limit = 20) -> list[LoggedQuery]:
    """List the last questions and what they were shown.

    The newest comes first. The questions of another process may appear some time later, because
    they are written together.
    """
    return inside.store.query_log.last(inside.space_id, limit)


@operation("GET", "/weights", command="weights show", timed=True, needs_space=True)
def weights(inside: Inside) -> dict[str, float]:
    """Show the weights in force: every parameter with its value."""
    return inside.store.weights.in_force(inside.space_id, inside.as_of).parameters()


@operation("GET", "/weights/snapshots", command="weights snapshots", needs_space=True)
def weight_snapshots(inside: Inside) -> list[WeightSnapshot]:
    """List the weight snapshots of the space, oldest first."""
    return inside.store.weights.find(inside.space_id)


@operation("GET", "/weights/diff", command="weights diff", needs_space=True)
def weights_diff(
    inside: Inside,
    before: Snapshot = 0,
    after: Annotated[
        int | None, Param("The other snapshot (default: the one in force).", most=NUMBER_AT_MOST)
    ] = None,
) -> list[ParameterChange]:
    """Show the parameters in which two weight snapshots differ."""
    table = inside.store.weights
    space = inside.space_id
    current = table.in_force(space, inside.as_of).snapshot
    old = table.get(space, before).parameters()
    new = table.get(space, current if after is None else after).parameters()
    return [
        ParameterChange(name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]


@operation("POST", "/weights/rollback/{snapshot}", role=Role.WRITER, command="weights rollback")
def weights_rollback(inside: Inside, snapshot: Snapshot) -> WeightSnapshot:
    """Bring back the weights of a snapshot (0: the shipped ones).

    They become a new snapshot, so that the past stays as it was. Learning starts again from it.
    """
    with inside.write("rollback_weights") as write:
        table = inside.store.weights
        space = inside.space_id
        chosen = table.get(space, snapshot)
        number = table.add(write, space, chosen, adopted=True)
    return next(row for row in table.find(space) if row.id == number)
