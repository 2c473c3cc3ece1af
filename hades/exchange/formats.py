"""The export formats, and writing files and folders so that they appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from hades.errors import InvalidInput, Unavailable
from hades.exchange import arango, graphml, neo4j, node_link
from hades.exchange.snapshot import GraphSnapshot
from hades.store.drafts import draft_of

GRAPH_FILES: dict[str, Callable[[GraphSnapshot, TextIO], None]] = {
    "node-link": node_link.write,
    "graphml": graphml.write,
}
GRAPH_FOLDERS: dict[str, Callable[[GraphSnapshot, Path], None]] = {
    "arango": arango.write,
    "neo4j": neo4j.write,
}
FOLDERS = ("markdown", *GRAPH_FOLDERS)
FORMATS = ("jsonl", *GRAPH_FILES, *FOLDERS)


def check(format: str, *, embeddings: bool) -> None:
    """Raise InvalidInput if there is no such format, or if it cannot hold embeddings."""
    if format not in FORMATS:
        raise InvalidInput(f"There is no format {format!r}: use one of {', '.join(FORMATS)}.")
    if embeddings and format in ("graphml", "markdown"):
        name = {"graphml": "GraphML", "markdown": "Markdown"}[format]
        raise InvalidInput(
            f"{name} cannot hold embeddings: use node-link, arango or neo4j, or leave them out."
        )


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder that is renamed to `path`, which must be free, only if the block succeeds."""
    with new_path(path) as draft:
        draft.mkdir()
        yield draft


@contextmanager
def text_file(target: Path | TextIO) -> Iterator[TextIO]:
    """Yield a new text file at a path (see `new_path`), or the given file, which stays open."""
    if isinstance(target, Path):
        with new_path(target) as draft, draft.open("x", encoding="utf-8", newline="\n") as file:
            yield file
        return
    try:
        yield target
        target.flush()
    except BrokenPipeError:
        raise  # the reader of the pipe closed it
    except OSError as error:
        raise Unavailable(f"The export cannot be written: {error.strerror or error}.") from error


@contextmanager
def new_path(path: Path) -> Iterator[Path]:
    """Yield a hidden path beside `path`, which is renamed to `path` if the block succeeds."""
    if path.exists():
        raise InvalidInput(f"{path} exists already: choose another name.")
    if not path.parent.is_dir():
        raise InvalidInput(f"The folder {path.parent} does not exist: create it first.")
    try:
        with draft_of(path) as draft:
            yield draft
            os.rename(draft, path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror or error}.") from error
