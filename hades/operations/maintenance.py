"""Maintenance: spaces, counts, the change log, damage, and the memory as files."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from hades.domain.compare import in_one_line
from hades.domain.graph import Edge
from hades.domain.plain import one_line
from hades.domain.rules import clean_name
from hades.domain.times import FOREVER
from hades.domain.topics import Change, Growth, Lifetime, Space
from hades.errors import InvalidInput
from hades.exchange import jsonl, node_link
from hades.ingest.document import unpack_document, unpack_introductions
from hades.operations import edges, states
from hades.operations.declare import Param, operation
from hades.operations.inside import Inside
from hades.operations.parameters import Most, whole_number
from hades.store.records import Phase, Problem, Progress

if TYPE_CHECKING:
    from hades.exchange.servers import Sent
    from hades.exchange.snapshot import GraphSnapshot

_NOT_A_RECORD = (
    *(KeyError, TypeError, ValueError, AttributeError),
    *(OverflowError, RecursionError, zlib.error),
)
"""The errors that reading a line raises if it is JSON but not a record of ours."""
EDGES_SHOWN = 3
_ASK = "ask a question: it is built again"

# Spaces


def spaces(inside: Inside) -> list[Space]:
    """List the spaces of the memory, sorted by name."""
    return inside.store.spaces.list()


def create_space(inside: Inside, name: str) -> Space:
    """Create an empty space; raise Conflict if it exists."""
    clean_name(name, "space")
    with inside.store.write(inside.actor, "create_space") as write:
        return inside.store.spaces.create(write, name)


def drop_space(inside: Inside, name: str) -> None:
    """Erase a space with everything in it; raise InvalidInput for the default space."""
    with inside.store.write(inside.actor, "drop_space") as write:
        inside.store.spaces.drop(write, name)
    inside.finish_owed()


# Counts and changes


@operation("GET", "/stats", command="stats")
def stats(inside: Inside) -> dict[str, int]:
    """Count what this space holds, and show the file's size."""
    with inside.store.snapshot():
        inside.require_space()
        return inside.store.spaces.stats(inside.space_id)


@operation("GET", "/lifetime", needs_space=True)
def lifetime(inside: Inside) -> Lifetime:
    """Return the earliest times for which this space holds something and knew something."""
    return inside.store.spaces.lifetime(inside.space_id)


@operation("GET", "/growth", long=True)
def growth(
    inside: Inside,
    steps: Annotated[
        int,
        whole_number(
            "The number of points in time.", "number of steps", least=1, most=500, flag="--steps"
        ),
    ] = 50,
) -> list[Growth]:
    """Count the topics and versions that were recorded up to each of several points in time."""
    with inside.store.snapshot():
        inside.require_space()
        return list(inside.store.spaces.growth(inside.space_id, steps, inside.store.now()))


@operation("GET", "/log", command="log", cursor=lambda change: [change.number])
def log(
    inside: Inside,
    limit: Most = 20,
    *,
    after: Annotated[
        int, whole_number("Only changes before this number.", "number", flag="--before")
    ] = 0,
    upkeep: Annotated[bool, Param("Include what indexing wrote.", flag="--upkeep")] = False,
) -> list[Change]:
    """List the latest changes: who changed what, and when.

    The newest change comes first. `limit` and `after` (the number of the last change seen; 0:
    from the newest) page through the log. `upkeep` includes what indexing and archiving wrote.
    """
    if limit is None:
        raise InvalidInput("Say how many changes: the limit is a whole number.")
    with inside.store.snapshot():
        inside.require_space()
        changes = inside.store.spaces.log(inside.space_id, limit, after or FOREVER, upkeep=upkeep)
        numbers = [change.number for change in changes]
        written = inside.store.topics.written(inside.space_id, numbers)
        changed = inside.store.edges.written(inside.space_id, numbers)
        return [
            replace(change, summary=_summary(inside, change, written, changed))
            for change in changes
        ]


def _summary(
    inside: Inside, change: Change, written: Mapping[int, tuple[str, int]], changed: Sequence[Edge]
) -> str:
    """Return what a change did to the topic or the edges of its subject, in one line."""
    if change.number in written:
        topic, version = written[change.number]
        before = states.get(inside, topic, version - 1) if version > 1 else None
        return in_one_line(before, states.get(inside, topic, version))
    texts: dict[int, str] = {}
    for edge in changed:  # a retired belief comes before the one that replaced it
        if edge.source.name == change.subject and change.at in (edge.recorded_at, edge.retired_at):
            has_ended = edge.valid_to or edge.retired_at == change.at
            texts[edge.id] = f"{'ended: ' if has_ended else ''}{edge}"
    return one_line("; ".join([*texts.values()][:EDGES_SHOWN]))


@operation("GET", "/change")
def change(inside: Inside) -> int:
    """Return the number of the last committed write."""
    return inside.store.change()


@operation("GET", "/pending", needs_space=True)
def pending(inside: Inside) -> int:
    """Return how many states of this space wait to be indexed."""
    return inside.store.chunks.pending_count(inside.space_id)


@operation("GET", "/unembedded", needs_space=True)
def unembedded(inside: Inside) -> int:
    """Return how many passages of this space have no vector yet: only words and names find them."""
    return inside.store.chunks.unembedded_count(inside.finder.encoder.model, inside.space_id)


# Damage


def check(inside: Inside, on_progress: Progress | None = None) -> list[Problem]:
    """Look for damage; each problem says where it is and how to repair it."""
    from hades.index.space_words import damaged

    damage = damaged(inside.store.index_folder)
    return [
        *inside.store.check(on_progress),
        *(Problem(f"the index is damaged: {why}", str(path), _ASK) for path, why in damage.items()),
    ]


def repair(inside: Inside, on_progress: Progress | None = None) -> list[Problem]:
    """Repair what can be derived again (pointers, copies); return what the store still reports."""
    inside.store.repair()
    with inside.write("repair"):
        pass  # Bump the change number so that caches are invalidated.
    inside.finish_owed()
    return inside.store.check(on_progress)


# Files


def export(
    inside: Inside, path: str | Path | TextIO, format: str = "jsonl", *, embeddings: bool = False
) -> None:
    """Write the memory to a file, a folder or an open text file.

    `jsonl` holds all spaces and times; `node-link`, `graphml`, `arango` and `neo4j` hold the graph
    of this space as of the time of the view, and `markdown` its notes, one file each. `embeddings`
    adds the vectors of passages and names, which `jsonl` always has and `graphml` and `markdown`
    cannot hold.
    """
    from hades.exchange import formats

    formats.check(format, embeddings=embeddings)
    target = Path(path).expanduser() if isinstance(path, str | Path) else path
    if format in formats.FOLDERS:
        if not isinstance(target, Path):
            raise InvalidInput(f"The format {format} is a folder: give a path for it.")
        with formats.new_folder(target) as folder, inside.store.snapshot():
            if format == "markdown":
                _export_notes(inside, folder)
            else:
                formats.GRAPH_FOLDERS[format](_graph(inside, embeddings), folder)
    else:
        with formats.text_file(target) as file:
            _export_file(inside, file, format, embeddings)


def export_to(
    inside: Inside, url: str, *, embeddings: bool = False, on_progress: Progress | None = None
) -> Sent:
    """Send the graph of this space, as of the time of the view, to a server.

    The URL is `neo4j://HOST:7687/DATABASE`, `arango+http://HOST:8529/DATABASE` or
    `qdrant+http://HOST:6333/COLLECTION`. Sending again replaces and never adds twice.
    """
    from hades.exchange.servers import read_server, send

    server = read_server(url)
    with inside.store.snapshot():
        graph = _graph(inside, embeddings or server.needs_vectors)
        return send(graph, server, on_progress or (lambda *_: None))


def import_(inside: Inside, path: str | Path, *, into: str | None = None) -> dict[str, int]:
    """Import what `export` wrote as jsonl or node-link, all or nothing; return counts by kind.

    A jsonl export contains its own spaces with all their history; if it has only one, `into`
    renames it. A node-link file goes into this space, or into the space `into`.
    """
    source = Path(path).expanduser()
    if not source.is_file():
        raise InvalidInput(f"There is no file {source} to import.")
    if source.suffix == ".json":
        target = inside if into is None else replace(inside, space=into)
        return _import_graph(target, node_link.read(source))
    if into is not None:
        clean_name(into, "space")
    reader = jsonl.Reader(source)
    with inside.store.write(inside.actor, "import") as write:
        try:
            counts = inside.store.load(write, _with_outlines(reader), into)
        except _NOT_A_RECORD as error:
            raise InvalidInput(
                f"{reader.where()} is not a record this version can read "
                f"({node_link.short_reason(error)}); nothing was imported."
            ) from error
    inside.follow_encoder(only_default=True)
    return counts


def _with_outlines(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield records; raise one of `_NOT_A_RECORD` if the outline of a document cannot be read."""
    for record in records:
        if record.get("table") == "pending" and record.get("outline") is not None:
            outline = base64.b64decode(record["outline"], validate=True)
            if record["phase"] in (Phase.CHUNKS, Phase.LARGE):
                unpack_document(outline, "", "")
            else:
                unpack_introductions(outline)
        yield record


def backup(inside: Inside, path: str | Path, on_progress: Progress | None = None) -> None:
    """Copy a memory that is a file, not PostgreSQL, to a new file while others use it."""
    inside.store.backup(str(path), on_progress)


def restore(inside: Inside, path: str | Path, on_progress: Progress | None = None) -> None:
    """Replace this memory, a file, with a backup in one step, also for others who have it open."""
    inside.store.restore(str(path), inside.actor, on_progress)
    inside.finish_owed()


def _export_file(inside: Inside, file: TextIO, format: str, embeddings: bool) -> None:
    from hades.exchange.formats import GRAPH_FILES

    if format == "jsonl":
        if not inside.as_of.is_now:
            raise InvalidInput("A jsonl export holds all times: export it without a time.")
        # Closed here, not at garbage collection, because it holds a snapshot open.
        with closing(inside.store.dump()) as records:
            jsonl.write(records, file)
    else:
        with inside.store.snapshot():
            GRAPH_FILES[format](_graph(inside, embeddings), file)


def _export_notes(inside: Inside, folder: Path) -> None:
    from hades.exchange import markdown

    notes = (
        inside.store.topics.state(inside.space_id, topic.name, inside.as_of)
        for topic in states.topics(inside, kind="note")
    )
    markdown.write((note for note in notes if not note.level), folder)


def _graph(inside: Inside, embeddings: bool) -> GraphSnapshot:
    from hades.exchange.snapshot import GraphSnapshot

    inside.require_space()
    encoder = inside.finder.encoder.model
    return GraphSnapshot(
        inside.store, inside.space_id, inside.as_of, encoder, embeddings=embeddings
    )


def _import_graph(inside: Inside, graph: node_link.Read) -> dict[str, int]:
    with inside.batch():
        for topic, fields in graph.texts.items():
            states.remember(inside, topic, **fields)
        with inside.write("import") as write:
            for name, aliases in graph.aliases.items():
                inside.store.entities.ensure(
                    write, inside.space_id, clean_name(name), graph.kinds[name]
                )
                if inside.store.topics.exists(inside.space_id, name):
                    continue  # a topic has no aliases
                for alias in aliases:
                    clean_name(alias, "alias")
                    inside.store.entities.add_alias(write, inside.space_id, name, alias)
        for edge in graph.edges:
            edges.relate(inside, **edge, create=True)
    counts = {"topics": len(graph.texts), "entities": len(graph.aliases)}
    return counts | {"edges": len(graph.edges)}
