"""Sources: ingestion, import of facts, indexing and embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hades.errors import InvalidInput, Unavailable
from hades.operations import edges, maintenance
from hades.operations.declare import Role, operation
from hades.operations.indexing import index_pending
from hades.operations.inside import Inside
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.domain.mirror import MirrorSummary
    from hades.ingest.readers.triples import Triple
    from hades.ingest.summary import Summary
    from hades.models.encoder import Encoder


def ingest(
    inside: Inside,
    *paths: str | Path,
    prefix: str | None = None,
    fields: Mapping[str, str] | None = None,
    phases: Sequence[str] = ("nodes", "chunks", "edges", "embeddings"),
    history: bool = False,
    dry_run: bool = False,
    source: str | None = None,
    follow_links: bool = False,
    in_process: bool = False,
    ray: str | None = None,
    on_progress: Progress | None = None,
) -> Summary:
    """Read in files, folders, chat exports and corpora, or update what was read.

    A changed file gets a new state, a missing one is forgotten, a renamed one keeps its history.
    A topic that was forgotten by hand stays so until its source changes. The files of a folder
    become topics below its name, or below `prefix`. `fields` maps the fields of records: id,
    title, text. With `history` the paths are git repositories, and each commit that touched a file
    is a state, true since that commit. The summary names files that cannot be read. A killed run
    continues at the next call. `source` identifies a path whose name may differ the next time
    (default: the path). Links that lead out of a folder are skipped unless `follow_links`. Files
    are read in separate processes, with the limits of the settings `ingest_…` for each document;
    `in_process` reads them here without limits, for debugging. With `ray`, workers of Ray read,
    cut and encode files and find names, with the same result: `local` starts workers on this
    machine, host:port is a cluster (the extra `cluster`).
    """
    from hades.ingest.pipeline import Pipeline
    from hades.ingest.spread import LoadedElsewhere

    if not paths:
        raise InvalidInput("Give at least one file or folder to ingest.")
    finder = inside.finder
    space = inside.space_id

    def encoder() -> Encoder:
        here = finder.encoder
        return here if ray is None else LoadedElsewhere.of(inside.encoder, here)

    pipeline = Pipeline(
        inside.store,
        space,
        inside.actor,
        encoder,
        on_progress,
        lambda names: finder.saying(space, names),
        inside.takes,
    )
    inside.require_space()
    return pipeline.ingest(
        paths,
        prefix=prefix,
        fields=fields,
        phases=phases,
        dry_run=dry_run,
        history=history,
        source=source,
        follow_links=follow_links,
        in_process=in_process,
        ray=ray,
    )


def mirror(
    inside: Inside,
    folder: str | Path,
    *,
    deleted: str = "report",
    dry_run: bool = False,
    settled_s: float = 0.0,
    on_progress: Progress | None = None,
) -> MirrorSummary:
    """Bring the notes of this space and a folder of Markdown files together, both ways.

    The first call writes one file per note. Later, an edited file becomes a new version, a new
    file a new topic, and a changed note is written to its file. If both changed, the file gets the
    memory's text, and the edited text is kept beside it as `NAME.conflict.md`. The file of a
    forgotten note is removed, unless it was edited. If a file was deleted, `deleted` says what is
    done about its note: `report` keeps it, `forget` forgets it, `restore` writes the file again.
    Files that changed less than `settled_s` seconds ago are left for the next call. With
    `on_progress`, wait for another process that mirrors the folder; else raise Unavailable.
    """
    from hades.ingest.folder_lock import folder_lock
    from hades.operations.mirroring import DELETED, MirrorPass

    if deleted not in DELETED:
        raise InvalidInput(f"`deleted` is {', '.join(DELETED)}, not {deleted!r}.")
    inside.require_space()
    root = Path(folder).expanduser()
    try:
        if not dry_run:
            root.mkdir(exist_ok=True)
        with folder_lock(root, "mirroring", on_progress) as is_ours:
            if not is_ours:
                raise Unavailable(f"Another process mirrors {root} now: try again later.")
            this = MirrorPass(inside, root, deleted=deleted, dry_run=dry_run, settled_s=settled_s)
            return this.run(on_progress or (lambda _what, _done, _total: None))
    except OSError as error:
        raise Unavailable(f"{root} cannot be mirrored: {error.strerror or error}.") from error


@operation("POST", "/index", role=Role.WRITER, long=True)
def index(inside: Inside, on_progress: Progress | None = None) -> int:
    """Index new states and compute all missing vectors.

    Return how many states waited. The states are those of this space, the vectors those of all. A
    question indexes new notes by itself but computes few vectors; until they are complete, words
    and names answer. A stopped run continues the next time.
    """
    waiting = maintenance.pending(inside)
    index_pending(inside, on_progress, for_question=False)
    return waiting


def import_triples(
    inside: Inside, path: str | Path, on_progress: Progress | None = None
) -> Summary:
    """Import facts of your own: JSON lines or CSV of subject, predicate, object.

    Optional fields: source, valid_from, valid_to, weight, evidence. If the source is a topic, its
    passages then mention both ends. The summary names lines that cannot be used.
    """
    from hades.ingest.fact_import import ToldMentions, take_facts

    mentions = ToldMentions(inside.store, inside.space_id)

    def store(fact: Triple) -> bool:
        before = maintenance.change(inside)
        edges.relate(
            inside,
            fact.subject,
            fact.predicate,
            fact.object,
            weight=fact.weight,
            evidence=fact.evidence,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            metadata={"source": fact.source} if fact.source else None,
            create=True,
        )
        is_news = maintenance.change(inside) > before
        if is_news and fact.source:
            with inside.write("mention") as write:
                mentions.note(write, fact.source, (fact.subject, fact.object))
        return is_news

    with inside.batch():
        return take_facts(Path(path).expanduser(), store, on_progress)


def reembed(inside: Inside, encoder: str, on_progress: Progress | None = None) -> int:
    """Change all spaces to another encoder; return how many passages (not facts) were embedded.

    Searches use the old vectors until all new ones are ready; then the memory remembers the new
    encoder. A stopped run can be continued.
    """
    from hades.ingest.phases import Phases
    from hades.models.encoder import load_encoder

    index_pending(inside, on_progress, for_question=False)
    chosen = load_encoder(encoder)
    count = Phases(inside.store, inside.space_id, inside.actor, on_progress).embed(chosen)
    with inside.write("reembed"):
        inside.store.set_meta("encoder", encoder)
    inside.encoder = encoder
    return count
