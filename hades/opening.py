"""Opening a memory: a file, a database, or one behind a server."""

from __future__ import annotations

import getpass
from pathlib import Path

from hades.domain.address import is_address, is_socket
from hades.domain.times import Clock, system_clock
from hades.errors import InvalidInput
from hades.memory import DEFAULT_ENCODER, DEFAULT_SPACE, Memory
from hades.store.store import Store

DEFAULT_BUSY_TIMEOUT_S = 10.0


def open(
    path: str | Path | None = None,
    *,
    space: str | None = None,
    actor: str | None = None,
    create: bool = True,
    read_only: bool = False,
    busy_timeout_s: float | None = None,
    encoder: str | None = None,
    extractor: str | None = None,
    clock: Clock = system_clock,
    key: str | None = None,
    timeout_s: float | None = None,
    retries: int | None = None,
) -> Memory:
    """Open a memory, making it when there is none: `hades.open("~/notes.hades")`.

    An address opens the memory a server has: `http://host:8674`, `https://…` or
    `unix:///run/hades/rw.sock`. Then `key` is who you are there (by HTTP, else HADES_KEY),
    `timeout_s` how long an answer is waited for (60) and `retries` how often a call that found
    nobody, or a busy server, is tried again (4); encoder, extractor and clock are the server's
    own.

    Without a path it is the user's own, and whatever is not given is as the settings say.
    `actor` is who the change log names (your login name), `space` the space to work in
    (`default`), `busy_timeout_s` how long a write waits for another process's (10),
    `encoder` who makes vectors (the built-in `minilm`), `extractor` who finds names in texts
    from now on: `names` (built in) or `spacy`; the memory remembers it. `clock` tells the time
    instead of the system: a function that returns the microseconds since 1970 as an int.
    """
    if path is None:
        from hades.settings import load_settings

        settings = load_settings()
        path = settings.ready_path()
        space = space or settings.space
        key = key or (None if is_socket(path) else settings.key)
        if not is_address(path):
            actor = actor or settings.actor
            busy_timeout_s = settings.busy_timeout_s if busy_timeout_s is None else busy_timeout_s
            encoder = encoder or (None if settings.encoder == DEFAULT_ENCODER else settings.encoder)
            extractor = extractor or (None if read_only else settings.extractor)
    if is_address(path):
        from hades.client.client import connect

        if encoder is not None or extractor is not None or clock is not system_clock:
            raise InvalidInput("Encoder, extractor and clock are the server's: leave them out.")
        return connect(
            str(path),
            space=space or DEFAULT_SPACE,
            actor=actor,
            key=key,
            timeout_s=timeout_s,
            retries=retries,
            read_only=read_only,
        )
    if key is not None or timeout_s is not None or retries is not None:
        raise InvalidInput("A file needs no key, timeout_s or retries: they are for a server.")
    store = Store(
        path,
        create=create,
        read_only=read_only,
        busy_timeout_s=DEFAULT_BUSY_TIMEOUT_S if busy_timeout_s is None else busy_timeout_s,
        clock=clock,
    )
    try:
        encoder = encoder or store.meta("encoder") or DEFAULT_ENCODER
        memory = Memory(store, space or DEFAULT_SPACE, actor or _user(), encoder=encoder)
        if extractor is not None:
            memory._use_extractor(extractor)
        if not store.read_only and store.owed():
            with store.patient(0):  # whoever opens a memory does not wait for its readers
                memory._finish_owed()
        return memory
    except BaseException:
        store.close()
        raise


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
