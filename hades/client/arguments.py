"""Arguments and results of operations as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, get_origin

from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_content, clean_metadata, clean_name, clean_tags
from hades.domain.times import iso
from hades.errors import InvalidInput
from hades.language.english.moments import parse_time
from hades.operations.declare import WHOLE, Operation, Parameter

ONE_TIME = 10**15
ANOTHER_TIME = 11 * 10**14
"""Two moments, in microseconds since 1970; a relative time (`yesterday`) differs between them."""


def result_of(operation: Operation, answer: Any) -> Any:
    """Return the result of an operation from the JSON of an answer."""
    kind: Any = operation.returns
    if kind is int:
        return answer["value"]
    is_page = isinstance(answer, dict) and get_origin(kind) is list
    return rebuild(kind, answer["items"] if is_page else answer)


def json_arguments(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given arguments as JSON values; where a result has a detail, ask for the whole.

    A None that is the default is left out; any other None raises InvalidInput.
    """
    given = {**given, WHOLE.name: True}
    parameters = [parameter for parameter in operation.parameters if parameter.name in given]
    return {
        parameter.name: _plain(parameter, given[parameter.name])
        for parameter in parameters
        if given[parameter.name] is not None or parameter.default is not None
    }


def _plain(parameter: Parameter, value: Any) -> Any:
    """Return an argument as a JSON value; raise InvalidInput if JSON has none for it."""
    if isinstance(value, str):
        return clean_content(value)
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return iso(parse_time(value, ONE_TIME))
    if isinstance(value, date):
        return value.isoformat()
    if parameter.about.json and isinstance(value, list | tuple):
        return [clean_metadata(item) for item in value]
    if parameter.about.json:
        dump = getattr(value, "model_dump", None)
        return clean_metadata(value) if dump is None else dump(mode="json")
    if parameter.name == "tags":
        return list(clean_tags(value) or ())
    if parameter.is_list:
        return [clean_name(name) for name in value]
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        return list(value)
    raise InvalidInput(f"{parameter.name} cannot be {value!r}: {parameter.about.help}")
