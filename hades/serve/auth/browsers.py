"""Sessions of visitors, and the links that start one without a key.

A session is kept in this process and ends with it. It names a key, not the secret, so that a
revoked key ends its sessions. `hades ui` makes a start link and stores its hash in a private file
beside the memory; whoever can write there owns the memory.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hades.errors import Corrupt, Denied
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.keys import Key, Keys, digest_of, locked_folder, read_private
from hades.serve.jobs import Job
from hades.store.drafts import write_private

IDLE_S = 12 * 3600.0
"""A session ends when it is not used for so long."""
SESSIONS_PER_KEY_AT_MOST = 100
"""A further sign-in ends the least recently used session of the same key."""
ADDITIONS_AT_MOST = 20
"""How many additions of one session can be undone."""
LINK_S = 600.0
OWNER = Caller("owner", Role.ADMIN, local=True)
"""The caller of a session that a start link began."""


ENDED = "Your session has ended: sign in again."
REVOKED = "Your key was revoked: sign in with another one."


class SignedOut(Denied):
    """The visitor's session has ended: sign in again."""


@dataclass
class Addition:
    """A note or files that a visitor added, and may undo."""

    space: str
    title: str
    written: dict[str, int]
    """The version of each topic that was written."""
    job: Job | None = None
    """The job that reads the files."""
    undone: int = 0
    """How many topics were taken back."""


@dataclass
class BrowserSession:
    """One signed-in browser."""

    key: str | None
    """The id of its key; None: it came by a start link."""
    used_at: float
    dark: bool | None = None
    """The theme that the visitor chose; None: that of the system."""
    additions: deque[Addition] = field(default_factory=lambda: deque(maxlen=ADDITIONS_AT_MOST))


class BrowserSessions:
    """The sessions of one server, by the hash of their token."""

    def __init__(self, keys: Keys, clock: Callable[[], float] = time.monotonic) -> None:
        self._keys = keys
        self._clock = clock
        self._sessions: dict[str, BrowserSession] = {}

    def begin(self, key: Key | None) -> str:
        """Begin a session for a key, or for the owner, and return its token."""
        now = self._clock()
        new = BrowserSession(key.id if key else None, now)
        self._sessions = {at: it for at, it in self._sessions.items() if now - it.used_at <= IDLE_S}
        same_key = [at for at, it in self._sessions.items() if it.key == new.key]
        if len(same_key) >= SESSIONS_PER_KEY_AT_MOST:
            del self._sessions[min(same_key, key=lambda at: self._sessions[at].used_at)]
        token = secrets.token_urlsafe(32)
        self._sessions[digest_of(token)] = new
        return token

    def session(self, token: str) -> BrowserSession:
        """Return a session; raise SignedOut if it has ended."""
        session = self._sessions.get(digest_of(token))
        if session is None or self._clock() - session.used_at > IDLE_S:
            self.end(token)
            raise SignedOut(ENDED)
        session.used_at = self._clock()
        return session

    def caller(self, token: str) -> Caller:
        """Return the caller of a session, with the rights that its key has now."""
        session = self.session(token)
        if session.key is None:
            return OWNER
        key = self._keys.known(session.key)
        if key is None:
            raise SignedOut(REVOKED)
        return key.caller

    def end(self, token: str) -> None:
        """End a session."""
        self._sessions.pop(digest_of(token), None)


class StartLinks:
    """The unused start links of a memory, and where its servers listen, in a private file."""

    def __init__(self, memory: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = memory.with_name(memory.name + ".start")
        self._page = memory.absolute().with_name(memory.name + ".start.html")
        self._clock = clock

    def create(self) -> str:
        """Return a new token, which `use` accepts once within `LINK_S` seconds."""
        token = secrets.token_urlsafe(32)
        with self._changed() as content:
            content["links"][digest_of(token)] = self._clock() + LINK_S
        return token

    def hand_over(self, link: str) -> str:
        """Write a private page that leads to a link, and return its address, for a browser.

        Every user of the machine can read the command line of a browser, so the link must not be
        in it. The page is removed when the link is used.
        """
        moving = f'<meta http-equiv="refresh" content="0;url={link}"><a href="{link}">HADES</a>'
        write_private(self._page, f"<!doctype html>{moving}".encode())
        return self._page.as_uri()

    def use(self, token: str) -> bool:
        """Return whether a token is valid, and make it invalid."""
        with self._changed() as content:
            is_good = content["links"].pop(digest_of(token), None) is not None
        if is_good:
            with suppress(OSError):
                self._page.unlink()
        return is_good

    def serve(self, url: str, pid: int) -> None:
        """Record that a process serves this memory's pages at a URL."""
        with self._changed() as content:
            content["servers"][url] = pid

    def leave(self, url: str) -> None:
        """Remove the record that `serve` made."""
        with self._changed() as content:
            content["servers"].pop(url, None)

    def servers(self) -> dict[str, int]:
        """Return the process ids of the servers by URL; some may have been killed."""
        return dict(self._unexpired()["servers"])

    def _unexpired(self) -> dict[str, dict[str, Any]]:
        """Return the links that have not expired, by hash, and the servers."""
        text = read_private(self.path)
        try:
            content = json.loads(text) if text else {"links": {}, "servers": {}}
            now = self._clock()
            links = {mark: until for mark, until in content["links"].items() if until > now}
            return {"links": links, "servers": dict(content["servers"])}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Corrupt(f"{self.path} cannot be read: remove it.") from error

    @contextmanager
    def _changed(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the content of the file. If the block changes the content, write it afterwards."""
        with locked_folder(self.path.parent):
            content = self._unexpired()
            before = json.dumps(content)
            yield content
            if (after := json.dumps(content)) != before:
                write_private(self.path, after.encode())
