"""Commits: who wrote a file, and when it changed.

A repository that is ingested with its history has a state for each commit and file; the metadata
of the state names the commit. The edges `changed_by`, from a file to an author, are made from it
when a question asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hades.domain.graph import Edge, Node, NodeKind, Provenance
from hades.domain.plain import counted, one_line
from hades.domain.question import TimeKind
from hades.domain.statement import day
from hades.domain.times import to_micros
from hades.recall.find.finder import Scope
from hades.recall.query_context import QueryContext
from hades.recall.question.time_asked import TimeAsked
from hades.store.sources import CommitRow
from hades.store.store import Store

AUTHORS = "authors"
FIRST = "first_commit"
LAST = "last_commit"
OF_COMMITS = (AUTHORS, "commits", FIRST, LAST)
"""The relations that a question may ask for and that commits answer."""
CHANGED_BY = "changed_by"
SUBJECT_CHARACTERS = 200
FILES_AT_MOST = 20


def files_called(store: Store, scope: Scope, name: str) -> dict[int, str]:
    """Return the files that a name may mean: those with commits or, if none has any, of code."""
    called = store.derived_edges.called(scope.space, name, ("code", "document"))
    files = {node: path for node, path in sorted(called.items()) if NodeKind.TOPIC.has(node)}
    changed = {row.topic for row in store.sources.commits(list(files), scope.as_of)}
    kept = [
        (node, path)
        for node, path in files.items()
        if (path in changed if changed else store.topics.kind(scope.space, path) == "code")
    ]
    return dict(kept[:FILES_AT_MOST])


def commit_edges(
    query: QueryContext, wanted: str, files: Mapping[int, str], time: TimeAsked
) -> list[Edge]:
    """Return the edges that answer a question about the commits of files within a time.

    There is an edge for each commit, newest first. If the question wants the first or the last
    commit, there is one for each file; if it wants authors, one for each author of a file, those
    with most commits first.
    """
    rows = [row for row in _commits(query, files) if _is_within(row, time)]
    if wanted != AUTHORS:
        first = {row.topic: row for row in rows}
        last = {row.topic: row for row in reversed(rows)}
        chosen = {FIRST: list(first.values()), LAST: list(last.values())}.get(wanted, rows)
        return [_edge(row, _told(row)) for row in chosen]
    by_author: dict[tuple[str, str], list[CommitRow]] = {}
    for row in rows:
        by_author.setdefault((row.topic, row.author), []).append(row)
    ranked = sorted(by_author.values(), key=lambda own: -len(own))
    return [_edge(own[0], _told_of_author(own)) for own in ranked]


def no_commits(query: QueryContext, files: Mapping[int, str]) -> str:
    """Return why nothing was found: no commits at the time asked about, or none at all."""
    names = ", ".join(files.values())
    if _commits(query, files):
        return f"no commit changed {names} at that time"
    return f"the memory has no commits of {names}: `hades ingest --history REPO` reads them"


def _commits(query: QueryContext, files: Mapping[int, str]) -> list[CommitRow]:
    """Return the commits of files that pass the filters of the query."""
    shown = [node for node in files if query.topics is None or node >> 3 in query.topics]
    return query.store.sources.commits(shown, query.as_of)


def _is_within(row: CommitRow, time: TimeAsked) -> bool:
    when = to_micros(row.when)
    if time.kind is TimeKind.BEFORE:
        return when <= time.until
    return time.kind not in (TimeKind.DURING, TimeKind.SINCE) or time.since <= when <= time.until


def _told(row: CommitRow) -> str:
    subject = row.message.partition("\n")[0][:SUBJECT_CHARACTERS]
    return f"{day(row.when)}, {row.author}: {subject} ({one_line(row.topic)}, {row.id[:10]})"


def _told_of_author(rows: Sequence[CommitRow]) -> str:
    """Return what an author did, from commits of one file, newest first."""
    last = day(rows[0].when)
    first = day(rows[-1].when)
    times = f"on {last}" if first == last else f"from {first} to {last}"
    return (
        f"{rows[0].author} wrote {one_line(rows[0].topic)}: {counted(len(rows), 'commit')}, {times}"
    )


def _edge(row: CommitRow, text: str) -> Edge:
    return Edge(
        id=0,
        source=Node(NodeKind.TOPIC.label, row.topic),
        relation=CHANGED_BY,
        target=Node(NodeKind.ENTITY.label, row.author),
        weight=1.0,
        valid_from=row.when,
        valid_to=None,
        recorded_at=row.recorded_at,
        evidence=text,
        provenance=Provenance(f"{row.topic}@{row.version}#0", 0, 0),
    )
