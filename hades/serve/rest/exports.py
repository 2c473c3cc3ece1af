"""Exports: the graph of a space as a file, in formats of other tools."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from typing import IO, Annotated, Any, Literal, TextIO

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from hades.memory import View
from hades.serve.rest.calls import Reads
from hades.serve.rest.models import JSON
from hades.serve.rest.routes import routes

router = routes("/v1/spaces/{space:name}", "graph")

PART_BYTES = 256 * 1024
Format = Literal["node-link", "graphml"]
_FILES = {"node-link": (JSON, "graph.json"), "graphml": ("application/xml", "graph.graphml")}
"""The media type and file name of each format."""


@router.get(
    "/export",
    summary="Export the graph",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The graph as of a time.",
            "content": {
                JSON: {"schema": {"type": "object"}},
                "application/xml": {"schema": {"type": "string"}},
            },
        }
    },
)
async def export(
    reads: Reads,
    format: Annotated[Format, Query(examples=["graphml"])] = "node-link",
    embeddings: Annotated[bool, Query(description="Add the vectors; not for graphml.")] = False,
) -> Response:
    """Export this space's graph for NetworkX or Gephi."""

    def exported(view: View) -> IO[bytes]:
        return written(lambda text: view.export(text, format, embeddings=embeddings))

    file = await reads(exported, patient=True)
    return file_response(file, *_FILES[format])


def file_response(file: IO[bytes], media_type: str, name: str) -> Response:
    """Return a response that streams an open file and then closes it."""
    size = file.seek(0, 2)
    file.seek(0)
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    return StreamingResponse(_parts(file), headers=headers, media_type=media_type)


def written(write: Callable[[TextIO], Any]) -> IO[bytes]:
    """Return an anonymous temporary file with the text that a function writes."""
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    text = TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=True)
    write(text)
    text.flush()
    text.detach()
    return file


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(PART_BYTES):
            yield part
