"""Feedback on recalls, and the weight snapshots that were learned from it.

Everything here belongs to one space. The snapshot in force at a known time is the one that was
adopted last before it; without any, the shipped weights hold.
"""

from __future__ import annotations

from typing import Any

from hades.domain.feedback import Judgement, Target, Verdict, WeightSnapshot, read_judgement
from hades.domain.times import AsOf, from_micros, from_micros_or_none
from hades.domain.weights import SHIPPED, Weighting, read_weighting
from hades.errors import NotFound
from hades.store.database import StorePart, intact
from hades.store.records import Write

HELD_OUT_EVERY = 4
"""The share of feedback with pairs of paths that tests snapshots: every fourth."""
READ_AT_MOST = 500
"""How many of the latest feedbacks are read to test a snapshot."""
_IN_FORCE = """
SELECT (SELECT id FROM weight_snapshots WHERE space = ?1 AND adopted_at <= ?2
        ORDER BY adopted_at DESC, id DESC LIMIT 1)
"""
_SNAPSHOT = (
    "SELECT id, started_from, recorded_at, adopted_at, updates, tested, accuracy, accuracy_before, "
    "config FROM weight_snapshots WHERE space = ?"
)
_JUDGE = """
INSERT INTO usefulness SELECT s.id, ?4, ?5, ?6 FROM topics t JOIN states s ON s.topic = t.id
WHERE t.space = ?1 AND t.name = ?2 AND s.version = ?3
ON CONFLICT (state, actor) DO UPDATE SET useful = excluded.useful, useless = excluded.useless
WHERE excluded.useful + excluded.useless >= usefulness.useful + usefulness.useless
"""
"""A weaker verdict, on a state that an answer passed over, does not replace a stronger one."""


class Weights(StorePart):
    """The weight snapshots of each space."""

    def in_force(self, space: int, as_of: AsOf) -> Weighting:
        """Return the weighting of a space as of a moment."""
        known = self._database.moment(as_of)[1]
        return self.get(space, self._database.once(_IN_FORCE, space, known)[0] or SHIPPED.snapshot)

    def find(self, space: int) -> list[WeightSnapshot]:
        """Return all snapshots of a space, oldest first."""
        rows = self._database.rows(f"{_SNAPSHOT} ORDER BY id", space)
        return [_snapshot(row) for row in rows]

    def get(self, space: int, snapshot: int) -> Weighting:
        """Return the weighting of a snapshot, 0 for the shipped one. Raise NotFound if missing."""
        if snapshot == SHIPPED.snapshot:
            return SHIPPED
        row = self._database.once(
            "SELECT config FROM weight_snapshots WHERE space = ? AND id = ?", space, snapshot
        )
        if row is None:
            raise NotFound(f"There is no weight snapshot {snapshot} in this space.")
        with intact(f"The weight snapshot {snapshot}"):
            return read_weighting(row[0], snapshot)

    def learning(self, space: int) -> WeightSnapshot | None:
        """Return the snapshot that is still learning: the newest one, unless it was adopted."""
        row = self._database.row(f"{_SNAPSHOT} ORDER BY id DESC LIMIT 1", space)
        return None if row is None or row[3] is not None else _snapshot(row)

    def add(self, write: Write, space: int, weights: Weighting, *, adopted: bool = False) -> int:
        """Write a new snapshot that starts from these weights, and return its number."""
        return self._database.insert(
            "weight_snapshots",
            space=space,
            started_from=weights.snapshot or None,
            config=weights.as_json(),
            updates=0,
            adopted_at=write.at if adopted else None,
            **write.stamp,
        )

    def update(self, write: Write, snapshot: int, **changed: Any) -> None:
        """Set columns of the snapshot that learns."""
        self._database.look_again()
        columns = ", ".join(f"{name} = ?" for name in changed)
        self._database.run(
            f"UPDATE weight_snapshots SET {columns}, change = ? WHERE id = ?",
            *changed.values(),
            write.change,
            snapshot,
        )


class FeedbackTable(StorePart):
    """The verdicts on recalls, and the usefulness of states."""

    def verdicts(self, space: int, recall: str) -> dict[Target, Verdict]:
        """Return the verdicts that were given on a recall before."""
        given: dict[Target, Verdict] = {}
        for text in self._database.column(
            "SELECT verdicts FROM feedback WHERE space = ? AND recall = ? ORDER BY id",
            space,
            recall,
        ):
            given |= _judgement(text).verdicts
        return given

    def add(
        self,
        write: Write,
        space: int,
        recall: str,
        by: str,
        judgement: Judgement,
        held_out: bool,
        snapshot: int | None,
    ) -> None:
        """Write a feedback; `snapshot` is the one that learned from it."""
        self._database.insert(
            "feedback",
            space=space,
            recall=recall,
            at=write.at,
            actor=self._database.actor_id(by),
            held_out=int(held_out),
            verdicts=judgement.as_json(),
            snapshot=snapshot,
            change=write.change,
        )

    def is_next_held_out(self, space: int) -> bool:
        """Return whether the next feedback with pairs is held out."""
        since = (
            "SELECT verdicts FROM feedback WHERE space = ?1 AND snapshot IS NOT NULL AND id > "
            "(SELECT coalesce(max(id), 0) FROM feedback WHERE space = ?1 AND held_out = 1)"
        )
        taught = sum(bool(judgement.pairs()) for judgement in self._latest(since, space))
        return taught >= HELD_OUT_EVERY - 1

    def held_out(self, space: int) -> list[Judgement]:
        """Return the latest feedback that was held out."""
        return self._latest(
            "SELECT verdicts FROM feedback WHERE space = ?1 AND held_out = 1", space
        )

    def _latest(self, sql: str, space: int) -> list[Judgement]:
        texts = self._database.column(f"{sql} ORDER BY id DESC LIMIT ?2", space, READ_AT_MOST)
        return [_judgement(text) for text in texts]

    def judge(
        self, space: int, actor: str, topic: str, version: int, useful: float, useless: float
    ) -> None:
        """Set the verdict of an actor on a state. A state that is gone is skipped."""
        number = self._database.actor_id(actor)
        self._database.run(_JUDGE, space, topic, version, number, useful, useless)

    def taught(self, space: int, actor: str, since: int) -> int:
        """Return how many feedbacks of an actor taught or tested weights since a time."""
        return int(
            self._database.value(
                "SELECT count(*) FROM feedback WHERE space = ? AND actor = ? AND at >= ? "
                "AND (snapshot IS NOT NULL OR held_out = 1)",
                space,
                self._database.actor_id(actor),
                since,
            )
        )


def _judgement(text: str) -> Judgement:
    with intact("A feedback"):
        return read_judgement(text)


def _snapshot(row: tuple[Any, ...]) -> WeightSnapshot:
    number, parent, at, adopted_at, updates, tested, accuracy, before, config = row
    with intact(f"The weight snapshot {number}"):
        return WeightSnapshot(
            number,
            parent or 0,
            from_micros(at),
            from_micros_or_none(adopted_at),
            updates,
            tested,
            accuracy,
            before,
            read_weighting(config, number).parameters(),
        )
