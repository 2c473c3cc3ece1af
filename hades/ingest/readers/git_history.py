"""Git history: every state a file was in, in the order of the commits, and the commit messages.

`git` itself does the work: one process lists the changes and one returns the contents, both as
streams. Merges follow the first parent, so the states of a file form one line, as the states of a
topic do.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import IO

from hades.ingest.document import Block, Document, Unreadable
from hades.ingest.readers.text import one_line, plain

FILE_BYTES_AT_MOST = 16 * 1024 * 1024
MESSAGES_BYTES_AT_MOST = 16 * 1024 * 1024
MESSAGES_SECONDS = 60
MESSAGE_CHARACTERS_AT_MOST = 4_000
"""A longer commit message is cut to this length."""
_TRAILER = re.compile(r"^[A-Z][A-Za-z-]{1,40}-(?:by|Id): [^\n]*\n?", re.MULTILINE)
"""A line such as `Signed-off-by: …`, which says nothing about the change."""
_READ_BYTES = 64 * 1024
_BINARY_SNIFF_BYTES = 8000
"""Git treats a file as binary if its first bytes, this many, contain a NUL."""
_CONTENTS = ("cat-file", "--batch")
_NO_GIT = "git is not installed: reading a history needs it."
_LOG = ("-c", "log.showRoot=true", "-c", "log.follow=false", "-c", "log.showSignature=false")
_HIDDEN = (":(top,exclude,glob)**/.*", ":(top,exclude,glob)**/.*/**")
"""Hidden files and folders are not read, as when a folder is ingested."""
_REGULAR_FILES = frozenset({b"100644", b"100755", b"100664"})
"""The modes of regular files in git; other modes are links and submodules."""


@dataclass(frozen=True, slots=True)
class FileAtCommit:
    """A file as one commit left it."""

    path: str
    """Relative to the top of the repository; a byte that is not UTF-8 is written `\\xff`."""
    commit: str
    when: datetime
    """When it was committed, in UTC; never before the previous commit."""
    author: str
    message: str
    data: bytes | None
    """None if it was deleted or is not text: a link, binary or very large."""
    renamed_from: str | None = None


_Change = tuple[FileAtCommit, bytes, bytes]
"""A file without its data, its mode and the id of its content."""


def read_history(repo: Path, since: str | None = None) -> Iterator[FileAtCommit]:
    """Yield each file that each commit touched, oldest commit first, up to HEAD.

    `since` is a commit: only later ones are read.
    """
    if not repo.is_dir():
        raise Unreadable(f"{repo} is not a folder.")
    done = _ask(repo, "rev-parse", "--git-dir")
    if done.returncode != 0:
        raise Unreadable(f"{repo} is not a git repository: {_complaint(done.stderr)}.")
    if since is not None:
        since = _commit_id(repo, since)
        if since is None:
            raise Unreadable(f"{repo} has no such commit as the one to start from.")
    if _commit_id(repo, "HEAD") is None:
        return  # there are no commits
    with _running(repo, _log_command(since)) as log, _running(repo, _CONTENTS) as contents:
        for file, mode, blob in _changes(_tokens(_pipe(log.stdout)), _latest(repo, since)):
            # A deleted file has the mode 0.
            is_text = mode in _REGULAR_FILES
            yield replace(file, data=_text(contents, file.path, blob)) if is_text else file


def read_messages(repo: Path, at_most: int) -> bytes:
    """Return the last `at_most` commits up to HEAD, newest first, for `read_commits`.

    Each is four texts that end with NUL: id, time, author, message. Merges are left out. Return
    b"" if there are no commits. A repository around the folder is not read.
    """
    command: tuple[str, ...] = (
        "--no-merges",
        f"--max-count={at_most}",
        "-z",
        "--no-color",
        "--encoding=UTF-8",
    )
    form = "--format=tformat:%H%x00%ct%x00%an%x00%B"
    # A repository without commits has no HEAD.
    command = (*_LOG, "log", *command, form, "--ignore-missing", "HEAD", "--")
    with _running(repo, command, GIT_CEILING_DIRECTORIES=str(repo.parent)) as log:
        timer = Timer(MESSAGES_SECONDS, log.kill)
        timer.start()
        try:
            data = _pipe(log.stdout).read(MESSAGES_BYTES_AT_MOST + 1)
        finally:
            timer.cancel()
        if len(data) > MESSAGES_BYTES_AT_MOST:
            raise Unreadable("The commit messages are larger than 16 MB.")
    return data


def read_commits(raw: bytes, topic: str) -> Document:
    """Read what `read_messages` returned: a passage for each commit, with its day and author."""
    texts = raw.split(b"\x00")
    contents = list[str]()
    blocks = list[Block]()
    start = 0
    for commit, when, author, message in zip(*(texts[at::4] for at in range(4)), strict=False):
        subject, _, body = _TRAILER.sub("", _words(message)).strip().partition("\n")
        day = f"{_time(when):%Y-%m-%d}"
        subject = " ".join(subject.split())
        head = f"{day}, {one_line(_words(author))} ({_words(commit)[:10]}): {subject}"
        text = f"{head}\n\n{body.strip()}".strip()[:MESSAGE_CHARACTERS_AT_MOST]
        heading = f"{topic} > {day} {one_line(subject)}"
        blocks.append(Block(start, start + len(text), heading, whole=True))
        contents.append(f"{text}\n\n")
        start += len(text) + 2
    return Document(topic, plain("".join(contents)), title=topic, blocks=tuple(blocks))


def _text(contents: subprocess.Popen[bytes], path: str, blob: bytes) -> bytes | None:
    """Return the content of a file, or None if it is binary or too large."""
    requests = _pipe(contents.stdin)
    answers = _pipe(contents.stdout)
    with suppress(BrokenPipeError):  # the answer is then missing too
        requests.write(blob + b"\n")
        requests.flush()
    header = answers.readline().split()
    if len(header) != 3:
        raise Unreadable(f"The content of {path} is missing: fetch the whole repository.")
    size = int(header[2])
    if size > FILE_BYTES_AT_MOST:
        while size > 0:
            size -= len(answers.read(min(size, _READ_BYTES)))
        answers.read(1)
        return None
    data = answers.read(size)
    answers.read(1)
    return None if b"\x00" in data[:_BINARY_SNIFF_BYTES] else data


def _latest(repo: Path, since: str | None) -> datetime:
    """Return the latest time of the commits up to `since`, or 1970 without it."""
    known = _ask(repo, "log", "--first-parent", "--format=%ct", since).stdout if since else b""
    return max(map(_time, known.split()), default=_time(b"0"))


def _time(seconds: bytes) -> datetime:
    """Parse a time of git. A time in the future, from a wrong clock, becomes now."""
    return datetime.fromtimestamp(min(max(0, int(seconds)), time.time()), tz=UTC)


def _changes(tokens: Iterator[bytes], latest: datetime) -> Iterator[_Change]:
    """Parse the log: a commit is four tokens, followed by its changes of two or three tokens each.

    A commit that is dated before its predecessor gets the predecessor's time, because otherwise the
    state that it replaced would still hold.
    """
    commit = None
    try:
        while True:
            token = next(tokens).lstrip(b"\n")
            if not token.startswith(b":"):
                latest = max(latest, _time(next(tokens)))
                author = _words(next(tokens))
                message = _words(next(tokens)).strip()
                commit = _words(token), latest, author, message
                continue
            _, mode, _, blob, status = token[1:].split(b" ")
            old_path = _words(next(tokens)) if status.startswith(b"R") else None
            path = _words(next(tokens))
            if commit is not None:
                yield FileAtCommit(path, *commit, None, old_path), mode, blob
    except StopIteration:
        return  # the end of the log; git's exit status reports an early end


def _tokens(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the parts of a stream between NULs."""
    rest = b""
    while block := stream.read(_READ_BYTES):
        *whole, rest = (rest + block).split(b"\x00")
        yield from whole


def _words(raw: bytes) -> str:
    return raw.decode("utf-8", errors="backslashreplace")


def _log_command(since: str | None) -> tuple[str, ...]:
    # --raw is --name-status with the ids of the contents. Contents are fetched by id and not by
    # path, so names with line breaks are safe. The options override the user's configuration.
    return (
        *_LOG,
        "log",
        "--reverse",
        "--first-parent",
        "--diff-merges=first-parent",
        "-M",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-relative",
        "--encoding=UTF-8",
        "--format=tformat:%H%x00%ct%x00%an%x00%B",
        f"{since}..HEAD" if since else "HEAD",
        "--",
        *_HIDDEN,
    )


def _commit_id(repo: Path, revision: str) -> str | None:
    done = _ask(
        repo, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"
    )
    return done.stdout.decode().strip() if done.returncode == 0 else None


def _ask(repo: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ("git", "-C", str(repo), *command), capture_output=True, env=_environment(), check=False
        )
    except FileNotFoundError as error:
        raise Unreadable(_NO_GIT) from error


@contextmanager
def _running(
    repo: Path, command: Sequence[str], **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a running git process; end it afterwards, and raise Unreadable if it failed."""
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                ("git", "-C", str(repo), *command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=_environment() | environment,
            )
        except FileNotFoundError as error:
            raise Unreadable(_NO_GIT) from error
        finished = False
        try:
            yield process
            finished = True
        finally:
            with suppress(BrokenPipeError):
                _pipe(process.stdin).close()
            if not finished:
                process.kill()
            _pipe(process.stdout).close()
            process.wait()
        if process.returncode != 0:
            complaints.seek(0)
            raise Unreadable(f"git could not read {repo}: {_complaint(complaints.read())}.")


def _environment() -> dict[str, str]:
    """Return our environment without GIT_ variables; git must neither prompt nor fetch."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # An empty list of protocols: a repository's configuration may name a command for a fetch.
    fixed = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": ""}
    return kept | fixed | {"GIT_NO_LAZY_FETCH": "1"}


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "every stream is a pipe"
    return stream


def _complaint(stderr: bytes) -> str:
    lines = _words(stderr).strip().splitlines() or ["it does not say why"]
    return lines[0].removeprefix("fatal: ").rstrip(".")
