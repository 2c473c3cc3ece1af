"""Keys and spaces, for admins. Keys are managed by the owner, who came by a start link."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import ui

from hades.domain.plain import counted, one_line
from hades.domain.statement import moment_words
from hades.domain.topics import Space
from hades.errors import InvalidInput
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import role_named
from hades.ui.controls import box, button, copy_dialog, empty, field, form, select, text
from hades.ui.frame import DEFAULT, Frame, page


@page("/keys", "Keys and spaces", role=Role.ADMIN)
async def keys(frame: Frame) -> None:
    """Draw the keys and the spaces, with forms for new ones."""
    text("Keys and spaces", "", "h1")
    with box("two"):
        with box("stack"):
            text("Keys", "", "h2")
            if frame.visitor.caller.local:
                await _keys(frame)
            else:
                empty("Keys are managed on the server’s own machine.",
                      then="Run hades ui there, or hades keys.")  # fmt: skip
        with box("stack"):
            text("Spaces", "", "h2")
            await _spaces(frame)


async def _keys(frame: Frame) -> None:
    async def create(given: Mapping[str, Any]) -> None:
        with place, frame.errors():
            names = [it.strip() for it in str(given.get("spaces", "")).split(",") if it.strip()]
            token = await frame.visitor.create_key(
                str(given.get("name", "")).strip(),
                role_named(str(given.get("role", ""))),
                names or None,
            )
            copy_dialog("The new key, shown only this once", token, on_close=frame.show)

    with form(create, "card line"):
        field("name", "Name of the key", "", "grow", required=True)
        roles = {role.name.lower(): role.name.lower() for role in Role}
        select("role", "Role", roles, "reader")
        field("spaces", "Spaces, with commas between (all)", "", "grow")
        text("Create the key", "act main", "button", type="submit")
    place = box()
    known = await frame.visitor.keys()
    if not known:
        empty("There is no key yet.", then="Create one: others sign in with it.")
    for key in known:
        spaces = "all spaces" if key.spaces is None else ", ".join(key.spaces)
        used = f"used {moment_words(key.used_at)}" if key.used_at else "not used yet"
        with box("card line spread"):
            _named(key.name, f"{key.role.name.lower()}, {one_line(spaces)}, {used}")
            label = {"aria-label": f"Revoke {key.name}"}
            button("Revoke", partial(_revoke, frame, key.name), "small", **label)


def _named(name: str, more: str) -> None:
    with box("tight"):
        text(one_line(name))
        text(more, "muted small")


async def _revoke(frame: Frame, name: str) -> None:
    await frame.do(f"Revoked {name}.", frame.visitor.revoke_key(name))


async def _spaces(frame: Frame) -> None:
    async def create(given: Mapping[str, Any]) -> None:
        name = str(given.get("name", "")).strip()
        with place:
            await frame.do(f"Created {name}.", frame.visitor.create_space(name))

    with form(create, "card line"):
        field("name", "Name of the space", "", "grow", required=True)
        text("Create the space", "act main", "button", type="submit")
    place = box()
    for space in await frame.visitor.spaces():
        with box("card line spread"):
            _named(space.name, counted(space.topics, "topic"))
            if space.name != DEFAULT:
                label = {"aria-label": f"Drop {space.name}"}
                button("Drop …", partial(_ask_to_drop, frame, space), "small", **label)


def _ask_to_drop(frame: Frame, space: Space) -> None:
    """Ask for the name of a space in a dialog, then drop the space."""

    async def drop(given: Mapping[str, Any]) -> None:
        with place:
            await frame.do(f"Dropped {space.name}.", drop_space(frame, space.name, given))

    with ui.dialog(value=True) as dialog, box("card"), form(drop, "stack"):
        dialog.props["aria-label"] = "Drop a space"
        text(f"Drop {one_line(space.name)}?", "", "h3")
        lost = f"{counted(space.topics, 'topic')} and all their versions are erased for good."
        text(f"{lost} Type the name of the space to confirm.", "", "p")
        field("typed", "Name of the space to drop", "", required=True, autocomplete="off")
        place = box()
        with box("line"):
            text("Drop the space", "act main", "button", type="submit")
            button("Keep it", dialog.close)


async def drop_space(frame: Frame, name: str, given: Mapping[str, Any]) -> None:
    """Erase a space if its name was typed."""
    if str(given.get("typed", "")).strip() != name:
        raise InvalidInput(f"This is not the name of the space: type {name!r}.")
    await frame.visitor.drop_space(name)
    frame.space = "" if name == frame.space else frame.space
