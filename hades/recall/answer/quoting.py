"""Quoting: which passages an answer quotes, and which of them whole.

The lines of code, of a commit and of a list of steps belong together: half a function or one step
of three does not answer. Tests repeat the words of a question but seldom answer it.
"""

from __future__ import annotations

from hades.domain.answer import Passage, Recall
from hades.domain.question import Question, Sign
from hades.domain.topics import Chunk
from hades.language.sentences import has_layout
from hades.language.words import ids, words
from hades.recall.rank.code_signs import is_code, is_commits, is_test


def quoted_passages(recall: Recall) -> list[tuple[int, Passage]]:
    """Return the passages with their numbers, without tests unless the question asks for them.

    If there are only tests, they are returned.
    """
    numbered = list(enumerate(recall.passages, start=1))
    if Sign.TESTS in recall.asked.signs:
        return numbered
    wanted = [
        row for row in numbered if not (is_code(row[1].chunk) and is_test(row[1].chunk.topic))
    ]
    return wanted or numbered


def is_quoted_whole(chunk: Chunk, question: Question) -> bool:
    """Return whether a passage is quoted whole: code, a commit, or a section that is asked for.

    A section is asked for by a how-to question, or by the version in its heading.
    """
    if is_code(chunk):
        return True
    asked = Sign.HOW_TO in question.signs or set(ids(question.text)) & set(ids(chunk.heading))
    return bool(asked) and has_layout(chunk.text)


def is_commit_asked_for(chunk: Chunk, question: Question) -> bool:
    """Return whether a passage is a commit and the question asks why or when something changed."""
    return is_commits(chunk.topic) and Sign.COMMITS in question.signs


def read_as(chunk: Chunk) -> str:
    """Return the text of a passage; for a commit also its verb as in questions, such as `added`."""
    heading_words = words(chunk.heading.rpartition(" > ")[2]) if is_commits(chunk.topic) else []
    return (
        f"{chunk.text} {heading_words[3]}ed" if len(heading_words) > 3 else chunk.text
    )  # after the day
