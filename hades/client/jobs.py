"""Jobs: long work of a server, followed by the events it sends until it is done."""

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
    """One message of a stream of events."""

    name: str
    data: Any
    id: str = ""


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    """Server-sent events: fields up to an empty line are one event; comments say nothing."""
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
            told = json.loads(fields["data"])
            yield Event(fields.get("event", "message"), told, fields.get("id", ""))
        fields = {}


def follow(
    connection: Connection, space: str, job: Mapping[str, Any], on_progress: Progress | None
) -> Any:
    """The result of a job, waited for; where the connection breaks, it is taken up again."""
    told = on_progress or (lambda _what, _done, _total: None)
    for event in _watched(connection, path_of("spaces", space, "jobs", job["id"], "events")):
        if event.name == "progress":
            told(event.data["what"], event.data["done"], event.data["total"])
        elif event.name == "done":
            return event.data["result"]
        elif event.name == "failed":
            raise refusal(event.data, 500)
        elif event.name == "cancelled":
            raise Unavailable("Somebody cancelled this job: start it again.")
    raise AssertionError("unreachable")


def _watched(connection: Connection, path: str) -> Iterator[Event]:
    """The events at an address, without an end; those that came before a break are not lost."""
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
