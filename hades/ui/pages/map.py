"""Map: the hierarchy of a space as a treemap, down to the passages of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from hades.domain.hierarchy import LOW, Cluster, ClusterReport, HierarchyReport
from hades.domain.plain import counted, one_line
from hades.domain.statement import day
from hades.domain.topics import Chunk
from hades.errors import NotFound
from hades.ui.cards import chunk_address, chunk_card
from hades.ui.controls import box, button, empty, link, text
from hades.ui.frame import Frame, page
from hades.ui.treemap import treemap

PASSAGES = 20
"""The passages of a cluster that are shown at first."""
PASSAGES_AT_MOST = 200
WORDS_SHOWN = 400
_WIDE, _HIGH = 1200, 460
"""The size of the treemap in pixels; narrow screens squeeze it, few clusters lower it."""


@page("/map", "Map")
async def map_of_clusters(frame: Frame) -> None:
    """Draw all clusters of the highest level, or the cluster that the address names."""
    name = frame.query.get("cluster")
    if name is not None:
        await _one(frame, name)
        return
    report: HierarchyReport = await frame.call("hierarchy")
    text("Map of the memory", "", "h1")
    if report.current is None:
        _no_hierarchy(frame)
        return
    roots = [cluster for cluster in report.clusters if cluster.parent is None]
    made = f"organised {day(report.current.made_at)}"
    text(f"{counted(report.current.chunks, 'passage')} in "
         f"{counted(len(roots), 'group')}, {made}.", "muted", "p")  # fmt: skip
    if report.current.drift is not None and report.current.drift.due:
        with box("note line"):
            text(f"Organising again is proposed: {report.current.drift.due}.")
            _organise(frame)
    parts = {root.id: [part for part in report.clusters if part.parent == root.id]
             for root in roots}  # fmt: skip
    if len(roots) == 1 and len(parts[roots[0].id]) > 1:
        roots = parts[roots[0].id]
    _clusters(frame, roots, {name: _labels(several) for name, several in parts.items()})


def _no_hierarchy(frame: Frame) -> None:
    if frame.at is not None:
        empty("There was no hierarchy at this time.", then="Move the slider, or press Now.")
        return
    empty("The passages of this space are not organised yet.",
          then="hades organise groups them, and this page then shows the groups.")  # fmt: skip
    with box("line").style("justify-content: center; margin-top: 12px"):
        _organise(frame)


def _organise(frame: Frame) -> None:
    """Draw the button that organises the space, for writers."""
    if not frame.may_write:
        return

    async def organise() -> None:
        pressed.props["disabled"] = True
        pressed.update()
        with frame.errors():
            await frame.call_now("organise")
            await frame.show(**frame.query)

    pressed = button("Organise", organise, "main")


async def _one(frame: Frame, name: str) -> None:
    """Draw one cluster: its summary, its parts, and the passages of a cluster of level 1."""
    wanted = frame.query.get("passages", "")
    limit = min(int(wanted), PASSAGES_AT_MOST) if wanted in _MORE else PASSAGES
    report: ClusterReport = await frame.call("clusters", cluster=name, limit=limit)
    while len(report.children) == 1:
        child = report.children[0].id
        report = await frame.call("clusters", cluster=child, limit=limit)
    own = report.cluster
    with box("line small", "nav", **{"aria-label": "Clusters above"}):
        link("Map", frame.address("/map"))
        if own.parent is not None:
            text("›", "muted")
            above: ClusterReport = await frame.call("clusters", cluster=own.parent, limit=1)
            if len(above.children) > 1:
                link(_label(above.cluster), frame.address("/map", cluster=own.parent))
            else:
                text(_label(above.cluster), "muted")
    text(_label(own), "", "h1")
    text(counted(own.size, "passage"), "muted", "p")
    _summary(frame, own)
    if report.children:
        _clusters(frame, report.children, {})
    if own.level == LOW:
        await _passages(frame, report, limit)
    if report.siblings:
        text("Near it", "", "h2").style("margin-top: 20px")
        with box("line"):
            for near in report.siblings:
                link(_label(near), frame.address("/map", cluster=near.id), "chip")


_MORE = ("100", str(PASSAGES_AT_MOST))


async def _passages(frame: Frame, report: ClusterReport, limit: int) -> None:
    text("Passages, the most typical first", "", "h2").style("margin-top: 20px")
    read: dict[str, list[Chunk]] = {}
    with box("stack"):
        for number, member in enumerate(report.members, 1):
            state = member.cite.rpartition("#")[0]
            if state not in read:
                read[state] = await _chunks(frame, state)
            for chunk in read[state]:
                if chunk.id == member.cite:
                    chunk_card(frame, number, chunk, f"nearness {member.nearness:.0%}")
    larger = next((more for more in _MORE if int(more) > limit), None)
    if larger and report.cluster.size > limit:
        own = report.cluster.id
        button(f"Show {larger}", lambda: frame.show(cluster=own, passages=larger), "main").style(
            "margin-top: 12px"
        )


async def _chunks(frame: Frame, state: str) -> list[Chunk]:
    topic, _, version = state.rpartition("@")
    try:
        chunks: list[Chunk] = await frame.call_now("chunks", topic=topic, version=int(version))
    except NotFound:
        return []
    return chunks


def _clusters(frame: Frame, clusters: Sequence[Cluster], inside: dict[str, str]) -> None:
    """Draw clusters as a treemap of links, then each with its summary."""
    ordered = sorted((it for it in clusters if it.size > 0), key=lambda it: (-it.size, it.id))
    high = min(_HIGH, 140 + 40 * len(ordered))
    with box("map", "nav", **{"aria-label": "Clusters by size"}).style(f"height: {high}px"):
        cells = treemap([cluster.size for cluster in ordered], (0, 0, _WIDE, high))
        for number, (cluster, cell) in enumerate(zip(ordered, cells, strict=True)):
            label, size = _label(cluster), counted(cluster.size, "passage")
            words = f"{label}: {size}"
            place = frame.address("/map", cluster=cluster.id)
            with link(
                "", place, f"tone{number % 4}", title=words, **{"aria-label": words}
            ) as drawn:
                text(label, "name")
                text(size, "small")
                if inside.get(cluster.id):
                    text(inside[cluster.id], "small wide")
            left, top, width, height = cell
            drawn.style(
                f"left:{left / _WIDE:.3%};top:{top / high:.3%};"
                f"width:{width / _WIDE:.3%};height:{height / high:.3%}"
            )
    with box("stack").style("margin-top: 20px"):
        for cluster in ordered:
            with box("card", "article"):
                with box("line spread"):
                    link(_label(cluster), frame.address("/map", cluster=cluster.id))
                    text(counted(cluster.size, "passage"), "chip")
                _summary(frame, cluster)


def _summary(frame: Frame, cluster: Cluster) -> None:
    """Draw the sentences of a summary; the citation at the end of a line opens its source."""
    for line in cluster.summary.splitlines():
        sentence, mark, cite = line.rpartition(" [")
        cited = bool(mark) and line.endswith("]") and "@" in cite and "#" in cite
        with text(_cut(sentence if cited else line), "", "p"):
            if cited:
                text(" ")
                link(one_line(cite[:-1]), chunk_address(frame, cite[:-1]), "small")


def _label(cluster: Cluster) -> str:
    return one_line(cluster.label) or cluster.id


def _labels(clusters: Sequence[Cluster]) -> str:
    return "; ".join(_label(cluster) for cluster in clusters[:4])


def _cut(words: str) -> str:
    return words if len(words) <= WORDS_SHOWN else f"{words[: WORDS_SHOWN - 1]}…"
