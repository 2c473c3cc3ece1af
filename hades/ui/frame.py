"""The frame around every page: navigation, space, time, theme; and how a page is declared.

    @page("/topics", "Topics")
    async def topics(frame: Frame) -> None: ...

The function draws the page. It runs again whenever the visitor chooses another space or time, so
that every page works at every moment. All of its state is in the address, so every view has a link.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from hades.domain.statement import day
from hades.domain.times import iso
from hades.domain.topics import Lifetime, Space
from hades.errors import HadesError, NotFound
from hades.serve.auth.browsers import SignedOut
from hades.serve.auth.caller import Role
from hades.serve.problems import FAILED_INSIDE
from hades.serve.write_groups import WriteGroup
from hades.ui.calls import Visitor
from hades.ui.controls import box, button, empty, error, link, select, slider, text

STEPS = 1_000
"""The positions of the time slider; the last one is now."""
PLAYED_STEPS = 20
PLAY_EVERY_S = 0.8
"""Play moves the slider through the memory's life in this many steps, with this pause."""
FIRST_S = 0.3
ANSWER_S = 1.0
"""How long a page waits for its content before it is sent without it, and how long for an answer of
the browser."""
DEFAULT = "default"
"""The space of an address that names none."""
SHORT_LIFE_DAYS = 60
"""In memories younger than this, moments are shown with the time of day."""
_log = logging.getLogger(__name__)

Draw = Callable[["Frame"], Awaitable[None]]
Result = TypeVar("Result")


NAVIGATION: list[tuple[str, str, Role]] = []
"""The path, the title and the least role of each page in the navigation."""


def page(
    path: str, title: str, *, in_navigation: bool = True, role: Role = Role.READER
) -> Callable[[Draw], Draw]:
    """Return a decorator that declares a page of the explorer, for visitors with a role."""

    def decorate(draw: Draw) -> Draw:
        if in_navigation:
            NAVIGATION.append((path, title, role))

        @ui.page(path, title=f"{title} – HADES", language="en-US")
        async def shown(request: Request) -> None:
            query = dict(request.query_params)
            frame = Frame(request.scope["hades.visitor"], path, query, draw, role)
            await frame.open()

        return draw

    return decorate


class Frame:
    """One open page of one visitor: where it looks, how it calls the memory, where it draws."""

    def __init__(
        self, visitor: Visitor, path: str, query: dict[str, str], draw: Draw, role: Role
    ) -> None:
        self.visitor = visitor
        self.path = path
        self.query = query
        """The parameters in the address, without the space and the time."""
        self.space = query.pop("space", "")
        """The name of the space; "" until it is known which spaces the visitor may use."""
        self.at: str | None = query.pop("at", None)
        self.by_known = query.pop("axis", "") == "known"
        """Whether `at` is what was known then, instead of what was true then."""
        self._outcome = ""
        self._undo: WriteGroup | None = None
        self._draw = draw
        self._role = role
        self._drawing: dict[int, asyncio.Task[None]] = {}
        self._lifetime = Lifetime(None, None)
        self._player: asyncio.Task[None] | None = None

    # For pages

    async def call(self, operation: str, /, **given: Any) -> Any:
        """Run an operation in the chosen space, as of the chosen time if it takes one."""
        return await self.visitor.call(operation, self.space, **self.moment, **given)

    async def call_now(self, operation: str, /, **given: Any) -> Any:
        """Run an operation in the chosen space as of now, whatever time is chosen."""
        return await self.visitor.call(operation, self.space, **given)

    @property
    def moment(self) -> dict[str, Any]:
        """The chosen time as arguments of `Visitor.call`; {} for now."""
        return {} if self.at is None else {"known" if self.by_known else "valid": self.at}

    @property
    def may_write(self) -> bool:
        """Whether controls that write may be shown: not to readers, and only as of now."""
        return self.at is None and self.visitor.may(Role.WRITER, self.space)

    def address(self, path: str, /, **query: Any) -> str:
        """Return the address of a page that keeps the space and the time; None leaves one out."""
        kept = {"space": self.space if self.space != DEFAULT else None, "at": self.at}
        kept |= {"axis": "known" if self.by_known and self.at else None} | query
        given = {name: str(value) for name, value in kept.items() if value not in (None, "")}
        return path + (f"?{urlencode(given, quote_via=quote)}" if given else "")

    async def do(self, outcome: str, change: Awaitable[object]) -> None:
        """Wait for a change, then draw the page again with what was done, or show why not.

        If it returns the change that undoes it, the page offers that.
        """
        with self.errors():
            done = await change
            self._outcome = outcome
            self._undo = done if isinstance(done, WriteGroup) else None
            await self.read_spaces()
            await self.show(**self.query)

    def note_done(self, outcome: str, undo: WriteGroup | None) -> None:
        """Say what was done, with a button that undoes it if it can be undone."""
        with box("note line spread", role="status"):
            text(outcome[:500])
            if undo is not None:
                take_back = partial(self.visitor.make, self.space, undo)
                button("Undo", lambda: self.do("Undone.", take_back()), "small")

    async def show(self, **query: Any) -> None:
        """Draw the page again with other parameters in its address."""
        self.note(**query)
        self._redraw()

    def note(self, **query: Any) -> None:
        """Put other parameters into the address without drawing the page again."""
        self.query = {name: str(value) for name, value in query.items() if value not in (None, "")}
        record = ui.navigate.history.replace if self._player else ui.navigate.history.push
        record(self.address(self.path, **self.query))
        ui.run_javascript("window.hadesPlace = location.pathname + location.search")

    def draw_in(self, place: Element, draw: Callable[[], Awaitable[None]]) -> None:
        """Draw a part of the page in a task of its own; an earlier task that still draws there is
        cancelled."""

        async def drawn() -> None:
            place.props["aria-busy"] = "true"
            if _has_chart(place):
                # A chart that is removed before the browser has begun it would raise there.
                with suppress(TimeoutError):
                    await place.client.run_javascript("0", timeout=ANSWER_S)
            place.clear()
            with place, self.errors():
                await draw()
            del place.props["aria-busy"]

        if place.id in self._drawing:
            self._drawing[place.id].cancel()
        self._drawing[place.id] = asyncio.create_task(drawn())

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Show errors of the memory as a sentence where the page is being drawn."""
        try:
            yield
        except SignedOut as ended:
            back = {"why": str(ended), "next": self.address(self.path, **self.query)}
            ui.navigate.to(f"/sign-in?{urlencode(back, quote_via=quote)}")
        except NotFound as gone:
            error(str(gone))
            with box("line"):
                link("Look through the topics", self.address("/topics"))
                if self.space != DEFAULT:
                    link("Leave this space", "/topics")
        except HadesError as refused:
            error(str(refused))
        except Exception:  # noqa: BLE001 - the edge of the process: log it, and say so
            _log.exception("the page %s failed", self.path)
            error(FAILED_INSIDE)

    # The frame itself

    async def open(self) -> None:
        """Draw the frame and begin the page."""
        self._dark = ui.dark_mode(self.visitor.session.dark)
        with ui.header(fixed=False, add_scroll_padding=False).classes("top"):
            link("Skip to the content", "#content", "skip")
            self._bar = box("bar")
            self._time = box("time")
        self._main = box("page", id="content", tabindex=-1, **{"aria-busy": "true"})
        self._begun = asyncio.create_task(self._begin())
        await asyncio.wait({self._begun}, timeout=FIRST_S)

    async def _begin(self) -> None:
        """Draw the bars and the page; everything that is ready within FIRST_S is sent with the
        page."""
        await self.read_spaces()
        self._draw_time()
        with self._main, self.errors():
            self._lifetime = await self.call_now("lifetime")
        self._redraw()
        await asyncio.wait(self._drawing.values())

    async def read_spaces(self) -> None:
        """Read which spaces there are, choose one if none is chosen, and draw the bar."""
        spaces: list[Space] = []
        with self._main, self.errors():
            spaces = await self.visitor.spaces()
        if not self.space:
            names = [space.name for space in spaces]
            self.space = next(iter(names), DEFAULT) if DEFAULT not in names else DEFAULT
        self._bar.clear()
        with self._bar:
            self._draw_bar(spaces)

    def _draw_bar(self, spaces: list[Space]) -> None:
        link("HADES", self.address("/"), "brand")
        with box("nav", "nav", **{"aria-label": "Pages"}):
            for path, title, role in NAVIGATION:
                if not self.visitor.may(role, self.space):
                    continue
                here = {"aria-current": "page"} if path == self.path else {}
                shown = link(title, self.address(path), **here)
                if here:
                    shown.run_method("scrollIntoView", {"block": "nearest", "inline": "center"})
        names = {space.name: space.name for space in spaces}
        select("space", "Space", {self.space: self.space, **names}, self.space, self._set_space)
        themes = {"": "Auto theme", "light": "Light", "dark": "Dark"}
        chosen = {None: "", False: "light", True: "dark"}[self.visitor.session.dark]
        select("theme", "Theme", themes, chosen, self._set_theme)
        forget = "() => sessionStorage.clear()"
        link("Sign out", "/sign-out", "small").on("click", js_handler=forget)

    def _draw_time(self) -> None:
        with self._time, box("bar"):
            self._slider = slider("Time", STEPS, STEPS, self._move)
            self._moment = ui.label().classes("moment small").props("aria-live=polite")
            axes = {"valid": "valid time", "known": "known time"}
            axis = "known" if self.by_known else "valid"
            select(
                "axis",
                "Kind of time",
                axes,
                axis,
                lambda chosen: self._set_time(self.at, chosen == "known"),
            )
            with button("", self._play_or_stop, title="Show the life of the memory in steps"):
                self._play_label = ui.label("Play")
            self._now = button("Now", lambda: self._set_time(None, self.by_known), "main")

    def _show_time(self) -> None:
        """Show the chosen time in the bar, whose controls keep the keyboard's focus."""
        begun, life = self._life()
        self._position = STEPS
        if life and self.at is not None and (moment := _read_iso(self.at)) is not None:
            self._position = max(0, min(STEPS, round(STEPS * ((moment - begun) / life))))
        self._time.set_visibility(bool(life or self.at))
        self._time.classes(remove="past").classes("past" if self.at else "")
        self._slider.props["value"] = self._position
        self._moment.text = _moment_words(self.at, life.days)
        self._play_label.text = "Stop" if self._player else "Play"
        self._now.set_visibility(self.at is not None)

    def _life(self) -> tuple[datetime, timedelta]:
        """Return when the space begins on the chosen axis, and how long ago that was."""
        now = datetime.now(UTC)
        first = self._lifetime.first_known if self.by_known else self._lifetime.first_valid
        return min(first or now, now), now - min(first or now, now)

    async def _move(self, position: int) -> None:
        begun, life = self._life()
        at = None if position >= STEPS else iso(begun + life * (position / STEPS))
        await self._set_time(at, self.by_known)

    def _play_or_stop(self) -> None:
        if self._player is None:
            self._player = asyncio.create_task(self._play())
        else:
            self._player.cancel()
            self._player = None
            self._show_time()

    async def _play(self) -> None:
        """Move the slider in steps, from its place or from the beginning, until now."""
        position = self._position if self._position < STEPS else 0
        with self._time:
            while position < STEPS and self._time.client.has_socket_connection:
                await self._move(position)
                await asyncio.wait({self._drawing[self._main.id]})
                await asyncio.sleep(PLAY_EVERY_S)
                position = self._position + STEPS // PLAYED_STEPS
            self._player = None
            if self._time.client.has_socket_connection:
                await self._move(STEPS)

    async def _set_time(self, at: str | None, by_known: bool) -> None:
        self.at = at
        self.by_known = by_known
        await self.show(**self.query)

    async def _set_space(self, space: str) -> None:
        self.space = space
        ui.navigate.to(self.address(self.path))

    def _set_theme(self, theme: str) -> None:
        dark = {"light": False, "dark": True}.get(theme)
        self.visitor.session.dark = self._dark.value = dark
        if _has_chart(self._main):
            self._redraw()  # a canvas does not use the style sheet

    def _redraw(self) -> None:
        for drawing in self._drawing.values():
            drawing.cancel()
        self._drawing.clear()
        self._show_time()
        self.draw_in(self._main, self._draw_page)

    async def _draw_page(self) -> None:
        self.visitor.require(self._role, self.space)
        if self._outcome:
            self.note_done(self._outcome, self._undo)
            self._outcome = ""
        await self._draw(self)


async def result_or(
    call: Awaitable[Result], missing: Result, *, but: type[HadesError] = NotFound
) -> Result:
    """Wait for a call and return its result, or `missing` if it raises the error `but`."""
    try:
        return await call
    except but:
        return missing


def _has_chart(place: Element) -> bool:
    return any(isinstance(part, ui.echart) for part in place.descendants())


def _read_iso(at: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(at.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _moment_words(at: str | None, days: int) -> str:
    if at is None:
        return "Now"
    moment = _read_iso(at)
    if moment is None:
        return at[:40]
    return f"{day(moment)} {moment:%H:%M}" if days < SHORT_LIFE_DAYS else day(moment)


def no_notes(frame: Frame) -> None:
    """Say that the space has no notes, or had none at the time of the page."""
    if frame.at is not None:
        empty("Nothing was remembered at this time.", then="Move the slider, or press Now.")
    else:
        empty("This space is empty.", then="Write a first note: hades remember TOPIC “…”")
