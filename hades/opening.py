"""Opening a memory: a file, a database, or a memory behind a server."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, urlencode

from hades.domain.address import is_address, is_server, is_socket
from hades.domain.times import Clock, system_clock
from hades.errors import Conflict, InvalidInput, NotFound
from hades.memory import Memory
from hades.operations.inside import DEFAULT_ENCODER, DEFAULT_SPACE, Inside
from hades.store.records import LIBRARY
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.library.library import Library

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
    """Open a memory, and create it if there is none: `hades.open("~/notes.hades")`.

    With `create=False` or `read_only=True`, raise NotFound instead of creating it. Without a path,
    open the user's own memory; the settings supply the options that are not given. `space` is the
    space to work in (default: `default`), `actor` the author in the change log (your login name).
    `busy_timeout_s` is how long a write waits for another process (10). `encoder` computes vectors
    (the built-in `minilm`), `extractor` finds names in texts from now on: `names` (built in) or
    `spacy`; the memory remembers it. `clock` replaces the system's clock: a function that returns
    the microseconds since 1970 as an int.

    An address opens the memory of a server: `http://host:8674`, `https://…` or
    `unix:///run/hades/rw.sock`. `key` identifies you there (over HTTP; default: HADES_KEY),
    `timeout_s` is how long to wait for an answer (60), and `retries` how often a call is repeated
    if the server is busy or cannot be reached (4). These three are refused for a file. For a
    server, `actor`, `encoder`, `extractor` and `clock` are refused, because it determines them.
    """
    if path is None:
        options: dict[str, Any] = {
            "space": space,
            "actor": actor,
            "key": key,
            "encoder": encoder,
            "extractor": extractor,
            "busy_timeout_s": busy_timeout_s,
            "timeout_s": timeout_s,
            "retries": retries,
        }
        given = {name: value for name, value in options.items() if value not in (None, "")}
        return open_with_settings(create=create, read_only=read_only, clock=clock, **given)
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
        if store.meta(LIBRARY) is not None:
            options = {"busy_timeout_s": busy_timeout_s, "read_only": read_only}
            if clock is not system_clock:
                options |= {"clock": clock}
            return _library(store, space, actor, encoder, options)
        memory = Memory(
            Inside(store, space or DEFAULT_SPACE, actor=actor or login_name(), encoder=encoder)
        )
        if extractor is not None:
            memory.inside.use_extractor(extractor)
        if not store.read_only and store.owed():
            with store.patient(0):  # opening does not wait for readers
                memory.inside.finish_owed()
        return memory
    except BaseException:
        store.close()
        raise


def open_library(
    place: str | Path,
    *,
    volumes: int | None = None,
    by: str = "topic",
    **options: Any,
) -> Library:
    """Open a library: many memories, its volumes, that are asked as one.

    `place` is its catalogue, a file or an address of PostgreSQL, or a folder with a file
    `library.hades`. If it does not exist and `volumes` is given, it is created with this number of
    new volumes beside it, or with 0 for memories that exist (`add_volume`). `by` says what decides
    which volume something new goes to: `topic`, `space` or `year`. Other options are those of
    `open`. See docs/scale.md.
    """
    from hades.library.catalogue import check_by, write_facts

    if not is_server(place) and Path(place).expanduser().is_dir():
        place = Path(place).expanduser() / "library.hades"
    check_by(by)
    opened = open(place, **{"create": volumes is not None, **options})
    if opened.inside.store.meta(LIBRARY) is not None:
        return cast("Library", opened)
    with opened:
        if volumes is not None and opened.topics(limit=1):
            raise Conflict(f"{place} is one memory: name a new file for the catalogue, and add it.")
        if volumes is None:
            raise NotFound(f"There is no library at {place}: `hades library create` makes one.")
        write_facts(opened.inside.store, opened.inside.actor, "create_library", by)
    library = cast("Library", open(place, **options))
    for number in range(1, volumes + 1):
        name = f"volume{number}"
        library.add_volume(name, _beside(place, name))
    return library


def _beside(place: str | Path, name: str) -> str:
    """Return the place of a volume beside a catalogue: a schema, or a file by its name."""
    if not is_server(place):
        return f"{Path(place).stem}-{name}.hades"
    address, _, query = str(place).partition("?")
    parts = dict(parse_qsl(query, keep_blank_values=True))
    parts["schema"] = f"{parts.get('schema', 'hades')}_{name}"
    return f"{address}?{urlencode(parts)}"


def _library(
    store: Store, space: str | None, actor: str | None, encoder: str, options: dict[str, Any]
) -> Library:
    from hades.library.library import Library
    from hades.settings import load_settings

    return Library(
        store,
        space or DEFAULT_SPACE,
        actor or login_name(),
        encoder=encoder,
        opened=open,
        workers=load_settings().library_workers,
        options=options,
    )


def open_with_settings(
    path: str | Path | None = None, *, read_only: bool = False, **given: Any
) -> Memory:
    """Open a memory as `open` does; the settings supply the path and options that are not given."""
    from hades.settings import load_settings

    settings = load_settings()
    path = path or settings.ready_path()
    defaults: dict[str, Any] = {"space": settings.space}
    if is_address(path):
        defaults["key"] = None if is_socket(path) else settings.key
    else:
        defaults |= {"actor": settings.actor, "busy_timeout_s": settings.busy_timeout_s}
        defaults["encoder"] = settings.own_encoder
        defaults["extractor"] = None if read_only else settings.extractor
    return open(path, read_only=read_only, **defaults | given)


def login_name() -> str:
    """Return the user's login name, or "unknown" if the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
