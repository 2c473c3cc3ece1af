"""Evals: measure how well a memory answers, on question sets.

A set is a corpus, questions, and the passages that answer each (its gold). Evals use Memory and
View as any caller would. They make a memory of the corpus once and keep it. They ask every question
of every system of the ladder, from plain vectors to full recall, and report quality, time and the
calibration of beliefs. `ask` is measured separately, by its sentences. Sets of notes, told facts
and sessions are replayed, each event at its own moment, and measured by type of question. Sets of
documents are ingested as they are, and also measured by type.
"""

from hades.evals.answers import measure_answers as measure_answers
from hades.evals.by_type import ByType as ByType
from hades.evals.documents import measure_documents as measure_documents
from hades.evals.everyday import measure_everyday as measure_everyday
from hades.evals.everyday import measure_sessions as measure_sessions
from hades.evals.ladder import Ladder as Ladder
from hades.evals.ladder import measure_ladder as measure_ladder
from hades.evals.measure import Measured as Measured
from hades.evals.measure import Scores as Scores
from hades.evals.measure import measure as measure
from hades.evals.memories import Index as Index
from hades.evals.memories import OpenSet as OpenSet
from hades.evals.memories import open_set as open_set
from hades.evals.sets import EvalQuestion as EvalQuestion
from hades.evals.sets import EvalSet as EvalSet
from hades.evals.sets import load_set as load_set
