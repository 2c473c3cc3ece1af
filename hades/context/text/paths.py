"""The plain text of paths that were asked for, as a prompt for a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hades.context.text.answers import reason_lines
from hades.context.text.layout import PlainText, TextBody, flat, writes
from hades.context.tokens import count, cut_words
from hades.domain.answer import FoundPaths, Path
from hades.domain.hierarchy import LOW, Cluster
from hades.domain.quoting import unlabelled
from hades.domain.rules import clean_list

SUMMARY_TOKENS_AT_MOST = 300
PATH_TOKENS_AT_MOST = 120
_INSTRUCTIONS = (
    "Instructions: Answer using only the information in these paths. Cite path # and node ids."
)


def format_path_prompt(paths: Sequence[Path], hierarchy_summary: str) -> str:
    """Return the prompt of HiRAG × PathRAG.

    The summary has at most 300 tokens, each path at most 120.
    """
    lines = [f"- {unlabelled(flat(line))}" for line in hierarchy_summary.splitlines() if line]
    ledger = cut_words("\n".join(lines), SUMMARY_TOKENS_AT_MOST)
    lines_of_paths = map(_path_line, clean_list(paths, "paths"))
    numbered = [f"{number}) {line}" for number, line in enumerate(lines_of_paths, 1)]
    parts = ["Hierarchy context (HiRAG):", ledger or "- none", "", "Relational paths (PathRAG):"]
    return "\n".join([*parts, *(numbered or ["none"]), "", _INSTRUCTIONS])


def cluster_summary(names: Iterable[str], clusters: Sequence[Cluster]) -> str:
    """Return a line for each named cluster of level 1: topic ▸ subtopic: summary."""
    known = {cluster.id: cluster for cluster in clusters}
    chosen = [known[name] for name in names if name in known]
    return "\n".join(_summary_line(own, known) for own in chosen if own.level == LOW)


def _path_line(path: Path) -> str:
    """Return a path with its snippets; if that is too long, without them and cut."""
    whole, short = (unlabelled(flat(path.told(snippets=snippets))) for snippets in (True, False))
    fits = count([whole])[0] <= PATH_TOKENS_AT_MOST
    return whole if fits else cut_words(short, PATH_TOKENS_AT_MOST)


def _summary_line(cluster: Cluster, known: Mapping[str, Cluster]) -> str:
    parent = known.get(cluster.parent or "")
    above = f"{parent.label} ▸ " if parent else ""
    summary = "".join(f": {line}" for line in cluster.summary.splitlines()[:1])
    return f"{above}{cluster.label}{summary}"


@writes(FoundPaths)
def found_path_lines(paths: FoundPaths) -> PlainText:
    """Show the prompt of some paths, then how they were found."""
    yield TextBody(paths.prompt, stored=False)
    yield from reason_lines(paths.reasons, explain=True)
