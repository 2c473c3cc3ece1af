"""Questions: search, recall and answers. They only read, but may index new states first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from hades.domain.answer import Answer, Recall
from hades.domain.graph import Reason
from hades.domain.question import Mode
from hades.domain.topics import Chunk, Hit
from hades.errors import InvalidInput
from hades.operations.declare import Param, operation
from hades.operations.indexing import catch_up, index_pending, ready
from hades.operations.inside import Inside
from hades.operations.parameters import (
    Budget,
    Filters,
    Limit,
    ModelName,
    Question,
    Since,
    Tag,
    TopicGlob,
    TopicKind,
    Turns,
    Until,
)
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.recall.find.finder import Scope
    from hades.recall.plan import Plan

RETRIEVERS = ("meaning", "words", "names")
SYSTEMS = ("dense", "words", "hybrid", "ppr", "fusion", "full")

QuestionMode = Annotated[
    str | None,
    Param(
        "execution, planning or brainstorming (default: the question decides).",
        flag="--mode",
        choices=tuple(Mode),
    ),
]
QuestionPlan = Annotated[
    "Plan | Mapping[str, Any] | None",
    Param("The plan, or parts of it: JSON, or @FILE with JSON.", flag="--plan", json=True),
]


@operation("POST", "/search", command="search", asks=True)
def search(
    inside: Inside,
    question: Question,
    limit: Limit = 10,
    *,
    retriever: Annotated[
        str | Iterable[str] | None,
        Param(
            "meaning, words or names; may be repeated (default: the first two).",
            flag="--retriever",
            choices=RETRIEVERS,
        ),
    ] = None,
    turns: Turns = None,
    on_progress: Progress | None = None,
    **filters: Unpack[Filters],
) -> list[Hit]:
    """Find the passages that match a question best.

    `retriever` is `meaning`, `words` or `names`; the default is meaning and words together.
    `tag`, `kind` (note, document, code, conversation, record, paper) and `glob` narrow the
    topics, or `about` to what is known about a user; `since` and `until` keep only what became
    true in that time, or with `by="event"` the notes that speak of it; `turns` are as in `recall`.
    New notes are indexed first, unless this memory is open for reading only; `pending` counts
    those that wait.
    """
    from hades.recall.find.finder import chosen_retrievers
    from hades.recall.find.turns import clean_turns
    from hades.recall.question.in_context import in_context

    retrievers = chosen_retrievers(retriever)
    before = clean_turns(turns)
    scope = inside.scope(**filters)
    ready(inside, question, on_progress)
    sought, near = in_context(question, before)
    gains = inside.engine.gains(scope, sought, near, on_progress)
    return inside.finder.search(
        scope, sought, limit=limit, retrievers=retrievers, on_progress=on_progress, gains=gains
    )


@operation("POST", "/recall", asks=True)
def recall(
    inside: Inside,
    question: Question,
    *,
    budget: Budget = None,
    mode: QuestionMode = None,
    plan: QuestionPlan = None,
    turns: Turns = None,
    on_progress: Progress | None = None,
    **filters: Unpack[Filters],
) -> Recall:
    """Collect the passages and paths that answer a question.

    `budget` is the most tokens that the packed context may have. `mode` is `execution` (5
    passages), `planning` (10) or `brainstorming` (20); by default the question decides. `plan`
    changes limits and stages: see `docs/answers.md`. A time in the words of the question narrows
    notes and facts, unless `since`, `until` or `at` is given; `time` in the result says how it
    was understood. `since` and `until` mean when notes were written, or with `by="event"` the
    times that they speak of. `turns` are the last questions and answers before it, the newest
    last: a follow-up question (“When was it listed?”) is read with them. `about` narrows the
    topics to what is known about a user (see `distil`). `reasons` lists everything that was cut or
    done in another way.
    """
    scope = inside.scope(**filters)
    how = {"budget": budget, "mode": mode, "plan": plan, "turns": turns}
    return _recalled(inside, scope, question, how, on_progress)


def _recalled(
    inside: Inside,
    scope: Scope,
    question: str,
    how: Mapping[str, Any],
    on_progress: Progress | None,
) -> Recall:
    """Return the recall for a question, and log it; `how` has further arguments of the engine."""
    from hades.recall.find.turns import clean_turns

    how = {**how, "turns": clean_turns(how["turns"])}
    engine = inside.engine
    change = inside.store.change()
    answered = engine.answers.answer(
        (scope, question, *how.values(), *engine.answered_by),
        lambda: engine.recall(scope, question, **how, on_progress=on_progress),
        ready=lambda: ready(inside, question, on_progress, degrades=True),
        holds_until=lambda since: engine.holds_until(scope, since),
    )
    used = ((hit.chunk.topic, hit.chunk.version, hit.recorded_at) for hit in answered.passages)
    inside.store.uses.add(inside.space_id, inside.actor, used)
    logged = inside.store.query_log.add(inside.space_id, change, inside.actor, answered)
    return replace(answered, id=logged) if logged else answered


@operation("POST", "/ask", asks=True, detail="recall")
def ask(
    inside: Inside,
    question: Question,
    *,
    budget: Budget = None,
    mode: QuestionMode = None,
    plan: QuestionPlan = None,
    turns: Turns = None,
    model: ModelName = None,
    keep_unsupported: Annotated[
        bool,
        Param("Keep sentences that the sources do not support, marked.", flag="--keep-unsupported"),
    ] = False,
    dry_run: Annotated[
        bool, Param("Only estimate the tokens of the model; send nothing.", flag="--dry-run")
    ] = False,
    on_progress: Progress | None = None,
    **filters: Unpack[Filters],
) -> Answer:
    """Answer a question in sentences, each with its source.

    With a `model` the answer is in its words, from the packed context alone. Each sentence is
    checked against what it cites. If none passes, the extracted sentences answer, and `fallback`
    says why. `keep_unsupported` and `dry_run` need a model. See `docs/models.md`.
    """
    from hades.models.chat import open_chat_model
    from hades.recall.answer.ask_model import answer_by_model, room_for

    if model is None and (dry_run or keep_unsupported):
        raise InvalidInput("dry_run and keep_unsupported need a model: name one.")
    chat = None if model is None else open_chat_model(model)
    scope = inside.scope(**filters)
    how = {"budget": budget, "mode": mode, "plan": plan, "turns": turns, "quotes": True}
    recalled = _recalled(inside, scope, question, how, on_progress)
    if chat is not None and recalled.tokens > room_for(chat):
        how["budget"] = max(room_for(chat), 50)
        recalled = _recalled(inside, scope, question, how, on_progress)
    quoted = extracted(inside, recalled)
    if chat is None:
        return quoted
    return answer_by_model(quoted, chat, keep=keep_unsupported, dry_run=dry_run)


def extracted(inside: Inside, recalled: Recall) -> Answer:
    """Return the sentences of a recall that answer its question."""
    from hades.recall.answer.sources import answer

    no_encoder = any(
        diagnostic.reason is Reason.ENCODER_FAILED
        or (diagnostic.reason is Reason.TIMEOUT and diagnostic.stage == "seeds")
        for diagnostic in recalled.reasons
    )
    return answer(recalled, None if no_encoder else inside.finder.encoder)


@operation("GET", "/sample-questions", asks=True)
def sample_questions(inside: Inside, limit: Limit = 4) -> list[str]:
    """List questions that this memory answers, made of its latest texts and facts.

    Each question was tried: its answer is sure and cites the text or fact that the question was
    made of. The query log and the uses of states ignore these trials. The list is made again after
    a write.
    """
    from hades.recall.samples import samples

    engine = inside.engine
    scope = inside.scope()
    catch_up(inside, None)
    key = (inside.store.changefeed.revision(), scope, limit)
    if engine.samples[0] != key:

        def ask(question: str) -> Answer:
            return extracted(inside, engine.recall(scope, question, quotes=True))

        engine.samples = key, samples(inside.store, scope.space, scope.as_of, ask, limit)
    return list(engine.samples[1])


@operation("POST", "/rank", asks=True)
def rank(
    inside: Inside,
    question: Question,
    limit: Limit = 10,
    *,
    system: Annotated[
        str, Param("A system of the ladder: " + ", ".join(SYSTEMS) + ".", choices=SYSTEMS)
    ] = "full",
    tag: Tag = None,
    kind: TopicKind = None,
    glob: TopicGlob = None,
    since: Since = None,
    until: Until = None,
    on_progress: Progress | None = None,
) -> list[Hit]:
    """Rank passages by one system of the evaluation ladder.

    The systems are `dense`, `words`, `hybrid`, `ppr`, `fusion` and `full`.
    """
    scope = inside.scope(tag=tag, kind=kind, glob=glob, since=since, until=until)
    ready(inside, question, on_progress)
    return inside.engine.rank(scope, question, system, limit, on_progress)


def examine(inside: Inside, question: str) -> tuple[list[Chunk], Any]:
    """Return the candidates for a question, and a matrix of their features for the ranker."""
    ready(inside, question, None)
    return inside.engine.examine(inside.scope(), question)


@operation("POST", "/warm", asks=True, long=True, needs_space=True)
def warm(inside: Inside, on_progress: Progress | None = None) -> dict[str, float]:
    """Load kernels, encoder and indexes; return the seconds of each.

    Kernels are compiled once per machine. Encoder and indexes are loaded for this process. New
    states are indexed first. A server does this when it starts.
    """
    from hades.recall.warming import load_kernels, timed

    index_pending(inside, on_progress)

    def indexes() -> None:
        inside.finder.make_database_index(on_progress)
        with inside.query_context(on_progress):
            pass

    parts = {
        "kernels": load_kernels,
        "encoder": lambda: inside.finder.encoder.encode(["warm"]),
        "indexes": indexes,
    }
    return timed(parts, on_progress)
