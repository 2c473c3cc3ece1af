"""The types of arguments in JSON and queries, with the bounds that their operations declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import reduce
from operator import or_
from typing import Annotated, Any, cast, get_origin

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hades.domain.rules import NAME_BYTES_AT_MOST
from hades.operations.declare import Parameter, types_of

LIST_AT_MOST = 1_000


class Hint:
    """Keywords of a JSON schema that only describe a value; the memory checks it."""

    def __init__(self, **keywords: Any) -> None:
        self._keywords = keywords

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), **self._keywords}


NAME = Hint(minLength=1, maxLength=NAME_BYTES_AT_MOST)


def wire_type(parameter: Parameter) -> Any:
    """Return a parameter's type in JSON and queries, with its bounds and description."""
    if parameter.is_list:
        kind = _list_of(parameter)
    else:
        kinds = [_wire(parameter, kind) for kind in types_of(parameter.type)]
        kind = reduce(or_, [kind for kind in kinds if kind is not None])
    return Annotated[kind, Field(description=parameter.about.help)]


def _wire(parameter: Parameter, kind: Any) -> Any:
    """Return one of a parameter's types with its declared bounds; None if JSON has no such type.

    Bounds that the memory checks itself are only described, so that callers get its message.
    """
    about = parameter.about
    origin = get_origin(kind) or kind
    if kind in (datetime, date, dict):
        return None  # a time is sent as text, a plan as a mapping
    if origin is Mapping:
        return dict[str, Any]
    if origin is Iterable:
        return _list_of(parameter)
    if kind is str and about.characters is not None:
        return Annotated[str, Field(max_length=about.characters)]
    if kind is str:
        return Annotated[str, Hint(enum=list(about.choices)) if about.choices else NAME]
    if kind in (int, float):
        least = Hint() if about.least is None else Hint(minimum=about.least)
        return Annotated[kind, Field(le=about.most), least]
    return kind


def _list_of(parameter: Parameter) -> Any:
    items = cast(Any, list)[_wire(parameter, str)]
    return Annotated[items, Field(max_length=LIST_AT_MOST)]
