"""Seeds: the scores of the retrievers (meaning, words, names) for every passage.

The prior is the mean of meaning and words. Walks and the beam start from it and from the names in
the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hades.domain.graph import Reason
from hades.domain.question import Question
from hades.errors import HadesError
from hades.graph.arrays import Floats, Floats32, Ints
from hades.index.graph_view import GraphView
from hades.models.encoder import Encoder, is_local
from hades.recall.find.results import SearchQuery, Seeds
from hades.recall.find.scores import best, lent, nth_best, scaled
from hades.recall.query_context import QueryContext
from hades.recall.question.names import names_in
from hades.recall.question.time_asked import TimeAsked
from hades.recall.run import Run, Stage
from hades.store.chunks import VECTOR_CHARACTERS

PRIOR_SEEDS = 200
"""The most passages, best by prior, from which walks start."""

Encoded = tuple[Floats32 | None, str]
"""The vector of a question, or None and the reason."""
Encoding = Callable[[float], Encoded]
"""A function that waits at most a number of seconds for a question's vector."""


def start_encoding(run: Run, encoder: Encoder, question: str) -> Encoding | None:
    """Return a function that waits for a question's vector; None if the plan does not use meaning.

    The call of an embedding server starts now, so that it runs while other things are read.
    """
    if "meaning" not in run.plan.retriever.retrievers:
        return None

    def encode() -> Encoded:
        try:
            return encoder.encode([question])[0], ""
        except HadesError as error:
            return None, str(error)

    return run.in_background(encode, local=is_local(encoder))


def encoded(stage: Stage, encoder: Encoder, texts: Sequence[str], without: str) -> Floats32 | None:
    """Return the vectors of texts; None if the encoder is late, fails or is not wanted."""
    if "meaning" not in stage.run.plan.retriever.retrievers:
        return None
    try:
        return stage.waited(lambda: encoder.encode(texts), without, local=is_local(encoder))
    except HadesError as error:
        stage.note(Reason.ENCODER_FAILED, str(error))
        return None


def find_seeds(
    run: Run, query: QueryContext, encoding: Encoding | None, question: Question, time: TimeAsked
) -> tuple[SearchQuery, Seeds]:
    """Score all passages by the retrievers; return the question with its vector, and the scores."""
    plan = run.plan.retriever
    graph = query.graph
    mask = query.mask
    nothing = np.zeros(len(mask))
    with run.stage("seeds", plan.timeout_ms) as stage:
        words = query.words(question.text) if "words" in plan.retrievers else nothing
        named = np.zeros(0, np.int64)
        if "names" in plan.retrievers and not stage.is_late("names"):
            named = names_in(question.text, graph, query.lookup)
        vector = None
        if encoding is not None and not stage.is_late("meaning"):
            vector = _vector(stage, query, encoding)
        cosine = nothing if vector is None else query.cosine(vector, words)
        on_one_scale, prior = prior_of(query, cosine, words)
        if "names" in plan.retrievers and not len(named):
            stage.note(Reason.NOTHING_NAMED)
        seeds = Seeds(
            mask=mask,
            cosine=cosine,
            words=words,
            named=named,
            naming=_naming(graph, named),
            scaled=on_one_scale,
            prior=prior,
            top=best(prior, mask, PRIOR_SEEDS),
            least={"meaning": nth_best(cosine), "words": nth_best(words)},
        )
        stage.found = _found_by_retrievers(seeds)
        run.look_at(seeds.top[: plan.k].tolist(), stage)  # the best seeds count as read
        terms = query.indexes.words.terms(question.text)
        return SearchQuery(question, query, time, terms, vector), seeds


def prior_of(
    query: QueryContext, cosine: Floats, words: Floats
) -> tuple[tuple[Floats, Floats], Floats]:
    """Return meaning and words on one scale, and their mean, each from 0 to 1."""
    on_one_scale = scaled(cosine, query.mask), scaled(words, query.mask)
    # Neighbours in a conversation lend to each other.
    mean = lent(query.graph, (on_one_scale[0] + on_one_scale[1]) / 2)
    return on_one_scale, scaled(mean, query.mask)


def _vector(stage: Stage, query: QueryContext, encoding: Encoding) -> Floats32 | None:
    if missing := query.indexes.without_vector(query.mask):
        of = f"{missing:,} of {query.mask.sum():,} passages have no vector"
        chunks = query.store.chunks
        model = query.encoder
        why = f": they are beyond the first {VECTOR_CHARACTERS:,} characters of a note"
        if chunks.unembedded(model, chunks.embedded(model), 1, query.space):
            why = " yet"
        stage.note(Reason.NO_EMBEDDINGS, f"{of}{why}")
    if not query.has_vectors:
        return None
    try:
        vector, why = encoding(stage.seconds_left)
    except TimeoutError:
        stage.stop(Reason.TIMEOUT, "without meaning: the encoder takes longer")
        return None
    if vector is None:
        stage.note(Reason.ENCODER_FAILED, why)
    return vector


def _naming(graph: GraphView, named: Ints) -> Ints:
    """Return the chunks that mention one of these entities."""
    _, mentioning, _ = graph.adjacency.of(graph.first_entity + named)
    return np.unique(mentioning[mentioning < graph.first_entity])


def _found_by_retrievers(seeds: Seeds) -> int:
    """Count the passages that at least one retriever found."""
    is_found = np.zeros(len(seeds.mask), np.bool_)
    for scores, least in ((seeds.cosine, "meaning"), (seeds.words, "words")):
        is_found |= (scores > 0) & (scores >= seeds.least[least])
    is_found[seeds.naming] = True
    return int((is_found & seeds.mask).sum())
