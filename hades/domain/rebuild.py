"""Rebuild domain objects from plain JSON values: the inverse of `plain`, by pydantic.

Unknown fields of a newer server are ignored; fields missing from an older server take their
defaults. Pydantic is imported at the first call, because opening a memory does not need it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

from hades.domain.topics import Diff, State
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Made = TypeVar("Made")


def rebuild(kind: type[Made], value: Any) -> Made:
    """Return the object of a type from its plain form; raise InvalidInput if it does not fit."""
    from pydantic import ValidationError

    try:
        rebuilt: Made = _adapter(cast(Hashable, kind)).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        name = getattr(kind, "__name__", kind)
        raise InvalidInput(f"This is not a valid {name}: {where}: {first['msg']}.") from error
    if isinstance(rebuilt, Diff):
        # Diff.fields has fields of State, so their types are in State.
        types = get_type_hints(State)
        pairs = {
            name: (rebuild(types[name], before), rebuild(types[name], after))
            for name, (before, after) in rebuilt.fields.items()
        }
        return cast(Made, replace(rebuilt, fields=pairs))
    return rebuilt


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
