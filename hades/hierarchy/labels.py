"""Labels and summaries of clusters, taken from the texts of their most central chunks.

A label has the words that are frequent in a cluster and rare in others (class-based TF-IDF). A
summary has the sentences with the most such words. With a language model the model writes the
summary, and sentences that its sources do not support are dropped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from hades.domain.answer import Usage
from hades.language.english.lexicon import STOP_WORDS
from hades.language.english.stems import stem
from hades.language.patterns import lazy_pattern
from hades.language.sentences import plain_sentence, sentences
from hades.language.words import words
from hades.models.chat import ChatModel
from hades.models.checked import cited_sentences

LABEL_TERMS = 4
SUMMARY_SENTENCES = 3
SENTENCES_READ = 40
SENTENCE_CHARACTERS = 300
SENTENCE_WORDS = 8
"""A sentence with fewer words is scored as if it had this many."""
MODEL_TEXTS, MODEL_TOKENS = 8, 160
TEXT_CHARACTERS = 1_500
SOUND_AT_LEAST = 0.5
"""The share of a model's sentences that must be supported; below it, none is used."""
UNNAMED = "unnamed"
"""The label of a cluster in which no word stands out. An empty label was purged."""
_ADDRESS = lazy_pattern(r"https?://\S+|www\.\S+")
"""Addresses say nothing about a subject: labels leave them out, and summaries avoid them."""
TASK = "Say in two or three sentences what these texts have in common."


@dataclass(frozen=True, slots=True)
class CentralText:
    """The text of a chunk that is central in a cluster."""

    cite: str
    heading: str
    text: str

    @property
    def topic(self) -> str:
        """The topic of the chunk."""
        return self.cite.rpartition("@")[0]


class ModelSummaries:
    """Summaries that a language model writes; with no model, or one that fails, there are none."""

    def __init__(self, model: ChatModel | None) -> None:
        self._model = model
        self.usage: Usage | None = None
        self.written = 0
        self.why = ""
        """Why the model wrote no summary of the last cluster."""

    def of(self, texts: Sequence[CentralText]) -> str:
        """Return the supported sentences of the model about texts, or "" if too few are."""
        if self._model is None or not texts:
            return ""
        sources = texts[:MODEL_TEXTS]
        said = [f"{source.heading}. {source.text}"[:TEXT_CHARACTERS] for source in sources]
        reply = cited_sentences(self._model, TASK, said, max_tokens=MODEL_TOKENS)
        if not reply.answered:  # do not ask an unavailable model again
            self._model = None
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        if reply.why or len(reply.held) < SOUND_AT_LEAST * len(reply.sentences):
            self.why = reply.why or "most of its sentences were not supported"
            return ""
        self.written += 1
        return "\n".join(
            f"{' '.join(sentence.text.split())} "
            f"[{'; '.join(sources[number - 1].cite for number in sentence.numbers)}]"
            for sentence in reply.held
        )


def described(
    clusters: Sequence[Sequence[CentralText]], by_model: ModelSummaries
) -> Iterator[tuple[str, str]]:
    """Yield the label and the summary of each cluster of a level.

    `clusters` has the texts of each, the most central first. Labels compare the clusters.
    """
    pairs = {pair for texts in clusters for text in texts for pair in _heading_pairs(text)}
    weights = _class_weights([_by_topic(texts) for texts in clusters], pairs)
    for texts, own in zip(clusters, weights, strict=True):
        yield _label(own) or UNNAMED, by_model.of(texts) or _extract(texts, own)


def _terms(text: CentralText) -> Iterator[str]:
    """Yield the words of a text and its heading, the pairs of the heading, and names of two words.

    Two words that begin with a capital are often a name, such as `Marta Lind`.
    """
    plain = _ADDRESS.sub(" ", text.text)
    yield from filter(_is_telling, (word.casefold() for word in words(plain)))
    yield from filter(_is_telling, (word.casefold() for word in words(text.heading)))
    yield from _heading_pairs(text)
    for before, word in pairwise(plain.split()):
        name = f"{before} {word.rstrip('.,;:!?')}"
        if name.replace(" ", "").isalpha() and before[0].isupper() and word[0].isupper():
            yield " ".join(map(str.casefold, words(name)))


def _heading_pairs(text: CentralText) -> Iterator[str]:
    for before, word in pairwise(word.casefold() for word in words(text.heading)):
        if _is_telling(before) and _is_telling(word):
            yield f"{before} {word}"


def _is_telling(word: str) -> bool:
    return len(word) > 2 and word not in STOP_WORDS and not word[0].isdigit()


def _by_topic(texts: Sequence[CentralText]) -> list[set[str]]:
    """Return the terms of each topic: chunks of one topic share a heading."""
    terms: dict[str, set[str]] = {}
    for text in texts:
        terms.setdefault(text.topic, set()).update(_terms(text))
    return list(terms.values())


def _class_weights(
    clusters: Sequence[Sequence[set[str]]], heading_pairs: Set[str]
) -> list[Mapping[str, float]]:
    """Return the weight of each term in each cluster: its share of the topics times its rarity.

    A term of a single topic is left out where there are several.
    """
    counts = [Counter(term for topic in topics for term in topic) for topics in clusters]
    total = Counter(term for own in counts for term in own)
    return [
        {
            term: count
            / len(topics)
            * math.log(1 + len(counts) / total[term])
            * (1 + (term in heading_pairs))
            for term, count in own.items()
            if count > 1 or len(topics) < 3
        }
        for own, topics in zip(counts, clusters, strict=True)
    ]


def _label(weights: Mapping[str, float]) -> str:
    """Return the best terms that have different stems, joined by commas."""
    chosen: list[str] = []
    seen: set[str] = set()
    for term in sorted(weights, key=lambda term: (-round(weights[term], 9), " " not in term, term)):
        stems = {stem(word) for word in term.split()}
        if not stems & seen:
            chosen.append(term)
            seen |= stems
        if len(chosen) == LABEL_TERMS:
            break
    return ", ".join(chosen)


def _extract(texts: Sequence[CentralText], weights: Mapping[str, float]) -> str:
    """Return the most telling sentences, each of another topic, with their citations."""
    best: dict[str, tuple[float, str]] = {}
    for text in texts:
        topic = text.topic
        for sentence in map(plain_sentence, sentences(text.text, SENTENCES_READ)):
            if len(sentence) > SENTENCE_CHARACTERS or sentence == text.heading:
                continue
            terms = [word.casefold() for word in words(sentence)]
            worth = sum(weights.get(term, 0.0) for term in set(terms))
            worth *= _ADDRESS.search(sentence) is None  # "The code is at https://…"
            score = round(worth / max(len(terms), SENTENCE_WORDS), 9)
            if score > best.get(topic, (-1.0, ""))[0]:
                best[topic] = score, f"{sentence} [{text.cite}]"
    lines = sorted(best.values(), key=lambda line: (-line[0], line[1]))
    telling = [line for line in lines if line[0] > 0]
    # Without a telling word, the first sentences of the most central texts have to do.
    chosen = telling or list(best.values())
    return "\n".join(line for _, line in chosen[:SUMMARY_SENTENCES])
