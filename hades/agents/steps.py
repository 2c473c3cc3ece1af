"""Rules of the planning agent: a question of several steps, split into questions of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hades.agents.decisions import StepsOfPlan
from hades.agents.rules import FollowUp, parts_of
from hades.domain.answer import Answer, Sentence
from hades.language.english.terms import terms_in, text_around
from hades.language.patterns import lazy_pattern
from hades.language.words import words
from hades.recall.question.reading import names_of

STEPS_AT_MOST = 6
STEP_CHARACTERS_AT_MOST = 400
SHARE_ANSWERED = 0.6
"""The share of a step's words, by weight, that one source must have to answer it. Chosen by
hand."""
SHARE_BELOW_BEST = 0.25
"""A sentence of the answer is dropped if its share is lower than the best by more than this. Chosen
by hand."""

_COMPARE = ("compare ", "contrast ")
# all white space is single spaces here
_BETWEEN = lazy_pattern(r" (?:and|with|to|versus|vs\.?) ", re.IGNORECASE)
_ABOUT = lazy_pattern(r" (?:about|on|for|of|with) ", re.IGNORECASE)
_TIME = lazy_pattern(r" (?:since|after|before|until|between|during) [^,;?]{1,60}$", re.IGNORECASE)
_THEN = lazy_pattern(
    r"[,;]? and (?:then )?(?:say|tell (?:me|us)|list|show|explain) ", re.IGNORECASE
)


def steps_of(question: str) -> list[FollowUp]:
    """Return the steps of a question, at most STEPS_AT_MOST; a simple question is one step.

    >>> for step in steps_of(
    ...     "Compare what we decided about Redis and Postgres since March and say what is open"
    ... ):
    ...     print(step.question)
    What we decided about Redis since March?
    What we decided about Postgres since March?
    What is open about Redis?
    What is open about Postgres?
    """
    asked = " ".join(question.split()).strip(" ?.")
    head, *then = _THEN.split(asked)
    steps: list[FollowUp] = []
    subjects: tuple[str, ...] = ()
    if head.casefold().startswith(_COMPARE):
        steps, subjects = _compared(head.partition(" ")[2])
    if not steps:
        parts = parts_of(f"{head}?") or [f"{head}?"]
        steps = [FollowUp(part, "a part of the question") for part in parts]
        subjects = tuple(name.text for name in names_of(head))[:2]
    for clause in then:
        steps += _for_each(clause, subjects)
    return [
        replace(step, question=step.question[:1].upper() + step.question[1:])
        for step in steps[:STEPS_AT_MOST]
    ]


def _compared(what: str) -> tuple[list[FollowUp], tuple[str, ...]]:
    """Return a step for each of the things to compare, and their names."""
    time = _TIME.search(what)
    when = time.group() if time else ""
    plain = what.removesuffix(when).strip(" ,")
    about = _ABOUT.search(plain) if plain.casefold().startswith("what ") else None
    asked = plain[: about.end()].strip() if about else "what is known about"
    subjects = _BETWEEN.split(plain[about.end() :] if about else plain, maxsplit=1)
    if len(subjects) < 2:
        return [], ()
    return [
        FollowUp(f"{asked} {subject}{when}?", f"one side of the comparison: {subject}")
        for subject in subjects
    ], tuple(subjects)


def _for_each(clause: str, subjects: Sequence[str]) -> list[FollowUp]:
    """Return a clause as a question: itself if it has a name, else about each subject."""
    asked = clause.strip(" ?.,")
    if names_of(asked) or not subjects:
        return [FollowUp(f"{asked}?", "a further part")]
    return [FollowUp(f"{asked} about {name}?", f"a further part, for {name}") for name in subjects]


def checked_steps(reply: StepsOfPlan, question: str) -> list[FollowUp]:
    """Return the usable steps of a model: short, and with a word of the question each."""
    known = terms_in(question)
    return [
        FollowUp(step, "a step of the model")
        for step in reply.steps
        if 2 < len(step) <= STEP_CHARACTERS_AT_MOST and terms_in(step) & known
    ][:STEPS_AT_MOST]


def validated(question: str, answer: Answer) -> tuple[str, tuple[str, ...], str]:
    """Return the status of a step, the words of it that the best source lacks, and the answer.

    The answer has only the sentences that say about as much of the step as the best one.
    """
    weights = answer.recall.asked.terms.weights
    if not answer.sentences:
        return "nothing found", answer.unsaid, str(answer)
    sources = [terms_in(_source(answer, sentence)) for sentence in answer.sentences]
    shares = [_share(weights, terms) for terms in sources]
    best = max(shares)
    kept = [
        sentence
        for sentence, share in zip(answer.sentences, shares, strict=True)
        if share >= best - SHARE_BELOW_BEST
    ]
    best_source = sources[shares.index(best)]
    missing = tuple(term for term in weights if term not in best_source)
    status = "answered" if best >= SHARE_ANSWERED else "partly"
    return status, missing, str(replace(answer, sentences=tuple(kept)))


def _source(answer: Answer, sentence: Sentence) -> str:
    """Return a sentence with the text it is taken from."""
    passages = answer.recall.passages
    at = sentence.citation - 1
    if sentence.kind == "passage" and 0 <= at < len(passages):
        return f"{sentence.text} {text_around(passages[at])}"
    return sentence.text


def _share(weights: Mapping[str, float], terms: frozenset[str]) -> float:
    whole = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in terms) / whole if whole else 1


def simpler(question: str) -> str:
    """Return a question with its names only, to ask again; "" if it has none."""
    names = " ".join(name.text for name in names_of(question))
    return names if names and len(words(names)) < len(words(question)) else ""
