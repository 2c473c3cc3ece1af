"""Sample questions: what a memory can be asked, made of its latest texts and facts.

Rules make questions of sentences that give a reason or say what somebody or something is, of
headings, of the names of functions and classes, and of told facts. Each is then asked. It is kept
if the answer is sure and cites the text or fact that the question was made of.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, zip_longest

from hades.domain.answer import Answer
from hades.domain.graph import Edge
from hades.domain.statement import relation_words
from hades.domain.times import AsOf
from hades.language.english.decisions import is_decision
from hades.language.patterns import lazy_pattern
from hades.language.sentences import plain_sentence, sentences
from hades.language.wording import spoken
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod

TOPICS_READ = 40
FACTS_READ = 20
CHARACTERS_READ = 4_000
"""Questions are made of the beginning of a text."""
TRIED = 16
TRIED_S = 8.0
"""The most questions that are tried, and the time after which no further one is."""
THEMES = "What are the main themes?"
_REASON = lazy_pattern(
    r"^([A-Z][\w' -]{1,60}?) (is|are|was|were|has|have|had|will|must) "
    r"([^,.;:?!()]{3,80}?),? because "
)
_NAME = r"([A-Z][\w'-]{1,30}(?: [A-Z][\w'-]{1,30}){0,2})"
_IS = lazy_pattern(rf"^((?:An? |The )?{_NAME}) is (?:an?|the|our) [a-z]")
_DOES = lazy_pattern(
    rf"^{_NAME} ((?:leads|owns|runs|keeps|manages|looks after|wants|prefers|likes|lives|works|"
    r"plays|needs|uses|drives|supplies) [^,.;:()]{3,40})[.,;]"
)
_HEADING = lazy_pattern(r"(?m)^#{1,4} ([A-Z][^\n#`\[\]]{3,70}?)(\??) *$")
_SYMBOL = lazy_pattern(r"(?m)^ *(?:async )?(?:def|class|fn|func) ([A-Za-z]\w{3,50})")
_ASKS = ("How to ", "Why ", "When to ", "What ", "Where ")
_GENERAL = (
    *("The ", "A ", "An ", "Our ", "My ", "This ", "That ", "Here ", "There "),
    *("We ", "It ", "They ", "He ", "She "),
)
"""A subject with such a beginning is not a name."""
_PASSIVE = (" by", " in", " on", " at", " with")


def samples(
    store: Store, space: int, as_of: AsOf, ask: Callable[[str], Answer], limit: int
) -> list[str]:
    """Return questions that `ask` answers surely from the topic or fact they were made of."""
    good: list[str] = []
    tried = dict(islice(_candidates(store, space, as_of), TRIED))
    until = time.monotonic() + TRIED_S
    for question, source in tried.items():
        if len(good) == limit or time.monotonic() > until:
            break
        if _is_answered(ask(question), source):
            good.append(question)
    return good


def _is_answered(answer: Answer, source: str) -> bool:
    """Return whether an answer is sure and begins with a topic or a fact."""
    if not answer.sentences or answer.shortfall:
        return False
    kind = answer.sentences[0].kind
    number = answer.sentences[0].citation - 1
    if kind == "theme":
        return True
    if kind == "fact":
        return answer.recall.facts[number].edge.cite == source
    cited = answer.recall.passages[number].chunk.topic if kind == "passage" else ""
    return cited == source and answer.recall.is_surely_answered


def _candidates(store: Store, space: int, as_of: AsOf) -> Iterator[tuple[str, str]]:
    """Yield questions, each with its topic or the citation of its fact, one of each kind in
    turn."""
    edges = store.edges.read(space, store.activity.edges(space, as_of, FACTS_READ), as_of)
    facts = [[(_of_fact(edge), edge.cite)] for edge in edges.values() if edge.valid_to is None]
    kinds = []
    for notes in (True, False):
        rows = store.activity.topics(space, as_of, TOPICS_READ, notes=notes)
        texts = store.topics.contents({row.id for row in rows}, lost_ok=True)
        kinds.append([[*_of_text(row, texts.get(row.id, ""))] for row in rows])
    kinds += [[[(THEMES, "")]], facts]
    for row in zip_longest(*map(_alternating, kinds)):
        yield from (sample for sample in row if sample and sample[0])


def _alternating(sources: Iterable[list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """Yield the first question of each source, then the second ones."""
    for row in zip_longest(*sources):
        yield from filter(None, row)


def _of_text(row: StateOfPeriod, text: str) -> Iterator[tuple[str, str]]:
    """Yield the questions that a text answers, by its name, sentences, headings and symbols."""
    topic = row.topic
    text = text[:CHARACTERS_READ]
    for sentence in map(plain_sentence, sentences(text)):
        if reason := _REASON.match(sentence):
            about, verb, what = reason.groups()
            small = about[0].lower() + about[1:] if about.startswith(_GENERAL) else about
            yield f"Why {verb} {small} {what}?", topic
        elif (named := _IS.match(sentence)) and not f"{named[2]} ".startswith(_GENERAL):
            yield f"What is {named[1].removesuffix(named[2]).lower()}{named[2]}?", topic
        elif (does := _DOES.match(sentence)) and not f"{does[1]} ".startswith(_GENERAL):
            yield f"Who {does[2]}?", topic
    if text and is_decision(topic, row.tags):
        yield f"What did we decide about {spoken(topic)}?", topic
    for heading, mark in _HEADING.findall(text):
        if mark or heading.startswith(_ASKS):
            yield f"{heading}?", topic
    for symbol in _SYMBOL.findall(text):
        yield f"What does {symbol} do?", topic


def _of_fact(edge: Edge) -> str:
    """Return the question that a fact answers; "" if its relation fits no form."""
    words = relation_words(edge.relation)
    first = words.partition(" ")[0]
    if words.endswith(_PASSIVE) and first.endswith(("ed", "en")):
        return f"What is {edge.source} {words}?"
    return f"What {words} {edge.target}?" if first.endswith("s") and first != "is" else ""
