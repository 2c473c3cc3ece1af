"""Indexing: cut, link and embed new states before a question is answered, or space by space."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hades.domain.rules import clean_text
from hades.errors import InvalidInput, NotFound, Unavailable
from hades.operations.inside import Inside
from hades.store.records import Phase, Progress

if TYPE_CHECKING:
    from hades.ingest.phases import Phases

EMBEDDED_AT_ONCE = 1_000
"""The most passages and facts that a question embeds before it is answered, which takes two cores
10 to 25 s; more are left to `index`."""
INDEXED_AGAIN_AT_MOST = 3
"""The most attempts to index new states if some of them are purged meanwhile."""


def ready(
    inside: Inside, question: str, on_progress: Progress | None, *, degrades: bool = False
) -> None:
    """Raise InvalidInput if the question is empty, then index new states."""
    clean_text(question, "question")
    if not question.strip():
        raise InvalidInput("Ask something: the question is empty.")
    catch_up(inside, on_progress, degrades=degrades)


def catch_up(inside: Inside, on_progress: Progress | None, *, degrades: bool = False) -> None:
    """Index new states; raise InvalidInput inside a batch. `degrades`: ignore Unavailable."""
    if inside.store.in_transaction:
        raise InvalidInput("Search before or after a batch or snapshot, not inside it.")
    inside.require_space()
    # An answer has reasons that report it (not_indexed, encoder_failed); a list has none.
    with suppress(*((Unavailable,) if degrades else ())):
        index_pending(inside, on_progress)


def is_behind(inside: Inside) -> bool:
    """Return whether a question must first index small notes or a few facts of this space."""
    from hades.ingest.sharing import few_facts, small_share

    if small_share(inside.store, inside.space_id):
        return True
    return bool(few_facts(inside.store, inside.space_id, inside.finder.encoder.model))


def vectors_missing(inside: Inside) -> int:
    """Count the space's passages and facts without vectors, up to EMBEDDED_AT_ONCE + 1 each."""
    most = EMBEDDED_AT_ONCE + 1
    space = inside.space_id
    model = inside.finder.encoder.model
    chunks = inside.store.chunks
    passages = chunks.unembedded(model, chunks.embedded(model), most, space)
    return len(passages) + len(inside.store.edges.unembedded(model, most, space))


def index_share(inside: Inside) -> None:
    """Index the few states and facts that a question waits for; `index_fairly` indexes all."""
    from hades.ingest.sharing import index_share as index

    if not inside.store.read_only and is_behind(inside):
        finder = inside.finder
        phases = phases_of(inside, inside.space_id, None)
        index(inside.store, inside.space_id, phases, finder.encoder, finder.indexing)


def index_fairly(inside: Inside, on_progress: Progress) -> None:
    """Index all that waits, in all spaces, alternating between spaces and actors."""
    from hades.ingest.sharing import Background

    Background(
        inside.store,
        inside.space_id,
        lambda space: phases_of(inside, space, on_progress),
        inside.finder.encoder,
        inside.finder.indexing,
        on_progress,
    ).run()


def index_pending(
    inside: Inside, on_progress: Progress | None, *, for_question: bool = True
) -> None:
    """Cut, link and embed the space's new states; do nothing if open for reading only.

    With `for_question`, compute few vectors (the answer reports the rest); else compute all.
    """
    if inside.store.read_only:
        return
    inside.require_space()
    chunks = inside.store.chunks
    vectors = vectors_missing(inside)
    pending = chunks.pending_count(inside.space_id)
    uncut = pending - chunks.pending_count(inside.space_id, Phase.EMBEDDINGS)
    if for_question and not (pending or vectors):
        return
    if for_question and not uncut and vectors > EMBEDDED_AT_ONCE:
        index_share(inside)
        return
    finder = inside.finder
    phases = phases_of(inside, inside.space_id, on_progress)
    with finder.indexing:
        for _ in range(INDEXED_AGAIN_AT_MOST):
            with suppress(NotFound):  # a state was purged while it was read: try again
                phases.cut()
                phases.link()
                if for_question and vectors_missing(inside) <= EMBEDDED_AT_ONCE:
                    phases.embed(finder.encoder, for_question=True)
                break
    if for_question and uncut > EMBEDDED_AT_ONCE:
        # Read the new indexes here: the time limit of the question begins later.
        with inside.query_context(on_progress):
            pass
    if not for_question:
        phases.embed(finder.encoder)
    elif vectors_missing(inside) > EMBEDDED_AT_ONCE:
        index_share(inside)


def phases_of(inside: Inside, space: int, on_progress: Progress | None) -> Phases:
    """Return the phases of indexing for a space."""
    from hades.ingest.phases import Phases

    finder = inside.finder
    return Phases(
        inside.store, space, "hades", on_progress, lambda names: finder.saying(space, names)
    )
