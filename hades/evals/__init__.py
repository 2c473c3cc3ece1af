"""Evals: how well memory answers, measured on question sets.

A set is a corpus, questions and which passages answer each (its gold). The room calls only
Memory and View, as any caller would: it makes a memory of the corpus once and keeps it,
asks every question of every system of the ladder, from plain vectors to full recall, and
says what was found, how fast, and how true the stated beliefs were. `ask` is measured apart:
by the sentences it gives.
"""

from hades.evals.answers import AnswerScores, measure_answers
from hades.evals.measure import SYSTEMS, Measured, Scores, measure
from hades.evals.memories import Index, OpenSet, open_set
from hades.evals.sets import EvalSet, Question, load_set

__all__ = [
    "SYSTEMS",
    "AnswerScores",
    "EvalSet",
    "Index",
    "Measured",
    "OpenSet",
    "Question",
    "Scores",
    "load_set",
    "measure",
    "measure_answers",
    "open_set",
]
