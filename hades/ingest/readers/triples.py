"""Triples: extracted facts, as records of a file.

Field names differ by tool, so common synonyms are accepted: `head`, `relation` and `tail` are
subject, predicate and object.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.ingest.document import Bad
from hades.ingest.readers.records import Record, converted, read_records
from hades.language.english.written_times import read_written_time

_CALLED = {
    "subject": ("subject", "s", "head", "subj", "from"),
    "predicate": ("predicate", "p", "relation", "rel", "pred", "verb"),
    "object": ("object", "o", "tail", "obj", "to"),
    "source": ("source", "chunk", "passage", "document", "doc", "topic"),
    "valid_from": ("valid_from", "start", "since"),
    "valid_to": ("valid_to", "end", "until"),
    "weight": ("weight", "confidence", "score"),
    "evidence": ("evidence", "sentence", "context"),
}


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact: a subject, a predicate and an object."""

    subject: str
    predicate: str
    object: str
    source: str | None = None
    """The id of the passage it was read in, as written in the file."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    weight: float = 1.0
    evidence: str = ""
    where: str = ""
    """The file and the line."""


def looks_like_triple(fields: dict[str, object]) -> bool:
    """Return whether a record has a subject, a predicate and an object."""
    return all(_name_of(fields, part) for part in ("subject", "predicate", "object"))


def read_triples(path: Path) -> Iterator[Triple | Bad]:
    """Yield each triple of a JSON lines, JSON array, CSV or TSV file, or a Bad if not valid."""
    yield from converted(read_records(path), _triple)


def _triple(record: Record) -> Triple:
    valid_from = _time(record, "valid_from")
    valid_to = _time(record, "valid_to")
    if valid_from and valid_to and valid_to <= valid_from:
        raise InvalidInput("It ends before it begins: valid_to must be later than valid_from.")
    return Triple(
        subject=_end(record, "subject"),
        predicate=_end(record, "predicate"),
        object=_end(record, "object"),
        source=_text(record, "source"),
        valid_from=valid_from,
        valid_to=valid_to,
        weight=_weight(record),
        evidence=_text(record, "evidence") or "",
        where=record.where,
    )


def _name_of(fields: dict[str, object], part: str) -> str | None:
    """Return the name of the field that holds a part of a triple, such as `subject`, or None."""
    return next((name for name in _CALLED[part] if fields.get(name) is not None), None)


def _text(record: Record, part: str) -> str | None:
    name = _name_of(record.fields, part)
    if name is None:
        return None
    value = record.fields[name]
    # A number is a common object (a year, a count). Other types are mistakes.
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidInput(f"The field {name!r} is not a text.")
    return " ".join(str(value).split()) or None


def _end(record: Record, part: str) -> str:
    value = _text(record, part)
    if value is None:
        has = ", ".join(list(record.fields)[:10])
        raise InvalidInput(f"There is no {part}; the fields are: {has[:200]}.")
    return clean_name(value, part)


def _time(record: Record, part: str) -> datetime | None:
    name = _name_of(record.fields, part)
    if name is None:
        return None
    value = record.fields[name]
    # A number such as 1960 is a year here.
    moment = read_written_time(
        str(value) if isinstance(value, int) and 0 < value < 10_000 else value
    )
    if moment is None:
        raise InvalidInput(f"Cannot read the time {value!r}: write it as 2024-03-31.")
    return moment.at


def _weight(record: Record) -> float:
    written = _text(record, "weight")
    if written is None:
        return 1.0
    try:
        weight = float(written)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= 1:
        raise InvalidInput(f"The weight is a number from 0 to 1, not {written[:50]!r}.")
    return weight
