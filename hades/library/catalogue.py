"""The catalogue of a library: its volumes, where new topics go, and what each volume holds.

The catalogue is a memory. All this is in its table `meta`, which has no history, so a purged name
is not left in an older version of a sketch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Any

from hades.domain.address import is_server, without_password
from hades.domain.rules import clean_name
from hades.domain.times import Clock
from hades.errors import Conflict, InvalidInput, NotFound
from hades.library.sketch import Sketch, unpacked
from hades.store.records import LIBRARY
from hades.store.store import Store

BY = ("topic", "space", "year")
"""The rules by which new topics go to volumes: by their name, their space, or the year in which
they became true."""


@dataclass(frozen=True, slots=True)
class VolumeEntry:
    """A volume as the catalogue knows it."""

    name: str
    place: str
    """A file (a relative path starts at the catalogue's folder), or postgresql://…"""
    takes: tuple[str, ...] = ()
    """Globs of what goes to it: topics, spaces or years. Volumes without globs share the rest."""

    @property
    def shown(self) -> str:
        """The place without a password."""
        return without_password(self.place)


class Catalogue:
    """The volumes of a library, the rule for new topics, and the sketches."""

    def __init__(self, store: Store, actor: str) -> None:
        self._store = store
        self._actor = actor
        self._read: tuple[int, str, tuple[VolumeEntry, ...]] = (-1, "", ())
        self._sketches: dict[tuple[str, str], Sketch | None] = {}
        self._unwritten: set[tuple[str, str]] = set()

    @property
    def clock(self) -> Clock:
        """The clock of the library."""
        return self._store.database.clock

    @property
    def by(self) -> str:
        """The rule by which new topics go to volumes, one of BY."""
        return self._current()[1]

    @property
    def volumes(self) -> tuple[VolumeEntry, ...]:
        """The volumes, in the order in which they were added."""
        return self._current()[2]

    def volume(self, name: str) -> VolumeEntry:
        """Return a volume; raise NotFound if there is none of this name."""
        for volume in self.volumes:
            if volume.name == name:
                return volume
        raise NotFound(f"The library has no volume {name!r}: `hades library list` names them.")

    def place(self, volume: VolumeEntry) -> str:
        """Return a volume's address; a relative path starts at the catalogue's folder."""
        if is_server(volume.place):
            return volume.place
        return str(self._store.database.files.parent.joinpath(volume.place))

    def add(self, volume: VolumeEntry) -> None:
        """Add a volume; raise Conflict if its name or place is taken."""
        clean_name(volume.name, "volume")
        for other in self.volumes:
            if volume.name == other.name or self.place(volume) == self.place(other):
                raise Conflict(f"The library already has {other.name!r} at {other.shown}.")
        self._write("add_volume", (*self.volumes, volume))

    def moved(self, name: str, place: str) -> None:
        """Record that a volume is at another place."""
        old = self.volume(name)
        new = replace(old, place=place)
        volumes = tuple(new if one == old else one for one in self.volumes)
        self._write("move_volume", volumes)

    def removed(self, name: str) -> None:
        """Forget a volume."""
        old = self.volume(name)
        self._write("remove_volume", tuple(one for one in self.volumes if one != old))

    def home(self, space: str, topic: str, year: int) -> VolumeEntry:
        """Return the volume that a new topic goes to.

        Among several volumes, a hash of the topic decides. If a volume is added, few topics get
        another home.
        """
        return home_of(self.volumes, self.by, space, topic, year)

    def sketch(self, volume: str, space: str) -> Sketch | None:
        """Return the sketch of a volume, or None if there is none."""
        if (volume, space) not in self._sketches:
            text = self._store.meta(_sketch_key(volume, space))
            self._sketches[volume, space] = unpacked(text) if text else None
        return self._sketches[volume, space]

    def hold(self, volume: str, space: str, sketch: Sketch) -> None:
        """Use a newer sketch from now on, and write it later."""
        self._sketches[volume, space] = sketch
        self._unwritten.add((volume, space))

    def keep(self, volume: str, space: str, sketch: Sketch | None) -> None:
        """Replace the stored sketch of a volume; with None, record that it has none."""
        self._sketches[volume, space] = sketch
        self._unwritten.discard((volume, space))
        if not self._store.read_only:
            with self._store.write(self._actor, "sketch"):
                text = "" if sketch is None else sketch.packed()
                self._store.set_meta(_sketch_key(volume, space), text)

    def keep_all(self) -> None:
        """Write the sketches that `hold` received."""
        for volume, space in [*self._unwritten]:
            self.keep(volume, space, self._sketches[volume, space])

    def _current(self) -> tuple[int, str, tuple[VolumeEntry, ...]]:
        change = self._store.change()
        if change != self._read[0]:
            facts = json.loads(self._store.meta(LIBRARY) or "{}")
            volumes = tuple(
                VolumeEntry(one["name"], one["place"], tuple(one["takes"]))
                for one in facts.get("volumes", ())
            )
            self._read = change, facts.get("by", BY[0]), volumes
            # Another process may have written newer sketches.
            held = {key: self._sketches[key] for key in self._unwritten}
            self._sketches = held
        return self._read

    def _write(self, action: str, volumes: Sequence[VolumeEntry]) -> None:
        write_facts(self._store, self._actor, action, self.by, volumes)


def home_of(
    volumes: Sequence[VolumeEntry], by: str, space: str, topic: str, year: int
) -> VolumeEntry:
    """Return which of these volumes a new topic goes to (see `Catalogue.home`)."""
    key = {"topic": topic, "space": space, "year": str(year)}[by]
    takers = [one for one in volumes if any(fnmatchcase(key, glob) for glob in one.takes)]
    takers = takers or [one for one in volumes if not one.takes]
    if not takers:
        raise NotFound(f"No volume takes {by} {key!r}: add one with `hades library add`.")
    return max(takers, key=lambda one: _weight(one.name, space, topic))


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a source that one volume takes when several ingest it."""

    name: str
    volumes: tuple[VolumeEntry, ...]
    by: str
    space: str
    own: frozenset[str]
    elsewhere: frozenset[str]
    """The topics that this volume has already, and the topics that others have."""

    def __call__(self, topic: str) -> bool:
        """Return whether the volume takes a topic."""
        if topic in self.own or topic in self.elsewhere:
            return topic in self.own
        return home_of(self.volumes, self.by, self.space, topic, 0).name == self.name


def write_facts(
    store: Store, actor: str, action: str, by: str, volumes: Sequence[VolumeEntry] = ()
) -> None:
    """Write the rule and the volumes of a library into its catalogue."""
    facts: dict[str, Any] = {"by": by, "volumes": [asdict(one) for one in volumes]}
    with store.write(actor, action):
        store.set_meta(LIBRARY, json.dumps(facts))


def check_by(by: str) -> None:
    """Raise InvalidInput unless `by` is one of BY."""
    if by not in BY:
        raise InvalidInput(f"New topics can go to volumes by {', '.join(BY)}, not by {by!r}.")


def _weight(volume: str, space: str, topic: str) -> bytes:
    """Return the weight of a volume for a topic (rendezvous hashing: the highest one wins)."""
    return blake2b(f"{volume}\0{space}\0{topic}".encode(), digest_size=8).digest()


def _sketch_key(volume: str, space: str) -> str:
    return f"sketch:{volume}:{space}"
