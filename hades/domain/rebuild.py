"""Our objects from plain JSON values: `plain` the other way round, by pydantic.

A field that a newer server adds is passed over; one that an older server leaves out takes
its default. Pydantic is imported at the first call: opening a memory does not need it.
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
    """An object of that type from what `plain` made of one."""
    from pydantic import ValidationError

    try:
        made: Made = _adapter(cast(Hashable, kind)).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        name = getattr(kind, "__name__", kind)
        raise InvalidInput(f"This is not a valid {name}: {where}: {first['msg']}.") from error
    if isinstance(made, Diff):
        # What differs are fields of states, so their types are there.
        types = get_type_hints(State)
        pairs = {
            name: (rebuild(types[name], before), rebuild(types[name], after))
            for name, (before, after) in made.fields.items()
        }
        return cast(Made, replace(made, fields=pairs))
    return made


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
