"""The memory of one project: `.hades/memory.hades` in the root of its repository.

Git ignores the folder. Each working tree of a repository has a memory of its own. A memory that
came with a repository is refused: its author could feed instructions to an agent.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from hades.errors import InvalidInput, Unavailable

FOLDER = ".hades"
GIT_S = 5.0
"""The time limit of a call of git."""


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


def current_project() -> Path:
    """Return the root of the project in which a client started this process.

    Claude Code says where it is; other clients start commands in the project's folder.
    """
    return project_root(Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd()))


def project_memory(root: Path) -> Path:
    """Return the path of a project's memory, which may not exist yet."""
    return root / FOLDER / "memory.hades"


def make_project_folder(root: Path) -> Path:
    """Make the folder of a project's memory, ignored by git, and return the memory's path.

    Raise InvalidInput if an existing folder or memory did not come from this user.
    """
    folder = root / FOLDER
    _check_own(root)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        ignored = folder / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", "utf-8")
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be made: {error.strerror}.") from error
    return project_memory(root)


def _check_own(root: Path) -> None:
    """Raise InvalidInput if the memory is a link, of another user, or part of the repository."""
    for path in (root / FOLDER, project_memory(root)):
        if path.is_symlink():
            raise InvalidInput(
                f"{path} is a symbolic link: a project's memory must be inside the project."
            )
        with suppress(FileNotFoundError):
            if hasattr(os, "geteuid") and path.lstat().st_uid != os.geteuid():
                raise InvalidInput(f"{path} belongs to another user: name a memory (--memory).")
    if (root / FOLDER).exists() and _is_tracked(root):
        raise InvalidInput(
            f"{root / FOLDER} is part of the repository, so others may have written it: remove it "
            "from git (git rm -r --cached .hades), or name a memory (--memory)."
        )


def _is_tracked(root: Path) -> bool:
    """Return whether git tracks a file in the memory's folder; False without git or repository."""
    # The repository may be hostile: its settings must not make git run or fetch anything.
    # A process that git started has GIT_DIR and others, which name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "--error-unmatch"]
    try:
        git = subprocess.run(
            # On some systems .HADES is the same folder.
            [*words, "--", f":(icase){FOLDER}"],
            env=environment | {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=GIT_S,
        )
    except OSError:
        return False
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"Git did not list its files within {GIT_S:.0f} s.") from error
    return git.returncode == 0
