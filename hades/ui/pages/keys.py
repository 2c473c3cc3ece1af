"""Keys and spaces, for admins. Keys are managed by the owner, who came by a start link."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from hades.domain.statement import moment_words
from hades.errors import HadesError
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Key, role_named
from hades.ui.controls import box, button, copy_dialog, empty, field, form, select, table, text
from hades.ui.frame import Frame, page


@page("/keys", "Keys and spaces", role=Role.ADMIN)
async def keys(frame: Frame) -> None:
    """Draw the keys and the spaces, with forms for new ones."""
    text("Keys and spaces", "", "h1")
    if said := frame.query.get("said"):
        text(said[:300], "note", "p", role="status")
    with box("two"):
        with box("stack"):
            text("Keys", "", "h2")
            if frame.visitor.caller.local:
                await _keys(frame)
            else:
                empty(
                    "Keys are managed on the server’s own machine.",
                    then="Run hades ui there, or hades keys.",
                )
        with box("stack"):
            text("Spaces", "", "h2")
            await _spaces(frame)


async def _keys(frame: Frame) -> None:
    async def create(given: Mapping[str, Any]) -> None:
        with frame.errors():
            names = [it.strip() for it in str(given.get("spaces", "")).split(",") if it.strip()]
            role = role_named(str(given.get("role", "")))
            name = str(given.get("name", "")).strip()
            token = await frame.visitor.create_key(name, role, names or None)
            with box():
                copy_dialog("The new key, shown only this once", token)
            listed.clear()
            with listed:
                _listed(frame, await frame.visitor.keys())

    with form(create, "card line"):
        field("name", "Name of the key", "", "grow", required=True)
        roles = {role.name.lower(): role.name.lower() for role in Role}
        select("role", "Role", roles, "reader")
        field("spaces", "Spaces, with commas between (all)", "", "grow")
        text("Create the key", "act main", "button", type="submit")
    listed = box("stack")
    with listed:
        _listed(frame, await frame.visitor.keys())


def _listed(frame: Frame, known: list[Key]) -> None:
    if not known:
        empty("There is no key yet.", then="Create one: others sign in with it.")
    for key in known:

        async def revoke(name: str = key.name) -> None:
            await _done(frame, f"Revoked {name}.", frame.visitor.revoke_key(name))

        with box("card line spread").style("display: flex"):
            with box("tight"):
                text(key.name)
                spaces = "all spaces" if key.spaces is None else ", ".join(key.spaces)
                used = f"used {moment_words(key.used_at)}" if key.used_at else "not used yet"
                text(f"{key.role.name.lower()}, {spaces}, {used}", "muted small")
            button("Revoke", revoke, "small", **{"aria-label": f"Revoke {key.name}"})


async def _spaces(frame: Frame) -> None:
    async def create(given: Mapping[str, Any]) -> None:
        name = str(given.get("name", "")).strip()
        await _done(frame, f"Created {name}.", frame.visitor.create_space(name))

    with form(create, "card line"):
        field("name", "Name of the space", "", "grow", required=True)
        text("Create the space", "act main", "button", type="submit")
    spaces = await frame.visitor.spaces()
    with box("card"):
        table(("Space", "Topics"), [(space.name, f"{space.topics:,}") for space in spaces])


async def _done(frame: Frame, said: str, work: Awaitable[object]) -> None:
    """Wait for a change, then draw the page again with what was done or why not."""
    try:
        await work
    except HadesError as refused:
        said = f"Not done: {refused}"
    await frame.show(said=said)
