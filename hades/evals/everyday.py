"""Sets that are measured by type of question.

Everyday sets have notes as written over a year. They can be cut to a small memory: random topics
with all their events, and the questions they answer. Sets of told facts (`facts.jsonl`) have no
notes, so only the answer of `ask` counts.

In sets of sessions, as in LongMemEval, each question has its own history, which is a space of one
memory, so that a question sees no other; only word frequencies are shared. Nothing is kept: each
run writes the histories again.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hades.domain.answer import Answer
from hades.errors import InvalidInput
from hades.evals import metrics
from hades.evals.by_type import ByType, Outcome
from hades.evals.replay import SetEvent, answer_text, holds, read_events, replay
from hades.evals.sets import NOTHING_KNOWN, EvalQuestion, EvalSet, read_rows
from hades.memory import Memory, View
from hades.opening import open as open_memory
from hades.store.records import Progress

COLUMNS = {
    "everyday": (
        "hit1",
        "r5",
        "stale",
        "answered",
        "denied",
        "doubted",
        "old_first",
        "hybrid",
        "words",
    ),
    "facts": ("answered", "first", "words"),
    "sessions": ("any@5", "all@5"),
}
WORDS_READ = 60
"""The answer must be within the first words, this many, of the text of `ask`."""
WORDS_READ_OF_MANY = 150
"""The same for questions that ask for a list of notes."""
MANY = ("list", "window")
"""The types of question that ask for a list."""
QUESTIONS_ENOUGH = 120
"""Small memories are drawn until this many questions have been asked."""
DRAWS_AT_MOST = 20
SYSTEMS_ASKED = ("hybrid", "full", "recall")
"""The systems that sets of sessions measure: two of the ladder, and a whole recall."""
CHUNKS_RANKED = 20
"""Enough chunks for five sessions, which are short."""

Draw = tuple[Sequence[SetEvent], Sequence[EvalQuestion]]


def measure_everyday(
    eval_set: EvalSet,
    sizes: Sequence[int | None] = (None,),
    *,
    encoder: str = "minilm",
    on_progress: Progress | None = None,
) -> ByType:
    """Replay a set in memories of each size in notes (None: the whole set); a table for each."""
    events = read_events(eval_set.corpus)
    tables = {}
    for size in sizes:
        asked: list[Outcome] = []
        for some, questions in draws(events, eval_set.questions, size):
            for question, view in replay(some, questions, encoder=encoder, on_progress=on_progress):
                asked.append(_outcome(question, view.ask(question.text), view, eval_set.kind))
        tables["all" if size is None else f"{size:,} notes"] = asked
    return ByType(eval_set.name, eval_set.kind, COLUMNS[eval_set.kind], tables)


def _outcome(question: EvalQuestion, answer: Answer, view: View, kind: str) -> Outcome:
    gold = question.gold
    unknown = question.type == NOTHING_KNOWN
    many = kind != "facts" and question.type in MANY
    read = answer_text(answer, WORDS_READ_OF_MANY if many else WORDS_READ)
    values: dict[str, float] = {
        "answered": bool(answer.shortfall) if unknown else holds(read, question.answers),
        "words": len(answer_text(answer).split()),
    }
    versions = _versions(one.id for one in answer.recall.passages)
    if kind == "facts":
        versions = ()
        values["first"] = any(holds(one.text, question.answers) for one in answer.sentences[:1])
    elif not unknown:
        before = next((rank for rank, id_ in enumerate(versions) if id_ in gold), len(versions))
        hybrid = _versions(one.chunk.id for one in view.rank(question.text, 1, system="hybrid"))
        values |= {
            "hit1": bool(gold.intersection(versions[:1])),
            "r5": metrics.recall_at(5, versions, gold) if gold else 0.0,
            "stale": not question.stale.isdisjoint(versions[:before]),
            "denied": not answer.sentences,
            "doubted": bool(answer.sentences and answer.shortfall),
            "hybrid": bool(gold.intersection(hybrid)),
        }
        if question.stale_sentences and answer.sentences:
            values["old_first"] = holds(answer.sentences[0].text, question.stale_sentences)
    missed = not (values["answered"] and values.get("hit1", True))
    return Outcome(question, values, missed, versions[:5], str(answer))


def _versions(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.rsplit("#", 1)[0] for one in ids))


# Small memories


def draws(
    events: Sequence[SetEvent], questions: Sequence[EvalQuestion], notes: int | None
) -> Iterator[Draw]:
    """Yield small memories of at most `notes` notes, as (events, questions).

    Stop when they have QUESTIONS_ENOUGH questions in all, or after DRAWS_AT_MOST draws. Yield only
    the whole set if `notes` is None or not smaller than the set.
    """
    if notes is not None and notes < 1:
        raise InvalidInput(f"A memory has at least one note, not {notes}.")
    if notes is None or notes >= sum(1 for one in events if one.content):
        yield events, questions
        return
    asked = 0
    for seed in range(DRAWS_AT_MOST):
        some, kept = draw(events, questions, notes, seed)
        if kept:
            yield some, kept
        asked += len(kept)
        if asked >= QUESTIONS_ENOUGH:
            return
    if not asked:
        raise InvalidInput(f"No question of this set can be answered from {notes} notes.")


def draw(
    events: Sequence[SetEvent], questions: Sequence[EvalQuestion], notes: int, seed: int
) -> Draw:
    """Return the events of a memory of at most `notes` notes, and the questions that it answers.

    Half of the notes are of topics that random questions need, the others of random topics. A topic
    brings all its events. Of the unanswerable questions, the same share is kept as of the others.
    """
    chance = random.Random(seed)
    written = Counter(one.topic for one in events if one.content)
    kept: set[str] = set()

    def keep(topics: Iterable[str], room: int) -> None:
        wanted = kept.union(topics)
        if sum(written[one] for one in wanted) <= room:
            kept.update(wanted)

    for question in chance.sample(questions, len(questions)):
        keep(_topics(question), notes // 2)
    for topic in chance.sample(sorted(written), len(written)):
        keep([topic], notes)
    answered = [one for one in questions if one.gold and _topics(one) <= kept]
    share = len(answered) / max(1, sum(1 for one in questions if one.gold))
    unknown = [one for one in questions if not one.gold and chance.random() < share]
    chosen = {one.id for one in (*answered, *unknown)}
    return (
        [one for one in events if one.topic in kept],
        [one for one in questions if one.id in chosen],
    )


def _topics(question: EvalQuestion) -> set[str]:
    return {one.rsplit("@", 1)[0] for one in question.gold}


# Sessions


def measure_sessions(
    eval_set: EvalSet, *, encoder: str = "minilm", on_progress: Progress | None = None
) -> ByType:
    """Write each question's history into a space of its own, and ask each system there."""
    texts = {
        str(row.get("session")): str(row.get("text", "")) for _, row in read_rows(eval_set.corpus)
    }
    tables: dict[str, list[Outcome]] = {system: [] for system in SYSTEMS_ASKED}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder, "set.hades"), encoder=encoder) as root,
    ):
        for question in eval_set.each_question("asking", on_progress):
            root.create_space(question.id)
            memory = root.in_space(question.id)
            with memory.batch():
                for session, date in question.history:
                    if texts.get(session, "").strip():
                        memory.remember(session, texts[session], valid_from=date)
            memory.index()
            for system, asked in tables.items():
                asked.append(_sessions_outcome(question, memory, system))
    return ByType(eval_set.name, eval_set.kind, COLUMNS[eval_set.kind], tables)


def _sessions_outcome(question: EvalQuestion, memory: Memory, system: str) -> Outcome:
    if system == "recall":
        chunks = [hit.chunk for hit in memory.recall(question.text).passages]
    else:
        chunks = [hit.chunk for hit in memory.rank(question.text, CHUNKS_RANKED, system=system)]
    topics = tuple(dict.fromkeys(chunk.topic for chunk in chunks))[:5]
    hits = question.gold.intersection(topics)
    values = {"any@5": float(bool(hits)), "all@5": float(hits == question.gold)}
    return Outcome(question, values, system == "recall" and not values["all@5"], topics)
