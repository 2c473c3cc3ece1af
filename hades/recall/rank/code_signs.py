"""Code signs: corrections of the ranking for passages of a repository, and for versions and ids.

The ranker learnt from prose. It does not know that a test often has more words of a question than
the function it tests, that the name of a function is made of words, or that 8.2.0 is one name.
"""

from __future__ import annotations

import re

import numpy as np

from hades.domain.question import Question, Sign
from hades.domain.topics import COMMITS, Chunk
from hades.graph.arrays import Floats, Ints
from hades.index.words import IDS_AT_MOST, stems
from hades.language.names import name_parts
from hades.language.wording import spoken
from hades.language.words import ids
from hades.recall.query_context import QueryContext

NAME = 3.0
TEST = 2.0
LOG = 2.0
PROSE = 2.0
"""In points of the ranker: the gain of a symbol whose whole name is in the question, and the loss
of a test, of a change log, and of prose that the question does not ask for. Chosen on 28
questions."""
ID = 3.0
ID_IN_HEADING = 2.0
COMMIT = 2.0
"""The gain of a passage with a version or id of the question, more if its heading has it, and of a
commit when the question asks why or when something changed."""
FUSED = 1 / 3
"""The share of these points that counts in a fusion, whose scores spread over one point."""
_TEST = re.compile(
    r"(?:^|[/.])(?:tests?|__tests__|spec)[/.]|(?:^|/)(?:test_[^/]*|conftest\.py)$|"
    r"[._-](?:tests?|spec)\.\w+$|Tests?\.(?:java|kt|cs)$"
)
_LOG = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|release[-_ ]?notes)[^/.]*(?:\.(?:md|rst|txt))?$",
    re.IGNORECASE,
)


def is_test(topic: str) -> bool:
    """Return whether a file has tests, by its path.

    >>> is_test("app/tests/test_main.py"), is_test("src/testing.py"), is_test("ui/menu.spec.ts")
    (True, False, True)
    """
    return _TEST.search(topic) is not None


def is_log_of_changes(topic: str) -> bool:
    """Return whether a file is a change log, by its name."""
    return _LOG.search(topic) is not None


def is_commits(topic: str) -> bool:
    """Return whether a topic has the commit messages of a repository."""
    return topic.rpartition("/")[2] == COMMITS


def is_code(chunk: Chunk) -> bool:
    """Return whether a passage is of code, settings or commits.

    The heading of such a passage begins with its topic, which is not a plain word. The heading of a
    note begins with its topic only if that is a plain word.
    """
    return chunk.heading.startswith(chunk.topic) and spoken(chunk.topic) != chunk.topic


def code_signs(query: QueryContext, question: Question, numbers: Ints) -> Floats:
    """Return what to add to the score of each candidate."""
    chunks = query.graph.chunks[numbers].tolist()
    sources = query.store.chunks.sources(chunks)
    signs = np.zeros(len(numbers))
    for name in dict.fromkeys(ids(question.text)[:IDS_AT_MOST]):
        having = set(query.indexes.words.saying(name))
        headed = {chunk for chunk in having & sources.keys() if name in ids(sources[chunk][2])}
        signs += [ID * (one in having) + ID_IN_HEADING * (one in headed) for one in chunks]
    if not any(kind == "code" for _, kind, _ in sources.values()):
        return signs
    asked = {*stems(question.text), *stems(" ".join(name_parts(question.text)))}
    tests = Sign.TESTS not in question.signs
    log = Sign.CHANGE_LOG not in question.signs
    code = Sign.CODE in question.signs
    past = Sign.COMMITS in question.signs
    named = 0.0 if Sign.HOW_TO in question.signs else NAME  # prose answers such questions
    for at, chunk in enumerate(chunks):
        topic, kind, heading = sources[chunk]
        if kind == "code":
            signs[at] += named * _share_of_name(query, heading.removeprefix(f"{topic} > "), asked)
        signs[at] -= TEST * (tests and is_test(topic))
        signs[at] -= PROSE * (code and kind != "code")
        if is_commits(topic):
            signs[at] += COMMIT if past else -LOG
        elif log and is_log_of_changes(topic):
            signs[at] -= LOG
    return signs


def _share_of_name(query: QueryContext, heading: str, asked: set[str]) -> float:
    """Return the share of a symbol's name that is in the stems `asked`, weighted by rarity."""
    name = re.split(r"[\s(<\[:]", heading, maxsplit=1)[0]
    parts = set(stems(" ".join(name_parts(name) or [name])))
    weights = {part: query.indexes.words.rarity(part) for part in parts}
    return sum(weights[word] for word in parts & asked) / max(1e-9, sum(weights.values()))
