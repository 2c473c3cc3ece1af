"""Repositories of papers: propose the edge `implements` where no text states it.

A repository may be a name alone, so the signs are read from its `owner/name`. The name and a paper
share keys: trigrams, words, words with capitals, initials of the title, and authors that the owner
names. A key counts by its rarity among the papers. A paper is compared only with repositories that
share a rare key with it, so the work grows with what they share, not with all pairs. Vectors are
not used: they added too little (docs/lab/recall.md).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import groupby, pairwise, product
from operator import mul
from typing import NamedTuple

from hades.domain.graph import Likeness
from hades.domain.times import NOW
from hades.language.likeness import trigrams
from hades.language.names import name_key, name_parts
from hades.language.words import words
from hades.store.links import TopicRow
from hades.store.records import EdgeFilter
from hades.store.store import Store

IMPLEMENTS = "implements"
LETTERS, WORD, CAPITALS, INITIALS, AUTHOR = range(5)
SIGNS = (
    *("letters of the title", "a rare word of the text", "a word in capitals"),
    *("initials of the title", "an author in the owner"),
)
"""The signs in words, in the order of their values and weights."""
WEIGHTS = (4.2, 4.59, 1.53, 2.51, 6.94)
BIAS = -8.54
"""Made by tools/train_repositories.py."""
PROPOSED_FROM = 0.3
"""The chance from which a repository is proposed, chosen on half 0."""
PROPOSED_EACH = 3
"""The most repositories that are proposed for one paper."""
RARE_AT_MOST = 60
"""A key that more papers have leads to no comparison."""
PAPERS_AT_LEAST = 1_000
"""A smaller memory counts as one of this size, so that a word that occurs once is rare in it."""
LETTERS_AT_LEAST = 3
OWNER_LETTERS_AT_LEAST = 4
INITIALS_LENGTHS = range(3, 9)
NAME_CHARACTERS_AT_MOST = 140
"""How many characters of a name are read; GitHub allows 39 for an owner and 100 for a
repository."""
TOPICS_AT_MOST = 100_000
REPOSITORIES_AT_MOST = 10_000
"""The most topics that are read, those written last, and the most repositories that are compared,
the first by name."""

Keys = set[tuple[int, str]]
"""Keys, each with its sign."""


class Paper(NamedTuple):
    """The parts of a paper that are compared."""

    title: str
    text: str
    authors: Sequence[str] = ()


def propose_repositories(
    store: Store, space: int, actor: str, *, dry_run: bool
) -> tuple[Likeness, ...]:
    """Propose repositories for papers without one; a dry run only reports.

    Return the new proposals: `keep` is the title of a paper, `other` a repository. A pair that was
    proposed before is left out, whatever was decided.
    """
    topics = store.links.topics(space, NOW, TOPICS_AT_MOST)
    implemented = _targets(store, space, IMPLEMENTS)
    repositories = _repositories(store, space, topics, implemented)
    authors = _targets(store, space, "authored_by") if repositories else {}
    papers = []
    for topic in topics:
        if topic.kind == "paper" and repositories:
            title, _, text = store.topics.contents([topic.state])[topic.state].partition("\n\n")
            papers.append(Paper(title, text, authors.get(name_key(title), ())))
    known = {
        (name_key(proposal.fields["source"]), name_key(proposal.fields["target"]))
        for proposal in store.proposals.find(space)
        if proposal.kind == "relate" and proposal.fields["relation"] == IMPLEMENTS
    }
    likely = []
    for at, pairs in groupby(compare(papers, repositories), lambda pair: pair[0]):
        source = papers[at].title
        for _, other, values in nlargest(PROPOSED_EACH, pairs, lambda pair: chance(pair[2])):
            ends = name_key(source), name_key(repositories[other])
            sure = round(chance(values), 4)
            if sure >= PROPOSED_FROM and ends[0] not in implemented and ends not in known:
                likely.append(Likeness(source, repositories[other], sure, _reason(values)))
    if likely and not dry_run:
        with store.transaction(), store.write(actor, "propose", space) as write:
            for pair in likely:
                store.proposals.add(
                    write,
                    space,
                    actor,
                    "relate",
                    {
                        "source": pair.keep,
                        "relation": IMPLEMENTS,
                        "target": pair.other,
                        "evidence": pair.why,
                    },
                    confidence=pair.score,
                    threshold=1.0,
                    why=pair.why,
                )
    return tuple(likely)


def _targets(store: Store, space: int, relation: str) -> dict[str, list[str]]:
    """Return the targets of told and derived edges of a relation, by the key of their source."""
    wanted = EdgeFilter(relation=relation)
    targets: dict[str, list[str]] = defaultdict(list)
    for edge in (
        *store.edges.find(space, wanted, NOW),
        *store.derived_edges.find(space, wanted, NOW),
    ):
        targets[name_key(edge.source.name)].append(edge.target.name)
    return targets


def _repositories(
    store: Store,
    space: int,
    topics: Sequence[TopicRow],
    implemented: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the repositories that implement no paper yet, by name.

    These are entities of that kind, and topics called `owner/name` whose text has this name.
    """
    named = store.mentions.entities(space, NOW)
    repositories = {entity.name for entity in named if entity.kind == "repository"}
    repositories |= {
        topic.name
        for topic in topics
        if topic.kind != "paper"
        and topic.name.count("/") == 1
        and topic.name in store.topics.contents([topic.state])[topic.state]
    }
    taken = {name_key(name) for names in implemented.values() for name in names}
    return sorted(name for name in repositories if name_key(name) not in taken)[
        :REPOSITORIES_AT_MOST
    ]


def compare(
    papers: Sequence[Paper], repositories: Sequence[str]
) -> Iterator[tuple[int, int, list[float]]]:
    """Yield the pairs that share a rare key, by their positions, with the values of their signs."""
    named = [repository_keys(name) for name in repositories]
    having: dict[tuple[int, str], list[int]] = {key: [] for keys in named for key in keys}
    counts = Counter[tuple[int, str]]()
    for at, paper in enumerate(papers):
        shared = having.keys() & paper_keys(paper)
        counts.update(shared)
        for key in shared:
            if counts[key] <= RARE_AT_MOST:
                having[key].append(at)
    near: dict[int, set[int]] = defaultdict(set)
    for repository, keys in enumerate(named):
        for key in keys:
            for at in having[key] if counts[key] <= RARE_AT_MOST else ():
                near[at].add(repository)
    most = math.log(max(len(papers), PAPERS_AT_LEAST) + 1)
    rarity = {key: 1 - math.log(counts[key] + 1) / most for key in having}
    for at in sorted(near):
        keys = paper_keys(papers[at])
        for repository in sorted(near[at]):
            yield at, repository, _values(keys, named[repository], rarity)


def chance(values: Sequence[float]) -> float:
    """Return the probability that a pair with these values of the signs belongs together."""
    return 1 / (1 + math.exp(-BIAS - sum(map(mul, WEIGHTS, values))))


def _reason(values: Sequence[float]) -> str:
    """Return the signs that a pair has, the strongest first."""
    shares = sorted(zip(map(mul, WEIGHTS, values), SIGNS, strict=True), reverse=True)
    return "signs: " + ", ".join(sign for share, sign in shares if share)


def paper_keys(paper: Paper) -> Keys:
    """Return the keys of a paper."""
    title = [word.casefold() for word in words(paper.title)]
    written = words(f"{paper.title} {paper.text}")
    first = "".join(word[0] for word in title)
    return (
        {(LETTERS, letters) for letters in trigrams(" ".join(title))}
        | {(WORD, word.casefold()) for word in written}
        | {(WORD, one + other) for one, other in pairwise(title)}
        | {(CAPITALS, word.casefold()) for word in written if not word[1:].islower()}
        | {
            (INITIALS, first[at : at + size])
            for size in INITIALS_LENGTHS
            for at in range(len(first))
        }
        | {(AUTHOR, key) for author in paper.authors for key in _author_keys(author)}
    )


def repository_keys(name: str) -> Keys:
    """Return the keys of an `owner/name`.

    >>> sorted(key for sign, key in repository_keys("lemire/FastPFor") if sign == WORD)
    ['fast', 'fastpfor', 'for']
    """
    owner, _, own = name[:NAME_CHARACTERS_AT_MOST].rpartition("/")
    parts = [word.casefold() for word in words(own)]
    pieces = {*parts, *map(str.casefold, name_parts(own)), "".join(parts)}
    called = "".join(words(owner)).casefold()
    runs = (
        called[start:end]
        for start in range(len(called))
        for end in range(start + OWNER_LETTERS_AT_LEAST, len(called) + 1)
    )
    return (
        {(LETTERS, letters) for letters in trigrams(" ".join(parts))}
        | {
            key
            for key in product((WORD, CAPITALS, INITIALS), pieces)
            if len(key[1]) >= LETTERS_AT_LEAST
        }
        | {(AUTHOR, run) for run in runs}
    )


def _author_keys(author: str) -> Iterator[str]:
    """Yield the forms in which the name of an owner may contain an author's name."""
    named = [word.casefold() for word in words(author)] or [""]
    first = named[0]
    last = named[-1]
    forms = (first, last, first + last, last + first, first[:1] + last, last + first[:1])
    return (form for form in forms if len(form) >= OWNER_LETTERS_AT_LEAST)


def _values(paper: Keys, repository: Keys, rarity: Mapping[tuple[int, str], float]) -> list[float]:
    """Return the value of each sign.

    Letters count by their share of the name, and an author by the share of the owner's name; of
    other signs, the rarest shared key counts.
    """
    values = [0.0] * len(SIGNS)
    whole = sum(rarity[key] for key in repository if key[0] == LETTERS)
    longest = max((len(word) for sign, word in repository if sign == AUTHOR), default=1)
    for sign, word in sorted(paper & repository):
        value = rarity[sign, word] * (len(word) / longest if sign == AUTHOR else 1)
        values[sign] = max(values[sign], value) if sign else values[sign] + value / whole
    return values
