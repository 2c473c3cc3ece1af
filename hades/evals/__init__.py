"""Evals: how well memory answers, measured on question sets.

A set is a corpus, questions and which passages answer each (its gold). The room calls only
Memory and View, as any caller would: it makes a memory of the corpus once and keeps it,
asks every question of every system of the ladder, from plain vectors to full recall, and
says what was found, how fast, and how true the stated beliefs were. `ask` is measured apart:
by the sentences it gives. Sets of notes, of told facts and of sessions are written anew, each
event at its own moment, and measured by type of question.
"""

from hades.evals.answers import measure_answers
from hades.evals.by_type import ByType
from hades.evals.everyday import measure_everyday
from hades.evals.measure import Measured, Scores, measure
from hades.evals.memories import Index, OpenSet, open_set
from hades.evals.sessions import measure_sessions
from hades.evals.sets import EvalSet, Question, load_set

__all__ = [
    "ByType",
    "EvalSet",
    "Index",
    "Measured",
    "OpenSet",
    "Question",
    "Scores",
    "load_set",
    "measure",
    "measure_answers",
    "measure_everyday",
    "measure_sessions",
    "open_set",
]
