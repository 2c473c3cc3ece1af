"""Batches: several writes in one request and one commit, all or nothing."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.responses import Response

from hades.errors import InvalidInput
from hades.memory import Memory
from hades.operations.declare import OPERATIONS, Operation, Role
from hades.operations.parameters import BATCH_WRITES_AT_MOST
from hades.serve.problems import ERRORS_AT_MOST
from hades.serve.rest.calls import Writes
from hades.serve.rest.models import Body, Page, example, whole
from hades.serve.rest.operations import arguments_model, require, run
from hades.serve.rest.routes import routes
from hades.serve.wire import Hint

router = routes("/v1/spaces/{space:name}", "batch")


class BatchWrite(Body):
    """One write of a batch: an operation by its name, and its arguments."""

    operation: Annotated[str, Hint(maxLength=100)]
    arguments: dict[str, Any]


class Batch(Body):
    """Writes to be done in this order."""

    model_config = example(
        operations=[
            {"operation": "remember", "arguments": {"topic": "notes/a", "content": "One."}},
            {"operation": "forget", "arguments": {"topic": "notes/b"}},
        ]
    )

    operations: Annotated[list[BatchWrite], Field(max_length=BATCH_WRITES_AT_MOST)]


@router.post("/batch", summary="Write several things at once", response_model=Page[Any])
async def batch(writes: Writes, body: Batch) -> Response:
    """Do several writes in one commit, all or nothing. Returns their results in order."""
    writes.caller.require(Role.WRITER, writes.space)
    # In a thread, since there may be thousands of writes to check.
    operations = await asyncio.to_thread(_checked_writes, writes, body)

    def write(memory: Memory) -> dict[str, Any]:
        with memory.batch():
            done = [run(operation, memory, given) for operation, given in operations]
        return whole(done)

    needed = max((operation.role for operation, _ in operations), default=Role.WRITER)
    return await writes.answer(write, role=needed)


def _checked_writes(writes: Writes, body: Batch) -> list[tuple[Operation, dict[str, Any]]]:
    """Return the checked operations of a batch with their arguments; raise for the first wrong."""
    operations = []
    for number, write in enumerate(body.operations):
        operation = OPERATIONS.get(write.operation)
        if operation is None or not operation.writes or operation.long:
            raise InvalidInput(f"Write {number + 1}: {write.operation[:100]!r} is not a write.")
        require(operation, writes)
        operations.append((operation, _arguments(operation, write.arguments, number)))
    return operations


def _arguments(operation: Operation, given: dict[str, Any], number: int) -> dict[str, Any]:
    try:
        read = arguments_model(operation).model_validate(given)
    except ValidationError as error:
        where = ("body", "operations", number, "arguments")
        faults = error.errors()[:ERRORS_AT_MOST]
        wrong = [{**fault, "loc": (*where, *fault["loc"])} for fault in faults]
        raise RequestValidationError(wrong) from error
    return {name: getattr(read, name) for name in read.model_fields_set}
