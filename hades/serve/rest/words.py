"""Words: the kinds of values requests hold, and the limits of each.

What `Memory` judges itself is only described here, so that its own sentence is answered.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hades.domain.rules import NAME_BYTES_AT_MOST
from hades.domain.topics import TOPIC_KINDS

CONTENT_CHARACTERS_AT_MOST = 16 * 2**20
QUESTION_CHARACTERS_AT_MOST = 100_000
EVIDENCE_CHARACTERS_AT_MOST = 100_000
TAGS_AT_MOST = 1_000
KEY_CHARACTERS_AT_MOST = 200
LIMIT_AT_MOST = 10_000
TIME_CHARACTERS_AT_MOST = 100


class Hint:
    """Something the description of a value says, which is judged elsewhere."""

    def __init__(self, **said: Any) -> None:
        self._said = said

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), **self._said}


class Body(BaseModel):
    """A body: what it does not know it refuses, and nothing is taken for something else."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Number(Body):
    """One number."""

    value: int


NAME = Hint(minLength=1, maxLength=NAME_BYTES_AT_MOST)
TIME = Field(max_length=TIME_CHARACTERS_AT_MOST)

Name = Annotated[str, NAME]
Content = Annotated[str, Field(max_length=CONTENT_CHARACTERS_AT_MOST)]
Evidence = Annotated[str, Field(max_length=EVIDENCE_CHARACTERS_AT_MOST)]
Question = Annotated[str, Field(max_length=QUESTION_CHARACTERS_AT_MOST), Hint(minLength=1)]
Time = Annotated[str, TIME, Field(description="A time: 2024-03-01, 2024-03, yesterday.")]
Share = Annotated[float, Hint(minimum=0, maximum=1)]
Count = Annotated[int, Hint(minimum=0)]
Kind = Annotated[str, Hint(enum=list(TOPIC_KINDS))]
