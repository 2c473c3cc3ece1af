"""Sockets: whoever may open one is let in, so nobody else may ever open it."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import hades
from hades.serve.auth.sockets import LISTENERS, check_mode, listen_tcp, listen_unix


def test_a_socket_has_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    for umask in (0o000, 0o022, 0o077, 0o777):
        for name, mode in (("ro", 0o660), ("rw", 0o600), ("admin", 0o600)):
            before = os.umask(umask)
            try:
                made = listen_unix(tmp_path / "a.sock", LISTENERS[name])
            finally:
                os.umask(before)
            assert stat.S_IMODE(os.stat(made.where).st_mode) == mode, (oct(umask), name)
            made.close()
            assert not os.path.exists(made.where)


def test_a_leftover_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "a.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(place))
    left.close()
    assert place.is_socket()
    listen_unix(place, LISTENERS["rw"]).close()


def test_a_live_server_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "a.sock"
    first = listen_unix(place, LISTENERS["rw"])
    with pytest.raises(hades.Conflict, match="Another server listens on"):
        listen_unix(place, LISTENERS["ro"])
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(place))
    first.close()


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(place)
    for path in (place, link, tmp_path):
        with pytest.raises(hades.Conflict, match="is not a socket"):
            listen_unix(path, LISTENERS["rw"])
    assert place.read_text() == "mine"


def test_a_place_that_cannot_be_is_told(tmp_path: Path) -> None:
    with pytest.raises(hades.Unavailable, match="folder"):
        listen_unix(tmp_path / "nowhere" / "a.sock", LISTENERS["rw"])
    with pytest.raises(hades.InvalidInput, match="too long"):
        listen_unix(tmp_path / ("a" * 120), LISTENERS["rw"])
    with pytest.raises(hades.InvalidInput, match="no group"):
        listen_unix(tmp_path / "a.sock", LISTENERS["ro"], "no-such-group")
    assert list(tmp_path.iterdir()) == []


def test_closing_removes_no_other_servers_socket(tmp_path: Path) -> None:
    place = tmp_path / "a.sock"
    first = listen_unix(place, LISTENERS["rw"])
    place.unlink()
    second = listen_unix(place, LISTENERS["rw"])
    first.close()
    assert place.is_socket()
    second.close()


def test_a_mode_that_lets_others_in_is_refused(tmp_path: Path) -> None:
    made = listen_unix(tmp_path / "a.sock", LISTENERS["rw"])
    os.chmod(made.where, 0o660)
    with pytest.raises(hades.Denied, match="0660 instead of 0600"):
        check_mode(made.where, LISTENERS["rw"], exactly=False)
    made.close()


def test_other_machines_are_let_in_only_when_that_is_meant() -> None:
    for host in ("0.0.0.0", "::"):
        with pytest.raises(hades.Denied, match="--remote"):
            listen_tcp(host, 0, remote=False)
        listen_tcp(host, 0, remote=True).close()


def test_a_port_somebody_has_is_told() -> None:
    first = listen_tcp("127.0.0.1", 0, remote=False)
    port = first.socket.getsockname()[1]
    with pytest.raises(hades.Conflict, match="Another program listens"):
        listen_tcp("127.0.0.1", port, remote=False)
    first.close()
    with pytest.raises(hades.InvalidInput, match="not an address"):
        listen_tcp("no.such.host.invalid", 1, remote=False)


_HANDED = """
import os, sys
from hades.errors import HadesError
from hades.serve.auth.sockets import handed_sockets
os.environ["LISTEN_PID"] = str(os.getpid())
try:
    for one in handed_sockets(os.environ):
        print(one.kind.name, one.where)
    print(sorted(name for name in os.environ if name.startswith("LISTEN_")))
except HadesError as error:
    print(error)
"""


def _handed(names: str, *sockets: socket.socket) -> str:
    def hand_over() -> None:
        for number, one in enumerate(sockets):
            os.dup2(one.fileno(), 3 + number)

    done = subprocess.run(
        [sys.executable, "-c", _HANDED],
        env={**os.environ, "LISTEN_FDS": str(len(sockets)), "LISTEN_FDNAMES": names},
        preexec_fn=hand_over,
        close_fds=False,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_systemd_hands_sockets_over_by_name(tmp_path: Path) -> None:
    ro = listen_unix(tmp_path / "ro.sock", LISTENERS["ro"])
    http = listen_tcp("127.0.0.1", 0, remote=False)
    out = _handed("ro:http", ro.socket, http.socket)
    assert out == f"ro {ro.where}\nhttp {http.where}\n[]\n"
    assert "named ro, rw" in _handed("ro:web", ro.socket, http.socket)
    assert "must be a unix socket" in _handed("ro:rw", ro.socket, http.socket)
    assert "FileDescriptorName" in _handed("ro", ro.socket, http.socket)
    assert "has the mode 0660 instead of 0600" in _handed("admin", ro.socket)
    ro.close()
    http.close()
