"""Sources: how knowledge comes in, and the vectors made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hades.errors import InvalidInput
from hades.operations.declare import Role, operation
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.ingest.readers.triples import Triple
    from hades.ingest.summary import Summary
    from hades.memory import Memory
    from hades.models.encoder import Encoder


def ingest(
    memory: Memory,
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
    """Take in files, folders, chat exports and corpora, and bring them up to date.

    What did not change costs a hash; what changed gets a new state; what went is
    forgotten; what was renamed keeps its trace; what was forgotten by hand stays so
    until its source changes. A folder's files become topics below
    its name, or below `prefix`. `fields` maps the fields of records: id, title, text.
    With `history` the paths are git repositories, and every commit that touched a file
    is a state, true since that commit. One that cannot be read is named in the summary
    and stops nothing. A killed run goes on where it stood. `source` is the name one path
    is known by, where its own may be another the next time; default: the path.
    Links that lead out of a folder are named and skipped, unless `follow_links`. Files are
    read in processes of their own, with limits (settings `ingest_…`) for each document;
    `in_process` reads them here and without, for debugging. `ray` has files read, cut and
    encoded and names found by workers of Ray: `local` starts some on this machine,
    host:port is a cluster (the extra `cluster`). What is stored is the same.
    """
    from hades.ingest.pipeline import Pipeline
    from hades.ingest.spread import LoadedElsewhere

    if not paths:
        raise InvalidInput("Give at least one file or folder to ingest.")
    finder, space = memory._finder, memory._space_id

    def encoder() -> Encoder:
        here = finder.encoder
        return here if ray is None else LoadedElsewhere.of(memory._encoder, here)

    pipeline = Pipeline(
        memory._store,
        space,
        memory._actor,
        encoder,
        on_progress,
        lambda names: finder.saying(space, names),
    )
    memory._require_space()
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


@operation("POST", "/index", role=Role.WRITER, long=True)
def index(memory: Memory, on_progress: Progress | None = None) -> int:
    """Index new states and compute all missing vectors.

    Return how many states waited. A question indexes new notes by itself but computes few
    vectors; until they are complete, words and names answer. A stopped run continues the next
    time.
    """
    waiting = memory.pending
    memory._index_pending(on_progress, for_question=False)
    return waiting


def import_triples(
    memory: Memory, path: str | Path, on_progress: Progress | None = None
) -> Summary:
    """Take in facts of your own: JSON lines or CSV of subject, predicate, object.

    Optional fields: source, valid_from, valid_to, weight, evidence. Where the source is
    a topic, its passages mention both ends. A line that cannot be used is named in the
    summary and stops nothing.
    """
    from hades.ingest.fact_import import ToldMentions, take_facts

    told = ToldMentions(memory._store, memory._space_id)

    def tell(fact: Triple) -> bool:
        before = memory.change
        memory.relate(
            fact.subject,
            fact.predicate,
            fact.object,
            weight=fact.weight,
            evidence=fact.evidence,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            metadata={"source": fact.source} if fact.source else None,
        )
        is_news = memory.change > before
        if is_news and fact.source:
            with memory._write("mention") as write:
                told.note(write, fact.source, (fact.subject, fact.object))
        return is_news

    with memory.batch():
        return take_facts(Path(path).expanduser(), tell, on_progress)


def reembed(memory: Memory, encoder: str, on_progress: Progress | None = None) -> int:
    """Move to another encoder: make its vectors beside the old, then use them.

    Meanwhile searches go on with the old one. It can be stopped and called again; the
    memory remembers its encoder from then on. Gives how many vectors were made.
    """
    from hades.ingest.phases import Phases
    from hades.models.encoder import load_encoder

    memory._index_pending(on_progress, for_question=False)
    chosen = load_encoder(encoder)
    made = Phases(memory._store, memory._space_id, memory._actor, on_progress).embed(chosen)
    with memory._write("reembed"):
        memory._store.set_meta("encoder", encoder)
    memory._encoder = encoder
    return made
