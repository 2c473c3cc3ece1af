"""The command that an agent's hook runs: it hands the event to the resident and prints the answer.

It must start fast, so it imports little and leaves JSON and memories to the resident, which it
starts if none is running. It never fails: it exits with 0, within the time limit of its event, and
an error is one line in the log.

    python -I -S client.py CLIENT EVENT [MEMORY]
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

PROTOCOL = "2"
PAYLOAD_BYTES_AT_MOST = 8 * 1024 * 1024
LOG_BYTES_AT_MOST = 1024 * 1024
LIMIT_S = {
    "session-start": 8.0,
    "prompt": 2.0,
    "tool": 1.0,
    "turn-end": 2.0,
    "before-compact": 2.0,
    "session-end": 2.0,
}
"""The time limit of the command, by event. After that it exits without an answer."""
EVENTS = tuple(LIMIT_S)
CONFIG_VARIABLES = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The environment variables that name the folder of a client's configuration."""
ANSWERED = b"+"
"""The first byte of every answer."""
POLL_S = 0.02


def private_folder() -> str:
    """Return the folder for the socket, the log and the sessions; make it if it is missing.

    Raise PermissionError if other users can reach it.
    """
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folder = os.path.join(base, "hades", "hooks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private to this user")
    return folder


def socket_path() -> str:
    """Return the path of the resident's socket."""
    return os.path.join(private_folder(), f"resident-{PROTOCOL}.sock")


def log(folder: str, client: str, event: str, message: str) -> None:
    """Append one line to the log: time, client, event, message."""
    path = os.path.join(folder, "hooks.log")
    try:
        if os.path.getsize(path) > LOG_BYTES_AT_MOST:
            os.replace(path, f"{path}.1")
    except OSError:
        pass  # there is no log yet, or another process replaced it
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = " ".join(f"{now} {client} {event} {message}".split())[:1000] + "\n"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, line.encode("utf-8", "replace"))
    finally:
        os.close(handle)


def main(arguments: list[str]) -> None:
    """Run a hook: read the payload from standard input, print the answer, exit with 0."""
    client, event, memory = (*arguments, "", "", "")[:3]
    folder = ""
    try:
        folder = private_folder()
        signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S.get(event, 1.0))
        answer = _answer(client, event, memory)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    except Exception as error:  # noqa: BLE001 - the edge of the process: the agent must not notice
        _report(folder, client, event, error)
    # Skip the interpreter's clean-up, which takes a few milliseconds and may complain about a
    # closed pipe.
    os._exit(0)


def _stop(_signal: int, _frame: object) -> None:
    raise TimeoutError("no answer within the time limit")


def _report(folder: str, client: str, event: str, error: Exception) -> None:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if folder:
            log(folder, client or "-", event or "-", f"failed: {error or type(error).__name__}")
    except Exception:  # noqa: BLE001 - without a log there is nobody left to tell
        return


def _answer(client: str, event: str, memory: str) -> bytes:
    if event not in LIMIT_S:
        raise ValueError("there is no such event")
    payload = sys.stdin.buffer.read(PAYLOAD_BYTES_AT_MOST + 1)
    if len(payload) > PAYLOAD_BYTES_AT_MOST:
        raise ValueError("the payload is too large")
    config = os.environ.get(CONFIG_VARIABLES.get(client, ""), "")
    head = "\0".join((PROTOCOL, client, event, memory, config, ""))
    call = os.fsencode(head) + payload
    answer = _called(call) or _called(call)  # the resident may end at the very moment of the call
    if not answer:
        raise ConnectionError("the resident broke off")
    return answer.removeprefix(ANSWERED)


def _called(call: bytes) -> bytes:
    """Send a call to the resident; return all of the answer, b"" if it broke off."""
    parts = []
    try:
        with _connected() as connection:
            connection.sendall(call)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                parts.append(part)
    except (BrokenPipeError, ConnectionResetError):
        return b""
    return b"".join(parts)


def _connected() -> socket.socket:
    """Connect to the resident, start it if nobody listens. The alarm of `main` ends the wait."""
    path = socket_path()
    started = False
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
            connection.close()
        if not started:
            _start_resident()
            started = True
        time.sleep(POLL_S)


def _start_resident() -> None:
    import subprocess

    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = f"import sys; sys.path.insert(0, {package!r})\n"
    code += "from hades.hooks.resident import main; main()"
    # Isolated (-I), so that no file in the agent's folder can pass for a module.
    subprocess.Popen(
        [sys.executable, "-I", "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
