"""Labels and summaries of clusters, taken from the texts of their most central chunks.

A label is a phrase that many texts of the cluster and few texts of other clusters have, with a
vector near this cluster and far from the others. If it does not fit most of the texts, a second
phrase follows. A summary has the sentences that tell best what the label means, as the reader
judges. With a language model the model writes the summary, and sentences that its sources do not
support are dropped.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from hades.domain.answer import Usage
from hades.errors import Unavailable
from hades.graph.arrays import Floats, Floats32
from hades.hierarchy.phrases import heading_phrases, noun_phrases, telling_stems, told
from hades.index.vectors import product
from hades.language.sentences import sentences, with_heading
from hades.models.chat import ChatModel
from hades.models.checked import cited_sentences
from hades.models.encoder import Encoder, reader_of

PHRASES_COMPARED = 24
"""How many phrases of a cluster are compared by their vectors: those that fit best by their
words."""
RARE = 0.02
"""Added to both shares of texts, so that a rare phrase does not count as typical."""
UNTOLD = 0.01
"""The least value of a phrase by its words, so that vectors decide between phrases of many
clusters."""
HEADING = 1.5
ONE_WORD = 0.6
"""The worth of a phrase of a heading, and of a single word, compared with other phrases. These and
the next values were chosen on five collections, by reading their labels."""
SHARPNESS = 20.0
FAR = 0.3
"""A phrase fits by FAR and the softmax of SHARPNESS times its cosines with the centroids."""
SECOND = 0.4
SECOND_TO_WORD = 0.15
"""A second phrase follows if it has at least this share of the first one's worth; after a single
word, a smaller share is enough."""
SUMMARY_SENTENCES = 2
SENTENCES_READ = 12
"""The sentences of a cluster that the reader judges, those with the most words of the label."""
SENTENCE_CHARACTERS = 300
MODEL_TEXTS = 8
MODEL_TOKENS = 160
TEXT_CHARACTERS = 1_500
SOUND_AT_LEAST = 0.5
"""The share of a model's sentences that must be supported; below it, none is used."""
UNNAMED = "unnamed"
"""The label of a cluster in which no phrase stands out. An empty label was purged."""
REPEATED = 3
"""A sentence in this many topics is part of a licence or a form, so summaries leave it out."""
TASK = "Say in two or three sentences what these texts have in common."


@dataclass(frozen=True)
class CentralText:
    """The text of a chunk that is central in a cluster."""

    cite: str
    heading: str
    text: str
    is_code: bool = False

    @property
    def topic(self) -> str:
        """The topic of the chunk."""
        return self.cite.rpartition("@")[0]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of the text that say something."""
        return told(self.text, is_code=self.is_code)

    @cached_property
    def headings(self) -> list[str]:
        """Its headings, or the names of its package and symbol, as phrases."""
        return heading_phrases(self.heading, self.topic, is_code=self.is_code)


class ModelSummaries:
    """Summaries that a language model writes; none without a model or if the model fails."""

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
        excerpts = [f"{source.heading}. {source.text}"[:TEXT_CHARACTERS] for source in sources]
        reply = cited_sentences(self._model, TASK, excerpts, max_tokens=MODEL_TOKENS)
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
    clusters: Sequence[Sequence[CentralText]],
    centroids: Floats32,
    encoder: Encoder,
    by_model: ModelSummaries,
) -> Iterator[tuple[str, str]]:
    """Yield the label and the summary of each cluster of a level.

    `clusters` has the texts of each, the most central first. Labels compare the clusters.
    """
    level = _Level(clusters)
    candidates = [level.candidates(cluster) for cluster in range(len(clusters))]
    every = sorted({"", *chain(*candidates)})
    fits = dict(zip(every, _fits(encoder, every, centroids), strict=True))
    used = set[str]()
    for cluster, texts in enumerate(clusters):
        own = {phrase: float(fits[phrase][cluster]) for phrase in candidates[cluster]}
        label = level.label(cluster, own, used) or UNNAMED
        used.add(label)
        yield label, by_model.of(texts) or level.summary(cluster, label, encoder)


def _fits(encoder: Encoder, phrases: Sequence[str], centroids: Floats32) -> Floats:
    """Return how well each phrase fits each cluster by its vector, to 3 decimals.

    If the encoder's server does not answer, all phrases fit equally well.
    """
    try:
        vectors = np.asarray(encoder.encode(phrases), np.float32)
    except Unavailable:
        return np.ones((len(phrases), len(centroids)))
    cosine = product(vectors, centroids).astype(np.float64)
    chance = np.exp(SHARPNESS * cosine)
    chance /= chance.sum(axis=1, keepdims=True)
    fits: Floats = ((FAR + chance) * np.maximum(cosine, 0)).round(3)
    return fits


class _Level:
    """The texts of the clusters of a level, compared by their words."""

    def __init__(self, clusters: Sequence[Sequence[CentralText]]) -> None:
        self._clusters = clusters
        self._sizes = np.array([max(1, len(own)) for own in clusters])
        self._cluster_of = np.repeat(np.arange(len(clusters)), [len(own) for own in clusters])
        self._having = defaultdict[str, set[int]](set)
        self._topics = defaultdict[str, set[str]](set)
        for number, text in enumerate(chain(*clusters)):
            for sentence in text.sentences:
                self._topics[sentence].add(text.topic)
            for part in telling_stems(" ".join((*text.sentences, *text.headings))):
                self._having[part].add(number)

    def candidates(self, cluster: int) -> list[str]:
        """Return the phrases of a cluster that are most typical of it by their words."""
        texts = self._clusters[cluster]
        headings = Counter(phrase for text in texts for phrase in text.headings)
        phrases = (noun_phrases(sentence) for text in texts for sentence in text.sentences)
        counts = headings + Counter(chain(*phrases))
        worth = {
            phrase: self._tells(cluster, phrase) * (HEADING if phrase in headings else 1)
            for phrase, count in counts.items()
            if count > 1 or len(counts) <= PHRASES_COMPARED
        }
        return sorted(worth, key=lambda phrase: (-worth[phrase], phrase))[:PHRASES_COMPARED]

    def label(self, cluster: int, fits: Mapping[str, float], used: Set[str]) -> str:
        """Return the best phrase of a cluster, or the best two; "" if there is none."""
        first, worth = self._best(cluster, fits.keys() - used, fits, frozenset())
        others = [phrase for phrase in fits if not telling_stems(phrase) & telling_stems(first)]
        second, more = self._best(cluster, others, fits, self._texts(first))
        if not first or more <= worth * (SECOND if " " in first else SECOND_TO_WORD):
            return first
        return f"{first}, {second}" if " and " in first + second else f"{first} and {second}"

    def _best(
        self, cluster: int, phrases: Collection[str], fits: Mapping[str, float], without: Set[int]
    ) -> tuple[str, float]:
        """Return the phrase that best names the texts outside `without`, and its worth."""
        tells = {each: max(0.0, self._tells(cluster, each, without)) for each in phrases}
        worth = [((tells[each] + UNTOLD) * fits[each], each) for each in phrases]
        best, phrase = max(worth, default=(0.0, ""))
        return phrase, best

    def _texts(self, phrase: str) -> Set[int]:
        """Return the numbers of the texts that have all words of a phrase."""
        having = [self._having[part] for part in telling_stems(phrase)]
        return set.intersection(*having) if having else set()

    def _tells(self, cluster: int, phrase: str, without: Set[int] = frozenset()) -> float:
        """Return how well a phrase distinguishes a cluster, by the shares of texts that have it.

        The other clusters count by their highest share and by their quadratic mean.
        """
        texts = np.array([*(self._texts(phrase) - without)], np.int64)
        share = np.bincount(self._cluster_of[texts], minlength=len(self._sizes)) / self._sizes
        other = np.append(np.delete(share, cluster), 0.0)
        others = (math.sqrt(np.square(other).mean()) + other.max()) / 2
        tells = share[cluster] * math.log((share[cluster] + RARE) / (others + RARE))
        return round(float(tells) * (1 if " " in phrase else ONE_WORD), 6)

    def summary(self, cluster: int, label: str, encoder: Encoder) -> str:
        """Return the sentences that tell best what a label means, with their citations.

        If the texts have no sentences, return the beginnings of the most central texts.
        """
        wanted = telling_stems(label)
        rows = {
            sentence: (-len(wanted & telling_stems(sentence)) / (1 + place), number, text)
            for number, text in reversed([*enumerate(self._clusters[cluster])])
            for place, sentence in enumerate(text.sentences)
            if len(sentence) <= SENTENCE_CHARACTERS and len(self._topics[sentence]) < REPEATED
        } or {
            beginning[:SENTENCE_CHARACTERS]: (0.0, number, text)
            for number, text in enumerate(self._clusters[cluster])
            for beginning in sentences(text.text, 1)
            if not text.is_code
        }
        whole = [sentence for sentence in rows if sentence[0].isupper() and sentence[-1] in ".!?"]
        best = sorted(whole or rows, key=lambda sentence: rows[sentence][:2])[:SENTENCES_READ]
        if reader := reader_of(encoder):
            read = [with_heading(rows[each][2].heading.rpartition(" > ")[2], each) for each in best]
            logits = reader.speaks(f"What is {label}?", read).round(2).tolist()
            best = [best[at] for at in sorted(range(len(best)), key=lambda at: -logits[at])]
        first = {rows[sentence][2].topic: sentence for sentence in reversed(best)}.values()
        chosen = sorted(best, key=lambda sentence: sentence not in first)[:SUMMARY_SENTENCES]
        return "\n".join(f"{sentence} [{rows[sentence][2].cite}]" for sentence in chosen)
