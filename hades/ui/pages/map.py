"""Map: the hierarchy of a space as a treemap, down to the passages of a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from nicegui import ui

from hades.domain.hierarchy import LOW, Cluster, ClusterReport, HierarchyReport
from hades.domain.plain import counted, one_line
from hades.domain.statement import day
from hades.domain.topics import Chunk
from hades.ui.cards import chunk_address, chunk_card
from hades.ui.controls import box, button, empty, link, text
from hades.ui.frame import Frame, page, result_or
from hades.ui.network import COLOURS, TOOLTIP, colour, cut

PASSAGES = 20
"""The passages of a cluster that are shown at first."""
PASSAGES_AT_MOST = 200
WORDS_SHOWN = 400


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
    inside = [part for part in report.clusters if part.parent == roots[0].id]
    _clusters(frame, inside if len(roots) == 1 and len(inside) > 1 else roots, report.clusters)


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
    loop = asyncio.get_running_loop()

    def on_progress(what: str, done: int, total: int) -> None:
        words = f"{what}: {done:,}" + f" of {total:,}" * bool(total)
        loop.call_soon_threadsafe(progress.set_text, f"{words} …")

    async def organise() -> None:
        pressed.props["disabled"] = True
        progress.text = "Organising …"
        with place:
            work = frame.call_now("organise", on_progress=on_progress)
            await frame.do("The space was organised.", work)
        progress.text = ""
        del pressed.props["disabled"]

    pressed = button("Organise", organise, "main")
    with box("small", role="status") as place:
        progress = ui.label()


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
        _clusters(frame, report.children, ())
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
                topic, _, version = state.rpartition("@")
                chunks = frame.call_now("chunks", topic=topic, version=int(version))
                read[state] = await result_or(chunks, [])
            for chunk in read[state]:
                if chunk.id == member.cite:
                    chunk_card(frame, number, chunk, f"nearness {member.nearness:.0%}")
    larger = next((more for more in _MORE if int(more) > limit), None)
    if larger and report.cluster.size > limit:
        own = report.cluster.id
        button(f"Show {larger}", lambda: frame.show(cluster=own, passages=larger), "main").style(
            "margin-top: 12px"
        )


def _clusters(frame: Frame, clusters: Sequence[Cluster], every: Sequence[Cluster]) -> None:
    """Draw clusters as a treemap with their parts, then each as a link with its summary."""
    ordered = sorted((it for it in clusters if it.size > 0), key=lambda it: (-it.size, it.id))
    parts = {cluster.id: [it for it in every if it.parent == cluster.id] for cluster in ordered}
    data = [_area(cluster) | {"children": list(map(_area, parts[cluster.id]))}
            for cluster in ordered]  # fmt: skip
    label = {"overflow": "truncate", "fontSize": 13, "lineHeight": 18, "color": "#000"}
    series = {"type": "treemap", "data": data, "roam": False, "nodeClick": False, "left": 0,
              "right": 0, "top": 0, "bottom": 0, "breadcrumb": {"show": False},
              "label": label | {"formatter": "{b}\n{c} passages"},
              "upperLabel": label | {"show": True, "height": 26, ":color": colour("text")},
              "levels": [{"upperLabel": {"show": False},
                          "itemStyle": {"gapWidth": 6, ":borderColor": colour("surface")}},
                         {"itemStyle": {"gapWidth": 1, ":borderColor": colour("surface")}}],
              "itemStyle": {"borderWidth": 0}}  # fmt: skip
    options = {"animation": False, "color": COLOURS, "tooltip": TOOLTIP, "series": [series]}

    def clicked(event: Any) -> None:
        ui.navigate.to(frame.address("/map", cluster=event.data["cluster"]))

    with box("card network", role="img", **{"aria-label": "Clusters by size, drawn"}):
        ui.echart(options, on_point_click=clicked).style(
            f"height: {150 + 40 * min(8, len(data))}px"
        )
    with box("stack").style("margin-top: 20px"):
        for cluster in ordered:
            with box("card", "article"):
                with box("line spread"):
                    link(_label(cluster), frame.address("/map", cluster=cluster.id))
                    text(counted(cluster.size, "passage"), "chip")
                _summary(frame, cluster)
                with box("line small"):
                    for part in parts[cluster.id]:
                        link(_label(part), frame.address("/map", cluster=part.id), "chip")


def _area(cluster: Cluster) -> dict[str, Any]:
    words = f"{_label(cluster)}: {counted(cluster.size, 'passage')}"
    return {"name": _label(cluster), "value": cluster.size, "tip": cut(words),
            "cluster": cluster.id}  # fmt: skip


def _summary(frame: Frame, cluster: Cluster) -> None:
    """Draw the sentences of a summary; the citation at the end of a line opens its source."""
    for line in cluster.summary.splitlines():
        sentence, mark, cite = line.rpartition(" [")
        cited = bool(mark) and line.endswith("]") and "@" in cite and "#" in cite
        with text(cut(sentence if cited else line, WORDS_SHOWN), "", "p"):
            if cited:
                text(" ")
                link(one_line(cite[:-1]), chunk_address(frame, cite[:-1]), "small")


def _label(cluster: Cluster) -> str:
    return one_line(cluster.label) or cluster.id
