"""Exports: a space's graph as a file, in the formats other tools read."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Annotated, Any, Literal, TextIO

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from hades.exchange.formats import GRAPH_FOLDERS
from hades.memory import View
from hades.serve.rest.calls import Reads
from hades.serve.rest.routes import routes
from hades.serve.wire import JSON

router = routes("/v1/spaces/{space:name}", "graph")

PART_BYTES = 256 * 1024
Format = Literal["node-link", "graphml", "arango", "neo4j"]
_MEDIA_TYPE = {"node-link": JSON, "graphml": "application/xml"}
_ZIP = "application/zip"
_SUFFIX = {"node-link": "json", "graphml": "graphml"}


@router.get(
    "/export",
    summary="Export the graph",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The graph as of a time; formats that are folders come as a zip.",
            "content": {
                JSON: {"schema": {"type": "object"}},
                "application/xml": {"schema": {"type": "string"}},
                _ZIP: {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
)
async def export(
    reads: Reads, format: Annotated[Format, Query(examples=["graphml"])] = "node-link"
) -> Response:
    """This space's graph for NetworkX, Gephi, ArangoDB or Neo4j."""
    folder = format in GRAPH_FOLDERS
    write = _zipped if folder else _written
    file = await reads(lambda view: write(view, format), patient=True)
    name = f"graph.{'zip' if folder else _SUFFIX[format]}"
    return file_response(file, _ZIP if folder else _MEDIA_TYPE[format], name)


def file_response(file: IO[bytes], media_type: str, name: str) -> Response:
    """A response that sends an open file, which goes when it is closed."""
    size = file.seek(0, 2)
    file.seek(0)
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    return StreamingResponse(_parts(file), headers=headers, media_type=media_type)


def written(write: Callable[[TextIO], Any]) -> IO[bytes]:
    """A file without a name, with what a function writes."""
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    text = TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=True)
    write(text)
    text.flush()
    text.detach()
    return file


def _written(view: View, format: str) -> IO[bytes]:
    return written(lambda file: view.export(file, format))


def _zipped(view: View, format: str) -> IO[bytes]:
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "graph"
        view.export(target, format)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(target.rglob("*")):
                archive.write(path, path.relative_to(target))
    return file


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(PART_BYTES):
            yield part
