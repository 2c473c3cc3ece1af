"""The memory of one project: a file in this user's data folder, where git never writes.

In the work tree, a pull could replace it, `git clean -fdx` would remove it, and a memory that came
with a repository or an archive could feed instructions to an agent. The `.git` folder is no better:
an archive may contain one, and it is removed with the repository.

A project is known by its real path and by its first commit: another repository in the same place
gets another memory, and so does a copy elsewhere. The work trees of a repository share one.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path

import platformdirs

from hades.errors import Denied, InvalidInput, Unavailable

FOLDER = ".hades"
"""The folder in a work tree in which earlier versions kept the memory."""
GIT_S = 5.0
"""The time limit of a call of git."""
LINE_CHARACTERS = 8_192
"""How much is read of a file that holds a path, such as `.git`. Linux limits a path to 4,096."""
NOTE = "project.json"
"""The file beside a memory that says which project it belongs to."""
LEFT_BEHIND = (
    f"There is a memory in this work tree, {FOLDER}/memory.hades, where a pull could replace it, "
    "so it is not used. If it is yours, `hades hooks adopt` takes it over; otherwise remove it."
)


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


def projects_folder() -> Path:
    """Return the folder of the memories of all projects of this user."""
    return Path(platformdirs.user_data_dir("hades", appauthor=False)) / "projects"


def project_memory(root: Path) -> Path:
    """Return the path of a project's memory, which may not exist yet.

    Raise Unavailable if there is a `.git` that git cannot read.
    """
    pointer = root / ".git"
    stamp = None
    with suppress(OSError):
        status = (pointer / "config" if pointer.is_dir() else pointer).stat()
        stamp = (status.st_ino, status.st_ctime_ns)
    return _memory(projects_folder(), root, stamp)


@lru_cache(maxsize=64)
def _memory(projects: Path, root: Path, _stamp: tuple[int, int] | None) -> Path:
    """Find a project's memory. A new `_stamp` of `.git` makes the cache look again, since another
    repository may be at the same path."""
    home = _known_path(root)
    digest = sha256(os.fsencode(home)).hexdigest()[:16]
    name = re.sub(r"[^A-Za-z0-9._-]", "-", home.name)[:40]
    is_repository = (root / ".git").exists()
    if is_repository:
        _head(root)  # a repository that git cannot read is noticed even before a commit is noted
    for number in count(1):
        folder = projects / f"{name}-{digest}-{number}"
        commit = _noted(folder)[1]
        if not (commit and is_repository) or _has_commit(root, commit):
            break
    return folder / "memory.hades"


def make_project_folder(root: Path) -> Path:
    """Make the folder of a project's memory, private to the user, and return the memory's path.

    Raise Denied if the project has no memory yet and its work tree contains one.
    """
    memory = project_memory(root)
    if not memory.exists() and os.path.lexists(root / FOLDER / memory.name):
        raise Denied(LEFT_BEHIND)
    note_project(root, memory.parent)
    return memory


def note_project(root: Path, folder: Path) -> None:
    """Make a memory's folder, and note there which project it belongs to."""
    try:
        for made in (folder.parent, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _noted(folder)[1]:
            commit = _first_commit(root) if (root / ".git").exists() else ""
            note = {"path": str(_known_path(root)), "first_commit": commit}
            (folder / NOTE).write_text(json.dumps(note), "utf-8")
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be made: {error.strerror}.") from error


def memories_left(root: Path) -> list[Path]:
    """Return memories of this repository whose project folder was moved or deleted."""
    left = []
    for memory in sorted(projects_folder().glob("*/memory.hades")):
        path, commit = _noted(memory.parent)
        if commit and not os.path.lexists(path) and _has_commit(root, commit):
            left.append(memory)
    return left


def check_outside_work_trees(memory: str) -> None:
    """Raise Denied if a memory is a file in a work tree, where git can replace it."""
    root = project_root(Path(os.path.realpath(Path(memory).expanduser())).parent)
    if (root / ".git").exists():
        raise Denied(
            f"{memory} is in the work tree of {root}, where a pull could replace it: leave out "
            "--memory, or name a file elsewhere."
        )


def check_own(memory: Path) -> None:
    """Raise InvalidInput if a memory is a link, of another user, or part of a repository."""
    for path in (memory.parent, memory):
        if path.is_symlink():
            raise InvalidInput(f"{path} is a symbolic link: name the memory itself.")
        with suppress(FileNotFoundError):
            if hasattr(os, "geteuid") and path.lstat().st_uid != os.geteuid():
                raise InvalidInput(f"{path} belongs to another user.")
    root = project_root(memory.parent)
    if (root / ".git").exists() and _is_tracked(root, memory):
        raise InvalidInput(f"{memory} is part of the repository, so others may have written it.")


def _known_path(root: Path) -> Path:
    """Return the path that identifies a project; for a linked work tree, that of its repository.

    The `.git` file of a work tree is trusted only if the repository points back to it. Otherwise a
    downloaded folder could claim the memory of another repository.
    """
    own = Path(os.path.realpath(root))
    with suppress(OSError, ValueError):
        folder = Path(os.path.realpath(root / _line(root / ".git").removeprefix("gitdir:").strip()))
        back = folder / _line(folder / "gitdir")
        if folder.parent.name == "worktrees" and back.name == ".git":
            common = folder.parent.parent
            if Path(os.path.realpath(back.parent)) == own:
                return common.parent if common.name == ".git" else common
    return own


def _line(path: Path) -> str:
    """Return the text of a small file; "" if it is none. A pipe is not opened: it would block."""
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        return file.read(LINE_CHARACTERS).strip()


def _noted(folder: Path) -> tuple[str, str]:
    """Return the path and the first commit of the project to which a memory's folder belongs."""
    try:
        note = json.loads(_line(folder / NOTE) or "{}")
        return str(note["path"]), str(note["first_commit"])
    except (OSError, ValueError, LookupError, TypeError):
        return "", ""


def _first_commit(root: Path) -> str:
    """Return the first commit, the current one if the history is too long, "" if there is none."""
    head = _head(root)
    try:
        first = ["rev-list", "--max-parents=0", "--max-count=1", "HEAD"]
        return (head and _git(root, *first)) or head
    except Unavailable:
        return head


def _has_commit(root: Path, commit: str) -> bool:
    return _git(root, "cat-file", "-e", commit) is not None


def _head(root: Path) -> str:
    return _git(root, "rev-parse", "--verify", "--quiet", "HEAD") or ""


def _is_tracked(root: Path, memory: Path) -> bool:
    """Return whether git has the memory or a file beside it, in its index or its last commit."""
    tree = ["--with-tree=HEAD"] if _head(root) else []
    # On some systems .HADES is the same folder.
    names = f":(icase){glob.escape(memory.relative_to(root).as_posix())}*"
    return _git(root, "ls-files", *tree, "--error-unmatch", "--", names) is not None


def _git(root: Path, *words: str) -> str | None:
    """Return what git prints; None if it exits with 1. Raise Unavailable for any other failure."""
    # The repository may be hostile: its settings must not make git run or fetch anything. In a
    # broken repository, git must not fall back to the one around it. Inside a git hook, GIT_DIR and
    # similar variables point to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(root)),
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    try:
        git = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", str(root), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"Git does not answer ({error}): repair it, or name a memory.") from error
    if git.returncode not in (0, 1):
        raise Unavailable(f"Git cannot read the repository {root}: repair it, or name a memory.")
    return git.stdout.decode("ascii", "replace").strip() if git.returncode == 0 else None
