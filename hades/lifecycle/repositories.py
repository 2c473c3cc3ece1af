"""Repositories of papers: propose the edge `implements` where no text states it.

A paper without a repository is compared with the repositories that no paper has. A proposal waits
for review and names the signs that speak for it (repository_signs.py). A pair that was proposed
before is not proposed again, whatever was decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hades.domain.graph import Likeness
from hades.domain.times import NOW
from hades.language.names import name_key
from hades.lifecycle.repository_signs import Candidate, Comparison, Paper
from hades.store.links import TopicRow
from hades.store.records import EdgeFilter, Progress
from hades.store.store import Store

ACTION = "propose"
"""The action in the change log."""
IMPLEMENTS, AUTHORED_BY = "implements", "authored_by"
PROPOSED_FROM = 0.3
"""The chance from which a repository is proposed, chosen on half 0 (docs/lab/recall.md)."""
PROPOSED_EACH = 3
"""The most repositories that are proposed for one paper."""
TOPICS_AT_MOST, REPOSITORIES_AT_MOST = 100_000, 10_000
"""The topics written last are read; the first repositories by name are compared."""
_BATCH_TOPICS = 500


@dataclass(frozen=True, slots=True)
class RepositoryProposer:
    """One run over one space."""

    store: Store
    space: int
    actor: str
    on_progress: Progress
    dry_run: bool

    def run(self) -> tuple[Likeness, ...]:
        """Propose repositories for papers without one; a dry run only reports.

        Return the new proposals: `keep` is the title of a paper, `other` a repository.
        """
        topics = self.store.links.topics(self.space, NOW, TOPICS_AT_MOST)
        papers = [topic for topic in topics if topic.kind == "paper"]
        implemented = self._targets(IMPLEMENTS)
        repositories = self._repositories(topics, implemented) if papers else []
        if not repositories:
            return ()
        authors = self._targets(AUTHORED_BY)
        titles: dict[int, str] = {}

        def read() -> Iterator[Paper]:
            for at, (_, content) in enumerate(self._contents(papers)):
                if at % _BATCH_TOPICS == 0:
                    self.on_progress("comparing papers and repositories", at, len(papers))
                titles[at], _, text = content.partition("\n\n")
                yield Paper(titles[at], text, authors.get(name_key(titles[at]), ()))

        by_paper: dict[int, list[Candidate]] = defaultdict(list)
        for candidate in Comparison(read, repositories).candidates():
            has_one = name_key(titles[candidate.paper]) in implemented
            if candidate.chance >= PROPOSED_FROM and not has_one:
                by_paper[candidate.paper].append(candidate)
        likely = []
        for paper, candidates in sorted(by_paper.items()):
            candidates.sort(key=lambda candidate: (-candidate.chance, candidate.repository))
            for candidate in candidates[:PROPOSED_EACH]:
                why = ", ".join(candidate.reasons)
                name = repositories[candidate.repository]
                likely.append(Likeness(titles[paper], name, round(candidate.chance, 4), why))
        return self._propose(likely)

    def _targets(self, relation: str) -> dict[str, list[str]]:
        """Return the targets of a relation, told or read in texts, by the key of their source."""
        wanted = EdgeFilter(relation=relation)
        targets: dict[str, list[str]] = defaultdict(list)
        for part in (self.store.edges, self.store.derived_edges):
            for edge in part.find(self.space, wanted, NOW):
                targets[name_key(edge.source.name)].append(edge.target.name)
        return targets

    def _repositories(
        self, topics: Sequence[TopicRow], implemented: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """Return the repositories that implement no paper yet, by name.

        These are entities of that kind, and topics called `owner/name` whose text has this name.
        """
        named = self.store.mentions.entities(self.space, NOW)
        found = {entity.name for entity in named if entity.kind == "repository"}
        called = [topic for topic in topics if topic.kind != "paper" and topic.name.count("/") == 1]
        found |= {name for name, content in self._contents(called) if name in content}
        taken = {name_key(name) for names in implemented.values() for name in names}
        return sorted(name for name in found if name_key(name) not in taken)[:REPOSITORIES_AT_MOST]

    def _contents(self, topics: Sequence[TopicRow]) -> Iterator[tuple[str, str]]:
        """Yield the name and text of topics, in order."""
        for first in range(0, len(topics), _BATCH_TOPICS):
            batch = topics[first : first + _BATCH_TOPICS]
            contents = self.store.topics.contents([topic.state for topic in batch])
            for topic in batch:
                yield topic.name, contents[topic.state]

    def _propose(self, likely: Sequence[Likeness]) -> tuple[Likeness, ...]:
        """Propose pairs that were not proposed before; return them."""
        known = {
            (name_key(proposal.fields["source"]), name_key(proposal.fields["target"]))
            for proposal in self.store.proposals.find(self.space)
            if proposal.kind == "relate" and proposal.fields["relation"] == IMPLEMENTS
        }
        new = [pair for pair in likely if (name_key(pair.keep), name_key(pair.other)) not in known]
        if new and not self.dry_run:
            with (
                self.store.transaction(),
                self.store.write(self.actor, ACTION, self.space) as write,
            ):
                for pair in new:
                    why = f"signs: {pair.why}"
                    fields = {"source": pair.keep, "relation": IMPLEMENTS, "target": pair.other}
                    self.store.proposals.add(
                        *(write, self.space, self.actor, "relate", {**fields, "evidence": why}),
                        confidence=pair.score,
                        threshold=1.0,
                        why=why,
                    )
        return tuple(new)
