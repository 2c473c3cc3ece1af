"""Sockets: the unix sockets and TCP ports on which a server listens.

The mode of a unix socket controls access, so it is set regardless of the umask, and checked
before anything is served. A socket file without a listener is replaced; a socket in use, or
another kind of file, is an error.
"""

from __future__ import annotations

import errno
import grp
import ipaddress
import os
import socket
import stat
import struct
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hades.errors import Conflict, Denied, InvalidInput, Unavailable
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import locked_folder

PATH_BYTES_AT_MOST = 107
"""Longest path of a unix socket (unix(7): 108 bytes with the closing zero)."""
BACKLOG = 512
PORTS_UP_TO = 65_535
_FIRST_HANDED_FD = 3
"""The first file descriptor that systemd hands over (sd_listen_fds(3))."""


@dataclass(frozen=True, slots=True)
class ListenerKind:
    """One kind of listener: its name, its callers' rights and its file mode."""

    name: str
    most: Role
    """The highest role that callers of this listener can have."""
    by_key: bool = False
    """Whether callers need a key; else the socket's mode controls access."""
    local: bool = False
    """Whether it serves `/v1/admin`: keys, backups and files of this machine."""
    mode: int = 0o600
    """The mode of the socket file."""


LISTENERS: dict[str, ListenerKind] = {
    "ro": ListenerKind("ro", Role.READER, mode=0o660),
    "rw": ListenerKind("rw", Role.WRITER),
    "admin": ListenerKind("admin", Role.ADMIN, local=True),
    "http": ListenerKind("http", Role.ADMIN, by_key=True),
}


@dataclass(frozen=True, slots=True)
class Listener:
    """An open socket on which the server listens."""

    kind: ListenerKind
    socket: socket.socket
    where: str
    """The path or URL of the socket."""
    own_file: tuple[int, int] | None = None
    """Device and inode of the socket file, if this process created it."""

    def close(self) -> None:
        """Stop listening; remove the file this process created, unless it was replaced."""
        self.socket.close()
        if self.own_file is not None:
            with suppress(OSError):
                if _identity(os.lstat(self.where)) == self.own_file:
                    os.unlink(self.where)


def listen_unix(path: Path, kind: ListenerKind, group: str | None = None) -> Listener:
    """Listen on a new unix socket with exactly the mode of its kind, and with this group."""
    place = str(path.absolute())
    if len(os.fsencode(place)) > PATH_BYTES_AT_MOST:
        raise InvalidInput(f"{place} is too long for a socket: at most {PATH_BYTES_AT_MOST} bytes.")
    with locked_folder(path.absolute().parent):
        _remove_leftover(place)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The umask closes the socket to others until its mode is set.
            before = os.umask(0o177)
            try:
                listening.bind(place)
            finally:
                os.umask(before)
            _set_mode(place, kind, group)
            listening.listen(BACKLOG)
            listening.setblocking(False)
        except BaseException as error:
            listening.close()
            if isinstance(error, OSError):
                raise Unavailable(
                    f"The server cannot listen on {place}: {error.strerror}."
                ) from error
            raise
    return Listener(kind, listening, place, _identity(os.lstat(place)))


def listen_tcp(host: str, port: int, *, remote: bool) -> Listener:
    """Listen on a TCP port; raise Denied for an address other than loopback without `remote`."""
    if not 0 <= port <= PORTS_UP_TO:
        raise InvalidInput(f"A port is a number from 0 to {PORTS_UP_TO}, not {port}.")
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InvalidInput(f"{host}:{port} is not an address to listen on: {error}.") from error
    family, _, _, _, address = addresses[0]
    if not remote and not ipaddress.ip_address(address[0]).is_loopback:
        raise Denied(
            f"Other machines could reach {host}: add --remote if you want that, with TLS in front."
        )
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise Conflict(
                f"Another program listens on {host}:{port}: stop it, or use another --port."
            ) from error
        raise Unavailable(
            f"The server cannot listen on {host}:{port}: {error.strerror}."
        ) from error
    return Listener(LISTENERS["http"], listening, _url(listening, host))


def handed_sockets(environment: MutableMapping[str, str]) -> list[Listener]:
    """Return systemd's sockets (ro, rw, admin, http); pop their variables from `environment`."""
    if environment.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(environment.get("LISTEN_FDS") or 0)
    names = (environment.get("LISTEN_FDNAMES") or "").split(":")
    for variable in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        environment.pop(variable, None)  # child processes must not inherit them
    if len(names) != count:
        raise InvalidInput("Give each socket unit a FileDescriptorName: ro, rw, admin or http.")
    return [_handed(_FIRST_HANDED_FD + number, name) for number, name in enumerate(names)]


def _handed(fd: int, name: str) -> Listener:
    kind = LISTENERS.get(name)
    if kind is None:
        raise InvalidInput(f"A socket is named ro, rw, admin or http, not {name!r}.")
    handed = socket.socket(fileno=fd)
    handed.setblocking(False)
    os.set_inheritable(fd, False)
    is_unix = handed.family == socket.AF_UNIX
    if is_unix == kind.by_key:
        right = "TCP port" if kind.by_key else "unix socket"
        raise InvalidInput(f"The socket {name!r} must be a {right}.")
    if is_unix:
        place = handed.getsockname()
        check_mode(place, kind, exactly=False)
        return Listener(kind, handed, place)
    return Listener(kind, handed, _url(handed))


def _url(listening: socket.socket, host: str | None = None) -> str:
    bound, port = listening.getsockname()[:2]
    host = host or bound
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def check_mode(place: str, kind: ListenerKind, *, exactly: bool = True) -> None:
    """Raise Denied if a socket's mode is not its kind's; unless `exactly`, stricter is fine."""
    mode = stat.S_IMODE(os.lstat(place).st_mode)
    if (mode != kind.mode) if exactly else (mode & ~kind.mode & 0o777):
        raise Denied(
            f"The socket {place} has the mode {mode:04o} instead of {kind.mode:04o}: "
            "use another folder, or set SocketMode."
        )


def _remove_leftover(place: str) -> None:
    """Remove an unused socket file; raise Conflict for a used one or another kind of file."""
    try:
        status = os.lstat(place)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise Conflict(f"{place} exists and is not a socket: choose another path, or remove it.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        # Without blocking: a listener whose queue is full is in use, but would not answer.
        asking.setblocking(False)
        reached = asking.connect_ex(place)
    if reached == errno.ECONNREFUSED:
        os.unlink(place)
    elif reached != errno.ENOENT:
        raise Conflict(f"Another server listens on {place}: stop it, or use another path.")


def _set_mode(place: str, kind: ListenerKind, group: str | None) -> None:
    if group is not None:
        try:
            os.chown(place, -1, grp.getgrnam(group).gr_gid)
        except KeyError as error:
            os.unlink(place)
            raise InvalidInput(f"There is no group {group!r} on this machine.") from error
    os.chmod(place, kind.mode)
    check_mode(place, kind)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def peer_uid(unix_socket: socket.socket) -> int | None:
    """Return the user id at the other end of a unix socket; None if the system cannot say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    credentials = unix_socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, uid, _gid = struct.unpack("3i", credentials)
    return int(uid)
