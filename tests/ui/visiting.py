"""A served memory that is called as pages call it, by visitors with keys of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hades.serve.auth.audit import Audit
from hades.serve.auth.browsers import BrowserSessions
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys
from hades.serve.executor import Executor
from hades.serve.jobs import Jobs
from hades.serve.telemetry.metrics import Metrics
from hades.serve.uploads import Uploads
from hades.ui.calls import Calls, Visitor


class CalledMemory:
    """A served memory with one note, for visitors with different keys."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        if read_only:
            Executor.open(folder / "notes.hades").close()
        self.executor = Executor.open(folder / "notes.hades", read_only=read_only)
        self.keys = Keys(folder / "notes.hades.keys")
        self.audit = Audit(folder / "audit")
        self.calls = Calls(
            self.executor,
            BrowserSessions(self.keys),
            self.audit,
            Jobs(self.executor),
            Uploads(self.executor.uploads),
            Metrics(),
            self.keys,
        )

    def visitor(self, role: Role, spaces: list[str] | None = None) -> Visitor:
        key, _ = self.keys.create(f"{role.name.lower()}-{len(self.keys.listed())}", role, spaces)
        return Visitor(self.calls, self.calls.sessions.begin(key))

    def close(self) -> None:
        self.executor.close()
        self.audit.close()


def called(visitor: Visitor, name: str, /, space: str = "default", **given: Any) -> Any:
    return asyncio.run(visitor.call(name, space, **given))
