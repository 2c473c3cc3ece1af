"""The webs of a memory: the graph at each moment somebody asks about, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hades.domain.times import FOREVER, AsOf
from hades.index.catalogue import Catalogue
from hades.index.tables import Tables
from hades.index.web import Moment, Web
from hades.store.port import Progress, Store

KEPT = 4
"""Webs of so many moments are kept."""


class Webs:
    """Webs by space and moment, for as long as nothing changes."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self.tables = Tables(store, folder)
        self._kept: dict[tuple[int, int, int], tuple[Web, int]] = {}
        """The web, and until when it holds."""

    def catch_up(self, on_progress: Progress | None = None) -> None:
        """Read what was written since."""
        if self.tables.catch_up(on_progress):
            self._kept.clear()

    def at(self, catalogue: Catalogue, space: int, as_of: AsOf) -> Web:
        """The web of a space at a moment."""
        valid, known = catalogue.moment(as_of)
        visible = catalogue.visible(space, as_of)
        key = (space, 0 if as_of.valid is None else valid, 0 if as_of.known is None else known)
        kept = self._kept.get(key)
        if kept is not None and kept[0].visible is visible and valid < kept[1]:
            return kept[0]
        order = None
        if not as_of.is_now:
            rows = self._store.feed.order(space, valid, known)
            columns = np.array(rows, np.int64).reshape(-1, 3).T
            order = (columns[0], columns[1], columns[2])
        web = Web(self.tables, catalogue.chunks["id"], Moment(space, valid, known, visible, order))
        if len(self._kept) >= KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (web, self._holds_until(valid))
        return web

    def _holds_until(self, valid: int) -> int:
        edges = self.tables["edges"]
        turns = np.concatenate([edges["valid_from"], edges["valid_to"]])
        later = turns[turns > valid]
        return int(later.min()) if len(later) else FOREVER
