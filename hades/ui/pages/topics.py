"""Topics and time: the list, and the trace of one topic with its differences and edges."""

from __future__ import annotations

from functools import partial

from hades.domain.graph import Edge
from hades.domain.plain import counted, one_line
from hades.domain.statement import day, moment_words, statement
from hades.domain.topics import Diff, State, Topic
from hades.ui.cards import source_address
from hades.ui.controls import box, button, diff, empty, field, form, link, select, text
from hades.ui.frame import Frame, no_notes, page, result_or
from hades.ui.pages.source import read_number
from hades.ui.prose import stored

PAGE = 50
VERSIONS_SHOWN = 200
EDGES_SHOWN = 200
DIFF_LINES_SHOWN = 2_000
CHARACTERS_SHOWN = 6_000
"""A longer current text is cut; the source page has all of it."""
ORDERS = {"": "By name", "latest": "Latest first"}


@page("/topics", "Topics")
async def topics(frame: Frame) -> None:
    """Draw the list of topics that match a search, in pages."""
    wanted = frame.query.get("search", "")
    after = frame.query.get("after")
    order = frame.query.get("order", "")
    again = partial(frame.show, search=wanted, order=order)
    text("Topics and time", "", "h1")
    with form(lambda given: again(search=given.get("search"))):
        field(
            "search", "Part of a name, or a pattern such as design/*", wanted, "grow", type="search"
        )
        text("Search", "act main", "button", type="submit")
        select("order", "Order", ORDERS, order, lambda chosen: again(order=chosen))
    listed: list[Topic] = await frame.call(
        "topics",
        glob=as_glob(wanted),
        after=after,
        limit=PAGE + 1,
        latest=order == "latest",
        preview=True,
    )
    with box("stack").style("margin-top: 16px"):
        if not listed:
            _no_topics(frame, wanted)
            return
        with box("card scroll").style("padding: 4px 8px"), box("", "table"):
            with box("", "thead"), box("", "tr"):
                for title in ("Topic", "Versions", "Since"):
                    text(title, "wide" if title == "Versions" else "", "th", scope="col")
            with box("", "tbody"):
                for topic in listed[:PAGE]:
                    _row(frame, topic)
        with box("line"):
            if after:
                button("First page", again)
            if len(listed) > PAGE:
                last = listed[PAGE - 1].name
                button("Next page", lambda: again(after=last), "main")


def as_glob(wanted: str) -> str | None:
    """Return the pattern of names that a search means: a part of a name, unless it has a `*`."""
    if not wanted.strip():
        return None
    return wanted if "*" in wanted else f"*{literal(wanted)}*"


def literal(name: str) -> str:
    """Return the pattern that matches one name only."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _no_topics(frame: Frame, wanted: str) -> None:
    if wanted:
        empty(f"No topic matches “{wanted[:100]}”.", then="Show all topics",
              href=frame.address("/topics"))  # fmt: skip
    else:
        no_notes(frame)


def _row(frame: Frame, topic: Topic) -> None:
    with box("", "tr"):
        with box("", "td"):
            link(one_line(topic.name), frame.address("/topic", name=topic.name))
            for tag in topic.tags[:8]:
                text(tag, "chip")
            text(one_line(" ".join(topic.preview.split())), "muted small preview", "div")
        text(str(topic.versions), "wide", "td")
        text(day(topic.valid_from), "", "td").style("white-space: nowrap")


@page("/topic", "Topic", in_navigation=False)
async def trace(frame: Frame) -> None:
    """Draw the trace of one topic: its versions, a difference, and its edges."""
    name = frame.query.get("name", "")
    history: list[State] = await frame.call("history", topic=name)
    last = history[-1].version
    newest = read_number(frame.query, "newest") or last
    states = [state for state in history if state.version <= newest][-VERSIONS_SHOWN:] or history
    edges: list[Edge] = await result_or(
        frame.call("edges", name=name, all=True, limit=EDGES_SHOWN), []
    )
    edges.sort(key=lambda edge: edge.valid_from, reverse=True)
    with box("line spread"):
        text(one_line(name), "", "h1")
        link("In the graph", frame.address("/graph", name=name))
    after = read_number(frame.query, "after") or last
    before = read_number(frame.query, "before") or max(1, after - 1)
    holds: State | None = await result_or(frame.call("get", topic=name), None)
    with box("two"):
        with box("stack"):
            if holds is not None:
                with box("card answer"):
                    stored(name, holds.content[:CHARACTERS_SHOWN])
                    if len(holds.content) > CHARACTERS_SHOWN:
                        link("All of it", source_address(frame, name, holds.version))
            text("What changed", "", "h2")
            await _difference(frame, name, states, before, after)
            text("Edges opened and closed", "", "h2")
            _edge_list(edges)
        with box("stack"):
            text("Versions, and what was known when", "", "h2")
            with box("trace", "ol"):
                for state in reversed(states):
                    _version(frame, state, holds.version if holds else 0, last)
            with box("line"):
                if newest < last:
                    link("Latest versions", frame.address("/topic", name=name))
                if states[0] is not history[0]:
                    earlier = {"name": name, "newest": states[0].version - 1}
                    link("Earlier versions", frame.address("/topic", **earlier))


def _version(frame: Frame, state: State, holding: int, last: int) -> None:
    """Draw a version; `holding` is the one that holds at the chosen time, 0 if none does."""
    with box("now" if state.version == holding else "", "li"):
        with box("line"):
            place = source_address(frame, state.topic, state.version)
            link(f"Version {state.version}", place)
            if state.version == holding:
                text("holds now" if frame.at is None else "held then", "chip good")
            if state.forgotten:
                text("forgotten", "chip old")
        until = f" to {moment_words(state.valid_to)}" if state.valid_to else ", still"
        text(f"True from {moment_words(state.valid_from)}{until}", "small", "div")
        text(f"Known since {moment_words(state.recorded_at)}", "small muted", "div")
        words = one_line(state.content[:160].replace("\n", " "))
        text(words + ("…" if len(state.content) > 160 else ""), "small muted", "div")
        if frame.may_write and state.version != holding and not state.forgotten:
            label = {"aria-label": f"Restore version {state.version} as a new version"}
            restored = partial(_restore, frame, state, last)
            button("Restore as a new version", restored, "small", **label)


async def _restore(frame: Frame, state: State, last: int) -> None:
    frame.query = {"name": state.topic}
    await frame.do(f"Restored version {state.version}.", restore(frame, state, last))


async def restore(frame: Frame, state: State, last: int) -> None:
    """Write an old version as a new one, unless somebody wrote after the `last` one shown."""
    await frame.call_now(
        "remember",
        topic=state.topic,
        content=state.content,
        tags=list(state.tags),
        metadata=dict(state.metadata),
        importance=state.importance,
        confidence=state.confidence,
        expect_version=last,
    )


async def _difference(
    frame: Frame, name: str, states: list[State], before: int, after: int
) -> None:
    versions = {
        str(state.version): f"Version {state.version}, {day(state.valid_from)}" for state in states
    }
    for version in (before, after):
        versions.setdefault(str(version), f"Version {version}")

    async def compare(given: dict[str, str]) -> None:
        await frame.show(name=name, before=given.get("before"), after=given.get("after"))

    with form(compare):
        select("before", "The earlier version", versions, str(before))
        text("to", "muted")
        select("after", "The later version", versions, str(after))
        text("Compare", "act", "button", type="submit")
    with box("card"):
        if before == after:
            text("There is one version only; it can be compared when there are two.", "muted")
            return
        changes: Diff = await frame.call_now("diff", topic=name, before=before, after=after)
        text(
            f"{counted(changes.added, 'line')} added, {counted(changes.removed, 'line')} removed",
            "muted small",
        )
        diff(changes.text.splitlines()[2:], DIFF_LINES_SHOWN)
        for field_name, (old, new) in changes.fields.items():
            text(f"{field_name}: {old} → {new}"[:500], "small", "p")


def _edge_list(edges: list[Edge]) -> None:
    if not edges:
        empty("No edges lead to or from this topic at this time.")
        return
    with box("stack"):
        for edge in edges:
            with box("card line spread").style("display: flex"):
                text(statement(edge))
                ended = edge.valid_to is not None
                text("closed" if ended else "open", f"chip {'old' if ended else 'good'}")
