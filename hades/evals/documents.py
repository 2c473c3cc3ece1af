"""Sets of documents: questions about files as their authors wrote them.

The gold of a question is one quote or several. A passage is gold if it contains a quote, or the
larger part of it, because a quote may be cut by the border of two chunks. One gold place is enough,
except for questions of two steps, which need each. `docs/evaluation.md` explains the columns.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from hades.domain.topics import Chunk
from hades.evals.by_type import ByType, Outcome
from hades.evals.everyday import MANY, WORDS_READ, WORDS_READ_OF_MANY
from hades.evals.ladder import UNHURRIED
from hades.evals.measure import chosen_systems
from hades.evals.memories import open_cached
from hades.evals.replay import answer_text
from hades.evals.sets import NOTHING_KNOWN, EvalQuestion, EvalSet
from hades.memory import Memory
from hades.store.records import Progress

ASK = "ask"
SYSTEMS_ASKED = (ASK, "dense", "words", "hybrid", "fusion", "full")
"""`ask`, and the systems of the ladder that are measured beside it."""
COLUMNS = ("hit1", "r5", "r10", "first", "answered", "denied", "doubted")
TWO_STEPS = "two_step"
"""The type of question that needs every gold place."""
QUOTE_PERCENT = 60
"""The share of a quote's words that a gold passage must contain as one run."""
QUOTE_WORDS_AT_LEAST = 4
"""The least number of words of that run, for short quotes."""
_RANKS = 10


def measure_documents(
    eval_set: EvalSet,
    cache: Path,
    systems: Sequence[str] = (),
    *,
    encoder: str = "minilm",
    on_progress: Progress | None = None,
) -> ByType:
    """Put every question to `ask` and to each system, or to those named; return a table for
    each."""
    tables: dict[str, list[Outcome]] = {}
    with open_cached(eval_set, cache, False, encoder, on_progress) as (memory, index):
        for system in chosen_systems(systems, SYSTEMS_ASKED):
            tables[system] = [
                _asked(question, memory) if system == ASK else _ranked(question, memory, system)
                for question in eval_set.each_question(f"asking {system}", on_progress)
                if system == ASK or question.quotes
            ]
        lost = _lost(eval_set.questions, memory)
    return ByType(eval_set.name, eval_set.kind, COLUMNS, tables, index, lost)


def spaced(text: str) -> str:
    """Return the words of a text in lower case, with one space around each.

    >>> spaced("Restart it: `hades-d`!")
    ' restart it hades d '
    """
    words = re.findall(r"\w+", text.lower())
    return f" {' '.join(words)} "


def has_quote(words: str, quote: str) -> bool:
    """Return whether `spaced` words of a passage contain a quote or the larger part of it."""
    wanted = spaced(quote).split()
    count = max(QUOTE_WORDS_AT_LEAST, len(wanted) * QUOTE_PERCENT // 100)
    starts = range(max(1, len(wanted) - count + 1)) if wanted else ()
    return any(f" {' '.join(wanted[at : at + count])} " in words for at in starts)


def _asked(question: EvalQuestion, memory: Memory) -> Outcome:
    answer = memory.ask(question.text, plan=UNHURRIED)
    sentences = answer.sentences
    chunks = [passage.chunk for passage in answer.recall.passages]
    values: dict[str, float] = {"answered": bool(answer.shortfall) or not sentences}
    if question.type != NOTHING_KNOWN:
        words = WORDS_READ_OF_MANY if question.type in MANY else WORDS_READ
        values = {
            **_scores(question, chunks),
            "first": any(_says(one.text, question.answers) for one in sentences[:1]),
            "answered": _says(answer_text(answer, words), question.answers),
            "denied": not sentences,
            "doubted": bool(sentences and answer.shortfall),
        }
    ids = tuple(chunk.id for chunk in chunks[:5])
    return Outcome(question, values, not values["answered"], ids, str(answer))


def _ranked(question: EvalQuestion, memory: Memory, system: str) -> Outcome:
    chunks = [hit.chunk for hit in memory.rank(question.text, _RANKS, system=system)]
    return Outcome(question, _scores(question, chunks), missed=False)


def _scores(question: EvalQuestion, chunks: Sequence[Chunk]) -> dict[str, float]:
    """Return how well a ranking finds the gold: the first place, and the share in five and ten."""
    texts = [spaced(chunk.text) for chunk in chunks]
    ranks = [
        next((rank for rank, text in enumerate(texts) if has_quote(text, quote)), math.inf)
        for _, quote in question.quotes
    ]
    if question.type != TWO_STEPS:
        ranks = [min(ranks)]
    return {
        "hit1": min(ranks) == 0,
        "r5": statistics.fmean(rank < 5 for rank in ranks),
        "r10": statistics.fmean(rank < _RANKS for rank in ranks),
    }


def _says(text: str, answers: Iterable[str]) -> bool:
    """Return whether a text contains one of the answers, word by word."""
    words = spaced(text)
    return any(spaced(one) in words for one in answers if spaced(one).strip())


def _lost(questions: Iterable[EvalQuestion], memory: Memory) -> list[tuple[str, str]]:
    """Return pairs of a question's id and one of its gold places whose quote is in no document."""
    texts = [spaced(memory.get(topic.name).content) for topic in memory.topics()]
    return [
        (question.id, place)
        for question in questions
        for place, quote in question.quotes
        if not any(has_quote(text, quote) for text in texts)
    ]
