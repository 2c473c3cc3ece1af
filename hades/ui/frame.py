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
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from hades.domain.statement import day
from hades.domain.times import iso
from hades.domain.topics import Lifetime, Space
from hades.errors import HadesError, NotFound
from hades.serve.auth.caller import Role
from hades.serve.problems import FAILED_INSIDE
from hades.ui.calls import Visitor
from hades.ui.controls import box, button, error, link, select, slider, text
from hades.ui.sessions import SignedOut

STEPS = 1_000
"""The positions of the time slider; the last one is now."""
CONNECT_S = 30.0
DEFAULT = "default"
"""The space of an address that names none."""
SHORT_LIFE_DAYS = 60
"""In memories younger than this, moments are shown with the time of day."""
_log = logging.getLogger(__name__)

Draw = Callable[["Frame"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A page in the navigation."""

    path: str
    title: str
    role: Role


NAVIGATION: list[NavEntry] = []


def page(
    path: str, title: str, *, in_navigation: bool = True, role: Role = Role.READER
) -> Callable[[Draw], Draw]:
    """Return a decorator that declares a page of the explorer, for visitors with a role."""

    def decorate(draw: Draw) -> Draw:
        if in_navigation:
            NAVIGATION.append(NavEntry(path, title, role))

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
        self._draw = draw
        self._role = role
        self._drawing: asyncio.Task[None] | None = None
        self._lifetime = Lifetime(None, None)

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

    async def show(self, **query: Any) -> None:
        """Draw the page again with other parameters in its address."""
        self.query = {name: str(value) for name, value in query.items() if value not in (None, "")}
        self._go()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Show errors of the memory as a sentence where the page is being drawn."""
        try:
            yield
        except SignedOut as ended:
            ui.navigate.to(f"/sign-in?why={quote(str(ended))}")
        except NotFound as gone:
            error(str(gone))
            link("Look through the topics", self.address("/topics"))
        except HadesError as refused:
            error(str(refused))
        except Exception:  # noqa: BLE001 - the edge of the process: log it, and say so
            _log.exception("the page %s failed", self.path)
            error(FAILED_INSIDE)

    # The frame itself

    async def open(self) -> None:
        """Draw the frame, then the page once the browser is connected."""
        client = ui.context.client
        self._dark = ui.dark_mode(self.visitor.session.dark)
        link("Skip to the content", "#content", "skip")
        with box("top", "header"):
            self._bar = box("bar")
            self._time = box("time")
        self._main = box("page", id="content", tabindex=-1)
        with self._main, box("empty"):
            text("Loading …")
        await client.connected(timeout=CONNECT_S)
        spaces: list[Space] = []
        with self._main, self.errors():
            spaces = await self.visitor.spaces()
        if not self.space:
            names = [space.name for space in spaces]
            self.space = next(iter(names), DEFAULT) if DEFAULT not in names else DEFAULT
        with self._bar:
            self._draw_bar(spaces)
        await self._read_lifetime()
        self._redraw()

    def _draw_bar(self, spaces: list[Space]) -> None:
        link("HADES", self.address("/"), "brand")
        with box("nav", "nav", **{"aria-label": "Pages"}):
            for entry in NAVIGATION:
                if not self.visitor.may(entry.role, self.space):
                    continue
                here = {"aria-current": "page"} if entry.path == self.path else {}
                link(entry.title, self.address(entry.path), **here)
        names = {space.name: space.name for space in spaces}
        select("space", "Space", {self.space: self.space, **names}, self.space, self._set_space)
        themes = {"": "Auto", "light": "Light", "dark": "Dark"}
        chosen = {None: "", False: "light", True: "dark"}[self.visitor.session.dark]
        select("theme", "Theme", themes, chosen, self._set_theme)
        link("Sign out", "/sign-out", "small")

    def _draw_time(self) -> None:
        self._time.clear()
        first = self._lifetime.first_known if self.by_known else self._lifetime.first_valid
        self._time.classes(remove="past").classes("past" if self.at else "")
        if first is None and self.at is None:
            return
        with self._time, box("bar"):
            now = datetime.now(UTC)
            begun = min(first or now, now)
            life = (now - begun) or (now - now.replace(year=now.year - 1))
            share = STEPS
            if self.at is not None and (moment := _read_iso(self.at)) is not None:
                share = max(0, min(STEPS, round(STEPS * ((moment - begun) / life))))

            async def moved(value: int) -> None:
                chosen = None if value >= STEPS else iso(begun + life * (value / STEPS))
                await self._set_time(chosen, self.by_known)

            slider("Time", share, STEPS, moved)
            text(_moment_words(self.at, life.days), "moment small", **{"aria-live": "polite"})
            axes = {"valid": "valid time", "known": "known time"}
            axis = "known" if self.by_known else "valid"
            select("axis", "Kind of time", axes, axis, self._set_axis)
            if self.at is not None:
                button("Now", lambda: self._set_time(None, self.by_known), "main")

    async def _set_time(self, at: str | None, by_known: bool) -> None:
        self.at, self.by_known = at, by_known
        self._go()

    async def _set_axis(self, axis: str) -> None:
        await self._set_time(self.at, axis == "known")

    async def _set_space(self, space: str) -> None:
        self.space = space
        ui.navigate.to(self.address(self.path))

    def _set_theme(self, theme: str) -> None:
        dark = {"light": False, "dark": True}.get(theme)
        self.visitor.session.dark = self._dark.value = dark

    def _go(self) -> None:
        """Put where the page looks into its address, and draw it again."""
        ui.navigate.history.push(self.address(self.path, **self.query))
        ui.run_javascript("window.hadesPlace = location.pathname + location.search")
        self._redraw()

    async def _read_lifetime(self) -> None:
        with self._main, self.errors():
            self._lifetime = await self.call_now("lifetime")

    def _redraw(self) -> None:
        """Draw the page in a task of its own; what was being drawn before is dropped."""
        if self._drawing is not None:
            self._drawing.cancel()
        self._draw_time()
        self._drawing = asyncio.create_task(self._draw_in(self._main))

    async def _draw_in(self, place: Element) -> None:
        place.clear()
        with place, self.errors():
            self.visitor.require(self._role, self.space)
            await self._draw(self)


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
