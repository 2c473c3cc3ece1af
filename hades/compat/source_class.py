"""The common part of the classes of papers: their memory, and their configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hades.domain.rules import clean_mapping
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from hades.memory import Memory, View

Share = Annotated[float, Field(ge=0, le=1)]
Place = Annotated[str, Field(min_length=1, max_length=4_096)]


class SourceConfig(BaseModel):
    """The configuration of such a class; it is given as a dict."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Config = TypeVar("Config", bound=SourceConfig)


def validated(kind: type[Config], values: object, whole: str = "config") -> Config:
    """Return a configuration; raise InvalidInput that names the setting which cannot be used.

    `whole` is the name of the configuration itself.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"])) or whole
        raise InvalidInput(f"The setting {name} cannot be used: {problem['msg']}.") from error


def read_config(kind: type[Config], given: Mapping[str, Any] | None) -> Config:
    """Return a configuration; raise InvalidInput for a name or a value that cannot be used."""
    values = clean_mapping({} if given is None else given, "config")
    if unknown := sorted(map(str, values.keys() - kind.model_fields.keys())):
        known = ", ".join(kind.model_fields)
        raise InvalidInput(f"There is no setting {unknown[0]!r}: use {known}.")
    return validated(kind, dict(values))


class SourceClass:
    """A class over a memory. Without one, the user's own memory is opened at its first use."""

    def __init__(
        self,
        memory: View | SourceClass | Mapping[str, Any] | None,
        config: Any,
    ) -> None:
        if config is None and isinstance(memory, Mapping):
            config = memory  # as in `PathRAG({"decay_rate": 0.7})`
            memory = None
        self._memory: Any = memory
        self._given = config

    @property
    def view(self) -> Memory:
        """The memory; of a class that only reads, it may be a view."""
        if isinstance(self._memory, SourceClass):
            return self._memory.view
        if self._memory is None:
            from hades.opening import open as open_memory

            self._memory = open_memory()
        memory: Memory = self._memory
        return memory

    @property
    def db(self) -> Memory:
        """The memory, as older code calls it; it can be set."""
        return self.view

    @db.setter
    def db(self, memory: View) -> None:
        self._memory = memory


def json_text(value: Any) -> str:
    """Return a value as JSON; raise InvalidInput if it is not plain JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The value must be plain JSON: {str(error)[:200]}.") from error
    return text
