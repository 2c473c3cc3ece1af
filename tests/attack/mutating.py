"""Mutations of good input: bytes, parts of a zipped file and values of JSON, from a seed."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from typing import Any

ODD_BYTES = (b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"<", b"&#x0;", b'"', b"-1", b"9" * 400)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 10**400, 1e308, float("nan"), float("inf"), -0.0, "", " ", "\0"),
    *("a" * 5000, "\ud800", "9999-12-31T23:59:59Z", "-1", "\u202e", [], {}, [[]], {"": None}),
    *([None], {"id": []}, ["x", 1], {"a": {"a": {"a": []}}}),
)


def mutated_bytes(raw: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one to four cuts, copies, flips or odd bytes."""
    data = bytearray(raw)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice([1, 4, 30, 400]))
        match chance.randrange(4):
            case 0:
                del data[at:end]
            case 1:
                data[at:at] = data[at:end] * chance.choice([1, 2, 50])
            case 2 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case _:
                data[at:at] = chance.choice(ODD_BYTES)
    return bytes(data)


def mutated_zip(raw: bytes, chance: random.Random) -> bytes:
    """Return a zipped file with one part mutated or missing, or now and then its own bytes."""
    if chance.random() < 0.2:
        return mutated_bytes(raw, chance)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive, zipfile.ZipFile(file, "w") as changed:
        names = archive.namelist()
        chosen = chance.choice(names)
        for name in names:
            part = archive.read(name)
            if name != chosen:
                changed.writestr(name, part)
            elif chance.random() < 0.9:
                changed.writestr(name, mutated_bytes(part, chance))
    return file.getvalue()


def mutated_value(value: Any, chance: random.Random) -> Any:
    """Return a copy of a JSON value in which one to three inner values are odd, moved or gone."""
    value = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        places = list(_places(value))
        if not places:
            return chance.choice(ODD_VALUES)
        holder, key = chance.choice(places)
        if chance.random() < 0.2:
            del holder[key]
        elif chance.random() < 0.2:
            other, its_key = chance.choice(places)
            holder[key] = copy.deepcopy(other[its_key])
        else:
            holder[key] = copy.deepcopy(chance.choice(ODD_VALUES))
    return value


def _places(value: Any) -> Any:
    """Yield every holder in a JSON value with each of its keys."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            yield from _places(value[key])


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON, with a lone surrogate as an escape."""
    return json.dumps(value).encode()
