"""Gathering: from a question to the excerpt of the library that answers it.

    choose volumes → their candidates → the best of all → what these lead to → rows → excerpt

The volumes search with the word statistics of the whole library, so their scores can be compared.
The strongest candidates of all volumes lead to further passages in any volume: those nearest to the
next step of the question, and those about the names in the candidates.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hades.domain.answer import Diagnostic, StageReport
from hades.domain.graph import Reason
from hades.errors import HadesError, Unavailable
from hades.graph.arrays import Floats, Floats32
from hades.index.words import stems
from hades.language.english.lexicon import STOP_WORDS
from hades.library.calls import VolumeCalls
from hades.library.catalogue import Catalogue, VolumeEntry
from hades.library.excerpt import ExcerptOfLibrary
from hades.library.volume import (
    SKETCHED_AFTER,
    Moment,
    SentRows,
    Sought,
    Strong,
    VolumeCandidates,
    Wanted,
)
from hades.memory import View
from hades.models.encoder import Encoder, hop_encoder, load_encoder
from hades.recall.find.finder import name_keys
from hades.recall.find.read_on import PASSAGE_CHARACTERS
from hades.recall.find.scores import minmax

_LOG = logging.getLogger(__name__)
ASKED_AT_MOST = 32
"""The most volumes that one question asks, unless more of them hold one of its names."""
CANDIDATES = 240
"""How many candidates of all volumes together are read."""
SIGNAL = 120
SIGNAL_LEAST = 12
"""How many candidates each signal sends: over all volumes, and from each volume at least."""
FOLLOWED = 40
FOLLOWED_LEAST = 6
"""The same for the passages that the strongest candidates lead to."""
READ_ON = 2
STRONGEST = 5
"""How many of the strongest candidates the hop encoder reads, and are averaged with the
question."""
FIND_SHARE = 0.5
ROWS_SHARE = 0.75
"""The shares of a question's time after which candidates, and rows, must have arrived."""
REVISION_S = 0.5
"""How long volumes have to report their last change, when the library chooses which to ask. A
late one is asked."""
INDEXING_S = 5.0
OPENING_S = 30.0
"""How long a volume may take to index what was written, or to be opened for the first time."""


@dataclass(slots=True)
class GatheredRows:
    """The rows for a question, and how they were gathered."""

    text: str = ""
    """The question, as it was searched for."""
    sent: list[SentRows] = field(default_factory=list)
    missing: dict[str, HadesError] = field(default_factory=dict)
    asked: int = 0
    found: int = 0
    begun: float = field(default_factory=time.perf_counter)

    @property
    def reasons(self) -> tuple[Diagnostic, ...]:
        """A reason for each volume that is missing."""
        return tuple(
            Diagnostic(Reason.VOLUME_MISSING, "volumes", f"{name}: {error}")
            for name, error in self.missing.items()
        )

    @property
    def report(self) -> StageReport:
        """The stage of asking the volumes: `reads` is how many answered."""
        ms = round((time.perf_counter() - self.begun) * 1000, 3)
        return StageReport("volumes", ms, reads=self.asked - len(self.missing), found=self.found)


class Gathering:
    """Gathers what questions need from the volumes of one library."""

    def __init__(self, catalogue: Catalogue, calls: VolumeCalls, encoder: str) -> None:
        self._catalogue = catalogue
        self._calls = calls
        self._encoder = encoder
        self.written = defaultdict[str, set[str]](set)
        """By space, the volumes that were written to since they were last asked."""
        self._opened = defaultdict[str, set[str]](set)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the library, which all volumes must have."""
        return load_encoder(self._encoder)

    def for_question(
        self, moment: Moment, text: str, filters: Mapping[str, Any], latency_s: float
    ) -> GatheredRows:
        """Return the rows around a question."""
        gathered = GatheredRows(text)
        vector = self._vector(text)
        volumes = self.chosen(moment.space, self._held_keys(text), vector)
        gathered.asked = len(volumes)
        new = {volume.name for volume in volumes} - self._opened[moment.space]
        gathered.missing.update(self._make_ready(moment.space, volumes))
        volumes = [one for one in volumes if one.name not in gathered.missing]
        each = len(volumes) or 1
        sought = Sought(
            moment=moment,
            text=text,
            filters=filters,
            vector=vector,
            frequency={stem: self.frequency(moment.space, stem) for stem in stems(text)},
            size=self.size(moment.space),
            most=max(SIGNAL_LEAST, SIGNAL // each),
        )
        if new:  # a first search reads the indexes from disk, longer than a question may take
            opened = [volume for volume in volumes if volume.name in new]
            self._calls.all(opened, "find", sought, until=time.monotonic() + OPENING_S)
        gathered.begun = time.perf_counter()
        begun = time.monotonic()
        found = self._calls.all(volumes, "find", sought, until=begun + FIND_SHARE * latency_s)
        gathered.missing.update(found.missing)
        sent = {name: one for name, one in found.of.items() if one is not None}
        self._note_lag(moment.space, sent)
        best, strong = _best_of(sent)
        names = {key for one in sent.values() for key in one.names}
        wanted = Wanted(
            moment=moment,
            sought=sought,
            vectors=self._following(text, vector, strong),
            keys=sorted(names - STOP_WORDS),
            most=max(FOLLOWED_LEAST, FOLLOWED // each),
        )
        own = {
            name: replace(wanted, chunks=best[name], nodes=one.nodes) for name, one in sent.items()
        }
        until = begun + ROWS_SHARE * latency_s
        self._rows(gathered, [one for one in volumes if one.name in own], own, until)
        return gathered

    def for_names(
        self, moment: Moment, names: Sequence[str], latency_s: float, brief: bool = False
    ) -> GatheredRows:
        """Return the rows around some names, or for a brief of a topic or of the space."""
        gathered = GatheredRows()
        volumes = self.chosen(moment.space, None if brief else names, None)
        gathered.asked = len(volumes)
        gathered.missing.update(self._make_ready(moment.space, volumes))
        volumes = [one for one in volumes if one.name not in gathered.missing]
        gathered.begun = time.perf_counter()
        until = time.monotonic() + latency_s
        of = (names[0] if names else None,) if brief else None
        wanted = Wanted(moment, names=() if brief else names, brief_of=of)
        own = dict.fromkeys((one.name for one in volumes), wanted)
        self._rows(gathered, volumes, own, until)
        return gathered

    def chosen(
        self, space: str, keys: Iterable[str] | None, vector: Floats32 | None
    ) -> list[VolumeEntry]:
        """Return the volumes to ask: all that may hold one of these names, then the nearest.

        A volume without a sketch, or one that was written to since, may hold anything.
        """
        volumes = list(self._catalogue.volumes)
        if len(volumes) <= ASKED_AT_MOST:
            return volumes
        sought = list(keys or ())
        sketches = {volume.name: self._catalogue.sketch(volume.name, space) for volume in volumes}
        now = self._calls.all(volumes, "revision", until=time.monotonic() + REVISION_S).of
        ranked = []
        for volume in volumes:
            sketch = sketches[volume.name]
            is_known = sketch is not None and now.get(volume.name, ("", -1))[1] == sketch.change
            is_needed = sketch is None or not is_known or sketch.holds(sought)
            near = 0.0 if sketch is None else sketch.nearness(vector)
            ranked.append((not is_needed, -near, volume.name, volume))
        ranked.sort(key=lambda one: one[:3])
        needed = sum(not one[0] for one in ranked)
        return [one[3] for one in ranked[: max(needed, ASKED_AT_MOST)]]

    def frequency(self, space: str, stem: str) -> int:
        """Return the number of passages of the library that have a stem."""
        return sum(sketch.frequency(stem) for sketch in self._sketches(space))

    def size(self, space: str) -> int:
        """Return the number of passages of the library, as far as it is known."""
        return sum(sketch.chunks for sketch in self._sketches(space))

    @contextmanager
    def view(self, moment: Moment, gathered: GatheredRows) -> Iterator[View]:
        """Yield a view of the excerpt of what was gathered."""
        if gathered.missing and not gathered.sent:
            name, error = next(iter(gathered.missing.items()))
            raise Unavailable(f"No volume of the library answers; {name}: {error}")
        for diagnostic in gathered.reasons:
            _LOG.warning("%s", diagnostic)
        space = moment.space
        with ExcerptOfLibrary(space, self._catalogue.clock) as excerpt:
            for sent in gathered.sent:
                excerpt.add(sent)
            excerpt.finish()
            size = max(self.size(space), 1)
            excerpt.weigh(gathered.text, lambda stem: self.frequency(space, stem), size)
            view = excerpt.view(moment.as_of, self._encoder)
            view.inside.engine.spent_s = time.perf_counter() - gathered.begun
            yield view

    def _sketches(self, space: str) -> Iterator[Any]:
        for volume in self._catalogue.volumes:
            sketch = self._catalogue.sketch(volume.name, space)
            if sketch is not None:
                yield sketch

    def _held_keys(self, text: str) -> list[str]:
        return [key for key in name_keys(text) if key not in STOP_WORDS]

    def _vector(self, text: str) -> Floats32 | None:
        try:
            vector: Floats32 = self.encoder.encode([text])[0]
        except HadesError:
            return None  # the excerpt's recall reports it
        return vector

    def _following(
        self, text: str, vector: Floats32 | None, strong: Sequence[Strong]
    ) -> list[Floats32]:
        """Return the next vectors to search with: question and candidates averaged, then those of
        the hop encoder."""
        hop = hop_encoder(self.encoder)
        if vector is None or not strong:
            return []
        both = vector + np.mean([one.vector for one in strong[:STRONGEST]], 0)
        following = [(both / max(1e-12, float(np.linalg.norm(both)))).astype(np.float32)]
        if hop is not None:
            read = [f"{text} {one.heading}: {one.text[:PASSAGE_CHARACTERS]}" for one in strong]
            following += list(hop.encode(read[:READ_ON]))
        return following

    def _note_lag(self, space: str, sent: Mapping[str, VolumeCandidates]) -> None:
        """Mark volumes that other processes wrote to, so that they make new sketches before the
        next question."""
        for name, candidates in sent.items():
            sketch = self._catalogue.sketch(name, space)
            if sketch is None or candidates.change > (1 + SKETCHED_AFTER) * sketch.change:
                self.written[space].add(name)

    def _make_ready(self, space: str, volumes: Sequence[VolumeEntry]) -> dict[str, HadesError]:
        """Let volumes index what was written, and open those that were not asked yet.

        Return the errors of missing volumes.
        """
        new = {volume.name for volume in volumes} - self._opened[space]
        late = {volume.name for volume in volumes} & self.written[space]
        waiting = [volume for volume in volumes if volume.name in new | late]
        if not waiting:
            return {}
        until = time.monotonic() + (OPENING_S if new else INDEXING_S)
        sketches = {volume.name: self._catalogue.sketch(volume.name, space) for volume in waiting}
        own = {name: 0 if sketch is None else sketch.change for name, sketch in sketches.items()}
        results = self._calls.all(waiting, "ready", space, own=own, until=until)
        self._opened[space] |= new
        self.written[space] -= late - results.missing.keys()
        for name, sketch in results.of.items():
            if sketch is not None:
                self._catalogue.hold(name, space, sketch)
        return results.missing

    def _rows(
        self,
        gathered: GatheredRows,
        volumes: Sequence[VolumeEntry],
        own: Mapping[str, Wanted],
        until: float,
    ) -> None:
        results = self._calls.all(volumes, "rows", own=own, until=until)
        gathered.missing.update(results.missing)
        gathered.sent = [sent for sent in results.of.values() if sent is not None]
        gathered.found = sum(len(sent.rows["chunks"]) for sent in gathered.sent)


def _best_of(sent: Mapping[str, VolumeCandidates]) -> tuple[dict[str, list[int]], list[Strong]]:
    """Return the chunks to read of each volume, and the strongest candidates, best first.

    Half of the chunks are the best by meaning and words, on one scale. The others are each
    volume's first in turn, since its graph may have found them.
    """
    priors = dict(zip(sent, _priors([*sent.values()]), strict=True))
    flat = [(-prior, name, at) for name, own in priors.items() for at, prior in enumerate(own)]
    ranked = [(name, at) for _, name, at in sorted(flat)]
    turns = sorted(((at, name) for name, own in priors.items() for at in range(len(own))))
    in_turn = [(name, at) for at, name in turns]
    chosen = dict.fromkeys([*ranked[: CANDIDATES // 2], *in_turn])
    of: dict[str, list[int]] = {name: [] for name in sent}
    for name, at in list(chosen)[:CANDIDATES]:
        of[name].append(int(sent[name].chunks[at]))
    strong = sorted(
        (one for each in sent.values() for one in each.strong), key=lambda one: -one.score
    )
    return of, strong


def _priors(sent: Sequence[VolumeCandidates]) -> list[Floats]:
    """Return the mean of cosine and BM25 of each candidate, both scaled to 0–1 over all volumes."""
    if not sent:
        return []
    ends = np.cumsum([len(one.chunks) for one in sent])[:-1]
    both = [
        minmax(np.concatenate([getattr(one, signal) for one in sent]))
        for signal in ("cosine", "words")
    ]
    return np.split((both[0] + both[1]) / 2, ends)
