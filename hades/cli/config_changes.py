"""Changes of other programs' configuration files: shown, confirmed, then written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hades.cli.invocation import Invocation
from hades.domain.address import is_address, is_server

if TYPE_CHECKING:
    from hades.serve.config_files import ConfigChange


def absolute(memory: str) -> str:
    """Return the absolute path of a memory file; the address of a server is unchanged."""
    is_remote = is_address(memory) or is_server(memory)
    return memory if is_remote else str(Path(memory).expanduser().absolute())


def confirmed(
    invocation: Invocation,
    change: ConfigChange,
    yes: bool,
    *,
    removes: bool = False,
    prepare: Callable[[], object] | None = None,
) -> bool:
    """Show a change, ask the user, and write it; return False if there is nothing to change.

    `prepare` is called when the user has agreed, before anything is written.
    """
    from hades.cli.render import printable

    out = sys.stdout
    out.write(f"{change.program} reads {change.file}.\n")
    if removes and change.after is None:
        out.write("There is nothing of HADES in it.\n")
        return False
    out.write(f"This is {'removed' if removes else 'added'}:\n{printable(change.shown())}\n")
    if change.after is None:
        out.write("It is there already: nothing to write.\n")
        return False
    if change.replaces is not None and not removes:
        old = json.dumps(change.replaces, ensure_ascii=False)
        out.write(f"It takes the place of: {printable(old)}\n")
    invocation.confirm(f"Write {change.file}?", yes)
    if prepare is not None:
        prepare()
    kept = change.apply()
    out.write(f"Written to {change.file}.\n")
    if kept is not None:
        out.write(f"The old file is kept at: {kept}\n")
    return True
