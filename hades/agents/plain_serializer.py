"""Plain data for checkpoints: reading one imports nothing that the data names.

LangGraph's serializer imports and calls any class that the data names. Its strict mode
(`allowed_msgpack_modules`, seen in langgraph-checkpoint 4.3.2) still compiles any regular
expression, revives objects of LangChain from JSON, returns the arguments of a refused class as if
they were the value, and overflows the stack if extension values are nested. So this module checks
the data first, without making objects of it, and only then lets LangGraph read it.
"""

from __future__ import annotations

from typing import Any

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import EXT_DELTA_SNAPSHOT, JsonPlusSerializer

SETS = frozenset({("builtins", "set"), ("builtins", "frozenset")})
TYPES = SETS | {
    *(("datetime", name) for name in ("datetime", "date", "time", "timedelta", "timezone")),
    ("uuid", "UUID"),
    ("decimal", "Decimal"),
    *(
        (f"langchain_core.messages.{module}", name)
        for module, name in (
            ("human", "HumanMessage"),
            ("ai", "AIMessage"),
            ("system", "SystemMessage"),
            ("chat", "ChatMessage"),
            ("tool", "ToolMessage"),
            ("function", "FunctionMessage"),
            ("modifier", "RemoveMessage"),
        )
    ),
    ("langchain_core.documents.base", "Document"),
    *(("langgraph.types", name) for name in ("Send", "Interrupt", "Command", "Overwrite")),
}
"""Module and name of each class that may be read. Creating such an object has no side effect."""
NESTED_AT_MOST = 8
"""The maximum depth of objects in objects. LangGraph decodes recursively, and deep nesting would
overflow the stack."""
_OBJECT = ()
"""A placeholder for an object while the data is checked."""


class PlainSerializer:
    """Writes and reads plain data and a few known classes; raises ValueError for anything else."""

    def __init__(self) -> None:
        self._langgraph = JsonPlusSerializer(allowed_msgpack_modules=TYPES)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value that can be read again; return its type tag and bytes."""
        form, body = self._langgraph.dumps_typed(obj)
        _check(form, body)
        return form, body

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value that `dumps_typed` wrote."""
        _check(*data)
        return self._langgraph.loads_typed(data)


def _check(form: str, body: bytes) -> None:
    if form != "msgpack":
        raise ValueError(f"{form!r:.60} is not the form of plain data")
    faults: list[str] = []
    _look(body, faults, 0)
    if faults:
        raise ValueError(faults[0])


def _look(body: bytes, faults: list[str], depth: int) -> Any:
    """Return the data with a placeholder for each object, and note the objects that are refused.

    Keys must be strings. Hashes of numbers are predictable, so an attacker could choose colliding
    keys that take hours to load. For the same reason a set must not hold objects.
    """

    def look_inside(code: int, data: bytes) -> Any:
        if depth == NESTED_AT_MOST:
            faults.append(f"objects are nested deeper than {NESTED_AT_MOST}")
            return _OBJECT
        inside = _look(data, faults, depth + 1)
        match inside:
            case _ if code == EXT_DELTA_SNAPSHOT:
                pass
            case [str(module), str(name), values, *_] if (module, name) in TYPES:
                if (module, name) in SETS and not _is_flat(values):
                    faults.append("a set holds something else than strings and numbers")
            case [str(module), str(name), *_]:
                faults.append(f"{module}.{name} is not a class of plain data"[:200])
            case _:
                faults.append("an object has no class")
        return _OBJECT

    return ormsgpack.unpackb(body, ext_hook=look_inside)


def _is_flat(values: Any) -> bool:
    plain = str | bytes | int | float | None
    return isinstance(values, list) and all(isinstance(value, plain) for value in values)
