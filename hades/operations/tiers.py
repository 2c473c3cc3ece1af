"""Tiers: where answers and texts lie, from memory to the archive; moving texts to the archive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from hades.domain.plain import counted
from hades.domain.tiers import Tier
from hades.domain.times import TimeLike, to_micros
from hades.errors import InvalidInput
from hades.operations import maintenance
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import whole_number
from hades.store import archiving
from hades.store.owed import LOG, REWRITE, owe
from hades.store.records import Progress

_AGE = re.compile(r" *([0-9]+) *([dwmy]) *")
_UNITS = {"d": "days", "w": "weeks", "m": "months", "y": "years"}
NOT_THERE = {
    "answers": "nothing asked yet",
    "shared answers": "no redis_url, nothing asked yet, or a role limited to some spaces",
    "graphs": "nothing asked yet",
    "bridges": "nothing asked yet",
    "texts": "",
    "store": "",
    "archived texts": "",
    "archive": "nothing archived",
}
"""The tiers in their order, and why one may be missing."""


@operation(
    "POST",
    "/archive",
    role=Role.ADMIN,
    command="archive",
    whole_memory=True,
    long=True,
    needs_space=True,
)
def archive(
    inside: Inside,
    *,
    older_than: Annotated[
        TimeLike,
        Param(
            "The least age of a version: 180d, 12w, 6m, 1y, or a time.",
            flag="--older-than",
            characters=100,
        ),
    ] = "180d",
    keep_versions: Annotated[
        int,
        whole_number(
            "How many of the latest versions of a topic stay.",
            "keep_versions",
            least=1,
            flag="--keep-versions",
        ),
    ] = 10,
    to: Annotated[
        str | None,
        Param(
            "A folder, s3://…, gs://… or az://…; the memory remembers it.", flag="--to", local=True
        ),
    ] = None,
    restore: Annotated[
        bool, Param("Move the texts of this space back into the store.", flag="--restore")
    ] = False,
    dry_run: Annotated[bool, Param("Only count what would move.", flag="--dry-run")] = False,
    on_progress: Progress | None = None,
) -> dict[str, int | str]:
    """Move texts of old versions in this space to an archive, compressed.

    Reading an archived version works as before. The latest and the current version of a topic
    stay, and so do versions that are not indexed yet (`not_indexed`: run `hades index`).
    `in_archive` counts all states in the archive. A stopped run can be continued. The place is
    `to` or the setting `archive`, else a folder beside the file; the memory remembers it.
    `restore` moves the texts of this space back into the store. If nothing moves, `why` says why.
    """
    if inside.store.in_transaction:
        raise InvalidInput("Archive before or after a batch or snapshot, not inside it.")
    if restore:
        home = _bring_home(inside, dry_run, on_progress)
        return {**home} if home["states"] else {**home, "why": "No text of it is in the archive."}
    topics = inside.store.topics
    before = _before(inside, older_than)
    old_versions = archiving.old_versions(
        inside.store.database, inside.space_id, before, keep_versions
    )
    pending = maintenance.pending(inside)
    old = f"older than {older_than} and not among the last {keep_versions} of its topic"
    waits = f"; {counted(pending, 'state')} must be indexed first: run `hades index`"
    why = {} if old_versions else {"why": f"No version is {old}{waits if pending else ''}."}
    if dry_run:
        sizes = [length for versions in old_versions.values() for length in versions.values()]
        return {"states": len(sizes), "bytes": sum(sizes), "not_indexed": pending, **why}
    done = {"states": 0, "bytes": 0, "objects": 0, "archived_bytes": 0, "not_indexed": pending}
    if to is not None:
        inside.finish_owed()  # remove what is left to remove at the former place
    if to is not None or old_versions:
        with inside.write("archive") as write:
            write.logged = False
            topics.archive.use(to or inside.settings.archive)
    for number, (topic, versions) in enumerate(old_versions.items()):
        if on_progress is not None:
            on_progress("archiving topics", number, len(old_versions))
        _move(inside, topic, versions, done)
    return {**_finished(inside, done), "in_archive": topics.archive.states(), **why}


@operation("GET", "/tiers", command="tiers", whole_memory=True)
def tiers(inside: Inside) -> list[Tier]:
    """Show where answers and texts are kept, and how full.

    Each tier has its size, its limit, and its hits and misses. `where` is its location or, if the
    tier is absent, the reason. This call loads no data.
    """
    listed = [tier for engine in inside.engines.values() for tier in engine.tiers()]
    listed += inside.store.tiers()
    names = {tier.name for tier in listed}
    listed += [Tier(name, why) for name, why in NOT_THERE.items() if name not in names]
    order = list(NOT_THERE)
    return sorted(listed, key=lambda tier: order.index(tier.name))


def _move(inside: Inside, topic: str, versions: Mapping[int, int], done: dict[str, int]) -> None:
    """Move versions of a topic, given with their lengths, into objects; count them in `done`."""
    topics = inside.store.topics
    for run in archiving.runs(topics, inside.space_id, topic, versions):
        with inside.store.transaction():
            name, data = topics.archive.note(run)
        with inside.write("archive") as write:
            write.subject = run.topic << 3
            write.cancelled = not topics.archive.move(run, name, data, topics.make_whole)
        if not write.cancelled:
            done["states"] += len(run.contents)
            done["bytes"] += sum(versions[version] for version in run.contents)
            done["objects"] += 1
            done["archived_bytes"] += len(data)


def _bring_home(inside: Inside, dry_run: bool, on_progress: Progress | None) -> dict[str, int]:
    database = inside.store.database
    done = {"states": 0, "objects": 0}
    objects = archiving.objects_of(database, inside.space_id)
    if dry_run:
        return {"states": sum(objects.values()), "objects": len(objects)}
    for number, name in enumerate(objects):
        if on_progress is not None:
            on_progress("bringing home", number, len(objects))
        with inside.write("archive"):
            done["states"] += inside.store.topics.archive.bring_home(database, name)
        done["objects"] += 1
    return _finished(inside, done)


def _finished(inside: Inside, done: dict[str, int]) -> dict[str, int]:
    """Shrink the file, remove objects that are no longer needed, and return `done`.

    PostgreSQL reuses the room by itself; rewriting its tables would block everybody.
    """
    if done["objects"] and "://" not in inside.store.database.place:
        with inside.store.transaction():
            owe(inside.store.database, REWRITE, LOG)
    inside.finish_owed()
    return done


def _before(inside: Inside, older_than: TimeLike) -> int:
    """Return a moment in microseconds: `180d` is 180 days ago, anything else is read as a time."""
    from hades.language.english.moments import parse_time

    age = _AGE.fullmatch(older_than) if isinstance(older_than, str) else None
    meant = older_than if age is None else f"{age[1]} {_UNITS[age[2]]} ago"
    try:
        return to_micros(parse_time(meant, inside.store.now()))
    except InvalidInput as error:
        raise InvalidInput(
            f"Cannot read the age {older_than!r}: write 180d, 12w, 6m, 1y or a time as 2024-03-31."
        ) from error
