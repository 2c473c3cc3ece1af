"""Configuration files of other programs, in JSON: read, change and write them without loss.

Entries of others stay. The old file is kept as a backup. A file that is not plain JSON, or that
changed since it was read, is not written.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hades.errors import Conflict, InvalidInput, Unavailable
from hades.store.drafts import write_private

Client = TypeVar("Client")


@dataclass(frozen=True, slots=True)
class Program:
    """A program with a configuration file."""

    title: str
    file: str
    """Its file below the home folder; `{data}` is the folder for applications' data."""
    project_file: str | None = None
    """Its file below a project's folder; None if it reads no file of a project."""

    def path(self, here: Path | None, moved: str = "") -> Path:
        """Return its file in the project `here`, or the user's, in the folder `moved` if given.

        For a symbolic link, return the target, so that writing keeps the link.
        """
        # `{data}` becomes an absolute path, which replaces the home folder.
        file = Path.home() / self.file.format(data=application_folder())
        if here is not None and self.project_file is None:
            raise InvalidInput(f"{self.title} reads no file of a project: leave out --here.")
        if here is not None and self.project_file is not None:
            file = here / self.project_file
        elif moved:
            file = Path(moved) / file.name
        return Path(os.path.realpath(file))


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A planned change of a program's file."""

    program: str
    """The name of the program that reads the file."""
    file: Path
    entries: dict[str, Any]
    """Our entries, under the key of the file: those to write, or those to remove."""
    before: bytes | None
    """The present content of the file; None: there is no file."""
    after: bytes | None
    """The new content; None: there is nothing to change."""
    replaces: object = None
    """The present entry, where there is one."""

    def shown(self) -> str:
        """Return the entries as JSON text."""
        return json.dumps(self.entries, indent=2, ensure_ascii=False)

    def apply(self) -> Path | None:
        """Write the change; return the backup of the old file. Raise Conflict if it changed."""
        if self.after is None:
            return None
        file = self.file
        if _bytes_of(file) != self.before:
            raise Conflict(f"{file} was changed meanwhile: nothing was written, try again.")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if self.before is None:
                write_private(file, self.after)
                return None
            kept = file.with_name(f"{file.name}.{time.time_ns()}.bak")
            mode = file.stat().st_mode
            shutil.copy2(file, kept)
            write_private(file, self.after)
            file.chmod(mode)
        except OSError as error:
            raise Unavailable(f"{file} cannot be written: {error.strerror}.") from error
        return kept


def chosen(clients: Mapping[str, Client], name: str) -> Client:
    """Return a client by its name, or raise InvalidInput."""
    if name not in clients:
        raise InvalidInput(f"There is no client {name!r}: {', '.join(clients)}.")
    return clients[name]


def application_folder() -> Path:
    """Return the system's folder for the data of desktop applications."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def read_config(file: Path) -> tuple[bytes | None, dict[str, Any]]:
    """Return the bytes of a file (None: it is missing) and the object in it."""
    before = _bytes_of(file)
    if before is None or not before.strip():
        return before, {}
    try:
        config = json.loads(before.decode("utf-8-sig"), object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{file} is not plain JSON ({error}): repair it, or add the entry by hand."
        ) from error
    if not isinstance(config, dict):
        raise InvalidInput(f"{file} is JSON but not an object: repair it first.")
    return before, config


def encode_config(config: dict[str, Any], before: bytes | None) -> bytes:
    """Encode the configuration, with the indentation of the old file."""
    lines = (before or b"").decode("utf-8-sig", "replace").splitlines()
    indents = [line[: len(line) - len(line.lstrip())] for line in lines[1:2]]
    indent = indents[0] if indents and indents[0] else "  "
    text = json.dumps(config, indent=indent, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, written \ud83d
        return (json.dumps(config, indent=indent) + "\n").encode()


def _bytes_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(config := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")  # writing the file would lose one of them
    return config
