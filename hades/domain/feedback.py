"""Feedback: verdicts on the results of a recall, and the weight snapshots learned from them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from hades.domain.plain import counted
from hades.errors import InvalidInput

KINDS = ("passage", "path", "fact")
_MARKS = {"p": "path", "f": "fact"}
ACTOR_DAYS_AT_MOST = 4
"""The maximum number of days that count for each actor, for uses of a state and for verdicts on an
edge. A day counts once. Chosen by hand: the uses of one actor raise a score by at most 0.083."""
TEACHING_AT_MOST = 4
"""How much feedback of one actor may change or test the weights of a space in a day."""
PAIRS_AT_MOST = 25
"""The most pairs of paths that one feedback may teach."""
_TARGET = re.compile(r"[\[(]?(?:(passage|path|p|fact|f)[: ]?)?([1-9]\d{0,3})[\])]?", re.IGNORECASE)
"""A passage, path or fact as it is named in a verdict: `path:1`, or as a recall shows it: `P1`."""
_CITED = re.compile(r"[\[［【(] ?(path |[FP])?(\d[\d ,;–-]{0,80})[\]］】)]", re.IGNORECASE)
"""A citation in an answer: `[1]`, `[2, 3]`, `[F1]`, `(P2)`, `(path 2)`."""
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*[–-]\s*(\d{1,4}))?")


@dataclass(frozen=True, slots=True)
class ShownPath:
    """A path in the query log: its text, its score without learned boosts, and its steps."""

    text: str
    score: float
    steps: tuple[tuple[str, int], ...]
    """The relation and the edge id of each step; 0 for a mention and the like."""


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A question in the query log with its results. Feedback refers to it by `id`."""

    id: str
    at: datetime
    asker: str
    question: str
    passages: tuple[str, ...]
    paths: tuple[ShownPath, ...]
    facts: tuple[int, ...]
    """The ids of the edges."""
    conveyance: float
    ms: float

    def count(self, kind: str) -> int:
        """Return how many passages, paths or facts were shown."""
        return len({"passage": self.passages, "path": self.paths, "fact": self.facts}[kind])


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a passage, path or fact of a recall was good; `sure` if somebody said so."""

    good: bool
    sure: bool = True


Target = tuple[str, int]
"""A kind and a number: ("path", 1)."""


class JudgedStep(NamedTuple):
    """A step of a judged path."""

    relation: str
    parts: Mapping[str, float] | None
    """Similarity, evidence and freshness of an edge that a text states; None for other steps."""
    belief: float | None
    """The belief of a told edge; None for other steps, which have no belief of their own."""


@dataclass(frozen=True, slots=True)
class JudgedPath:
    """A path with its verdict, as it is learned from. It has relations and numbers, no names."""

    number: int
    verdict: Verdict
    base: float
    """The logarithm of its score, without what weights and boosts of its steps contribute."""
    steps: tuple[JudgedStep, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """All verdicts of one feedback, and the paths among them."""

    verdicts: Mapping[Target, Verdict]
    paths: tuple[JudgedPath, ...] = ()

    def pairs(self) -> list[tuple[JudgedPath, JudgedPath]]:
        """Return up to PAIRS_AT_MOST pairs of a used path and a rejected one.

        A path that was only passed over is paired with the used paths below it.
        """
        used = [path for path in self.paths if path.verdict.good]
        others = [path for path in self.paths if not path.verdict.good]
        return [
            (good, bad)
            for good in used
            for bad in others
            if bad.verdict.sure or bad.number < good.number
        ][:PAIRS_AT_MOST]

    def as_json(self) -> str:
        """Return the judgement as JSON, as the store keeps it."""
        return json.dumps(
            {
                "verdicts": [
                    [*target, verdict.good, verdict.sure]
                    for target, verdict in self.verdicts.items()
                ],
                "paths": [[path.number, path.base, path.steps] for path in self.paths],
            }
        )


def read_judgement(text: str) -> Judgement:
    """Return what `Judgement.as_json` wrote; raise ValueError or KeyError for anything else."""
    read = json.loads(text)
    verdicts = {
        (str(kind), int(number)): Verdict(bool(good), bool(sure))
        for kind, number, good, sure in read["verdicts"]
    }
    paths = []
    for number, base, steps in read["paths"]:
        judged = tuple(_step(*step) for step in steps)
        if not math.isfinite(base) or not judged:
            raise ValueError("a judged path has no score or no steps")
        paths.append(JudgedPath(int(number), verdicts["path", number], float(base), judged))
    return Judgement(verdicts, tuple(paths))


def _step(relation: str, parts: Mapping[str, float] | None, belief: float | None) -> JudgedStep:
    parts = None if parts is None else dict(parts)
    if not all(0 <= value <= 1 for value in (*(parts or {}).values(), belief or 0.0)):
        raise ValueError("a part of a weight is not between 0 and 1")
    return JudgedStep(str(relation), parts, belief)


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of `feedback`."""

    recall: str
    counted: int
    """The number of verdicts, without those that were counted before."""
    held_out: bool
    """Whether this feedback tests snapshots instead of teaching (every fourth with pairs)."""
    pairs: int
    """The number of pairs of a used and a rejected path."""
    snapshot: int
    """The weight snapshot in force afterwards; 0: the shipped weights."""
    adopted: bool
    """Whether this feedback led to the adoption of that snapshot."""
    limited: bool = False
    """Whether the weights stayed as they are, because the actor reached the limit of the day."""

    def __str__(self) -> str:
        if not self.counted:
            return "nothing new: these verdicts were counted before"
        use = "held out to test weights" if self.held_out else "to learn from"
        if self.limited:
            use = f"not learned from: an actor teaches {TEACHING_AT_MOST} times a day"
        pairs = f", {counted(self.pairs, 'pair')} of paths {use}" if self.pairs else ""
        weights = f"weight snapshot {self.snapshot} is" if self.snapshot else "shipped weights are"
        now = " now" if self.adopted else ""
        return f"{counted(self.counted, 'verdict')} counted{pairs}; {weights}{now} in force"


@dataclass(frozen=True, slots=True)
class WeightSnapshot:
    """A numbered configuration of edge weights, from feedback or from a rollback."""

    id: int
    parent: int
    """The snapshot it started from; 0: the shipped weights."""
    at: datetime
    adopted_at: datetime | None
    updates: int
    """The number of feedbacks that it learned from."""
    tested: int
    """The number of held-out pairs of paths in its last test."""
    accuracy: float | None
    """The share of these pairs that it orders as people did; None before the first test."""
    accuracy_before: float | None
    """The share that the weights in force before order as people did."""
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """A parameter that differs between two weight snapshots; None if one lacks it."""

    parameter: str
    before: float | None
    after: float | None


def read_targets(kind: str, given: Iterable[str | int] | None) -> list[Target]:
    """Return the targets of texts such as `path:1`, `P1` or `[F2]`; a plain number is of `kind`."""
    targets = []
    for text in given or ():
        match = _TARGET.fullmatch(str(text).strip())
        if match is None:
            raise InvalidInput(f"{str(text)[:80]!r} is not a number from 1 on, nor like path:1.")
        mark = (match[1] or kind).casefold()
        targets.append((_MARKS.get(mark, mark), int(match[2])))
    return targets


def cited_in(answer: str) -> set[Target]:
    """Return the passages, facts and paths that an answer cites.

    >>> sorted(cited_in("It failed [1], [F2], because (path 3) and [4-5]."))
    [('fact', 2), ('passage', 1), ('passage', 4), ('passage', 5), ('path', 3)]
    """
    cited: set[Target] = set()
    for match in _CITED.finditer(answer):
        mark = (match[1] or "passage").strip().casefold()
        if mark == "passage" and match[0][0] == "(":
            continue  # a number in brackets, such as a year
        kind = _MARKS.get(mark, mark)
        for first, last in _NUMBERS.findall(match[2]):
            numbers = range(int(first), min(int(last or first), int(first) + 50) + 1)
            cited |= {(kind, number) for number in numbers}
    return cited


def given_verdicts(
    shown: LoggedQuery, good: Iterable[Target], bad: Iterable[Target], answer: str
) -> dict[Target, Verdict]:
    """Return the verdict on each target; raise InvalidInput if one is missing or contradictory.

    Everything that the answer cites is good. Something that was ranked above a citation and is not
    cited itself was passed over: it is bad, but not as sure as if somebody had said so.
    """
    verdicts: dict[Target, Verdict] = {}
    for targets, is_good in ((good, True), (bad, False)):
        for kind, number in targets:
            if number > shown.count(kind):
                most = shown.count(kind)
                raise InvalidInput(f"The recall {shown.id} has no {kind} {number}: it has {most}.")
            if verdicts.get((kind, number), Verdict(is_good)).good != is_good:
                raise InvalidInput(f"{kind} {number} cannot be both good and bad.")
            verdicts[kind, number] = Verdict(is_good)
    cited = {target for target in cited_in(answer) if target[1] <= shown.count(target[0])}
    for kind in KINDS:
        numbers = [number for cited_kind, number in cited if cited_kind == kind]
        for number in range(1, max(numbers, default=0) + 1):
            verdicts.setdefault((kind, number), Verdict(number in numbers, number in numbers))
    return verdicts
