"""The memory of one project: `.hades/memory.hades` in the root of its repository.

Git ignores the folder. Each working tree of a repository has a memory of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hades.errors import InvalidInput, Unavailable

FOLDER = ".hades"


def project_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` with a `.git`, or `start` if there is none.

    A repository in the home folder, as some keep for their dotfiles, is not the root of the
    projects below it.
    """
    start = start.expanduser().absolute()
    home = Path.home()
    for folder in (start, *start.parents):
        if (folder / ".git").exists() and (folder == start or folder != home):
            return folder
    return start


def current_project(environment: Mapping[str, str]) -> Path:
    """Return the root of the project in which a client started this process.

    Claude Code says where it is; other clients start commands in the project's folder.
    """
    return project_root(Path(environment.get("CLAUDE_PROJECT_DIR") or Path.cwd()))


def project_memory(root: Path) -> Path:
    """Return the path of a project's memory, which may not exist yet."""
    return root / FOLDER / "memory.hades"


def make_project_folder(root: Path) -> Path:
    """Make the folder of a project's memory, ignored by git, and return the memory's path."""
    folder = root / FOLDER
    if folder.is_symlink():
        raise InvalidInput(
            f"{folder} is a symbolic link: a project's memory must be inside the project."
        )
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        ignored = folder / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", "utf-8")
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be made: {error.strerror}.") from error
    return project_memory(root)
