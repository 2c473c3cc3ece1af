"""The webs of a memory: the graph at each moment somebody asks about, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hades.domain.times import FOREVER, AsOf
from hades.index.catalogue import Catalogue
from hades.index.tables import Changed, Tables
from hades.index.weaving import mend, weave
from hades.index.web import Ints, Moment, Web
from hades.store.port import Progress, Store

KEPT = 4
"""Webs of so many moments are kept."""

_Key = tuple[int, int, int]
_NOW = (0, 0)


class Webs:
    """Webs by space and moment: kept while nothing changes, mended when little does."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self.tables = Tables(store, folder)
        self._kept: dict[_Key, tuple[Web, int, Changed | None]] = {}
        """A web, until when it holds, and what changed since it was made."""

    def catch_up(self, catalogue: Catalogue, on_progress: Progress | None = None) -> None:
        """Read what was written since."""
        changed = self.tables.catch_up(catalogue.chunks["id"], on_progress)
        if changed is None:
            return
        now = {key: kept for key, kept in self._kept.items() if key[1:] == _NOW}
        self._kept = {
            key: (web, until, changed if since is None else since.with_(changed))
            for key, (web, until, since) in now.items()
        }

    def at(self, catalogue: Catalogue, space: int, as_of: AsOf) -> Web:
        """The web of a space at a moment."""
        valid, known = catalogue.moment(as_of)
        visible = catalogue.visible(space, as_of)
        key = (space, 0 if as_of.valid is None else valid, 0 if as_of.known is None else known)
        kept = self._kept.pop(key, None)
        if kept is not None and kept[2] is None and valid < kept[1] and kept[0].visible is visible:
            self._kept[key] = kept
            return kept[0]
        chunks = catalogue.chunks["id"]
        order = None if as_of.is_now else self._order(space, valid, known)
        moment = Moment(space, valid, known, visible, order)
        web = None
        if kept is not None:
            web = mend(kept[0], self.tables, chunks, moment, kept[2] or Changed())
        if web is None:
            web = weave(self.tables, chunks, moment)
        while len(self._kept) >= KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (web, self._holds_until(valid), None)
        return web

    def _order(self, space: int, valid: int, known: int) -> tuple[Ints, Ints, Ints]:
        rows = self._store.feed.order(space, valid, known)
        chunk, topic, ordinal = np.array(rows, np.int64).reshape(-1, 3).T
        return chunk, topic, ordinal

    def _holds_until(self, valid: int) -> int:
        edges = self.tables["edges"]
        turns = np.concatenate([edges["valid_from"], edges["valid_to"]])
        later = turns[turns > valid]
        return int(later.min()) if len(later) else FOREVER
