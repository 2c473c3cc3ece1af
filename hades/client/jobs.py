"""Jobs: long work on the server, followed by its server-sent events until it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hades.client.connection import BrokenOff, Connection, HttpCall, path_of, refusal
from hades.errors import Unavailable
from hades.store.records import Progress


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    name: str
    data: Any
    id: str = ""


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    """Parse server-sent events: the fields up to an empty line are one event."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data" and "data" in fields:
                value = f"{fields['data']}\n{value}"
            fields[name] = value
            continue
        if "data" in fields:
            data = json.loads(fields["data"])
            yield Event(fields.get("event", "message"), data, fields.get("id", ""))
        fields = {}


def follow(
    connection: Connection, space: str, job: Mapping[str, Any], on_progress: Progress | None
) -> Any:
    """Wait for a job and return its result; reconnect if the connection breaks."""
    report = on_progress or (lambda _what, _done, _total: None)
    for event in _watched(connection, path_of("spaces", space, "jobs", job["id"], "events")):
        if event.name == "progress":
            report(event.data["what"], event.data["done"], event.data["total"])
        elif event.name == "done":
            return event.data["result"]
        elif event.name == "failed":
            raise refusal(event.data, 500)
        elif event.name == "cancelled":
            raise Unavailable("Somebody cancelled this job: start it again.")
    raise AssertionError("unreachable")


def _watched(connection: Connection, path: str) -> Iterator[Event]:
    """Yield a job's events; after a break, reconnect and continue after the last event."""
    last, breaks = "", 0
    while True:
        headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
        call = HttpCall("GET", path, headers=headers, patient=True)
        try:
            with connection.opened(call) as response:
                for event in events_of(response.iter_lines()):
                    last, breaks = event.id or last, 0
                    yield event
        except BrokenOff:
            breaks += 1
            if breaks > connection.retries:
                raise
