"""Conversations of frameworks: messages in topics, each found by recall like any other text.

The messages that a framework adds in one call become one topic below `chats/ID`, named by its
time. Its content is the text of the messages, which questions find; its metadata has the messages
as the framework gave them. A turn and its reply usually arrive together, so they stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from hades.adapters.access import current, delete, topic_name, writable
from hades.adapters.messages import Message, distil, parts_of
from hades.domain.rules import clean_name, clean_number
from hades.domain.times import from_micros, system_clock
from hades.domain.topics import State
from hades.errors import Conflict, NotFound
from hades.memory import View

ROOT = "chats"
STAMP = "%Y-%m-%dT%H:%M:%S.%fZ"
ATTEMPTS_AT_MOST = 100
"""Attempts of a write while other processes write to the same conversation."""


class Conversation:
    """The messages of one conversation, oldest first.

    `spoken` returns the text of a message to remember, "" for none. With `erase`, deleted messages
    are purged; else they are forgotten, and history and time travel still show them. With a
    `user`, added messages are also distilled into notes about this user.
    """

    def __init__(
        self,
        memory: View,
        id: str,
        spoken: Callable[[Message], str],
        *,
        erase: bool = False,
        user: str | None = None,
    ) -> None:
        self.memory = memory
        self._spoken = spoken
        self._erase = erase
        self._user = None if user is None else clean_name(user, "user")
        self._name = topic_name(ROOT, id)

    def add(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Append messages: all of them, or none if one is refused."""
        memory = writable(self.memory)
        parts = list(parts_of(messages))
        for _ in range(ATTEMPTS_AT_MOST):
            try:
                names = self._next_names(len(parts))
                with memory.batch():
                    for name, part in zip(names, parts, strict=True):
                        self._write(name, part, 0)
            except Conflict:  # another process wrote at the same microsecond
                continue
            return self._distil(messages)
        raise Conflict(f"Too many processes write to {self._name!r}: try again.")

    def messages(self, limit: int | None = None) -> list[Message]:
        """Return the messages, or the last `limit` of them."""
        if limit is not None and limit <= 0:
            return []
        newest = (message for _, messages in self._newest() for message in reversed(messages))
        return list(islice(newest, clean_number(limit, "limit")))[::-1]

    def pop(self) -> Message | None:
        """Delete the last message and return it; None if there is none."""
        for _ in range(ATTEMPTS_AT_MOST):
            state, messages = next(self._newest(), (None, []))
            if state is None:
                return None
            memory = writable(self.memory)
            topic = state.topic
            others = messages[:-1]
            try:
                with memory.batch():
                    if self._erase or not others:
                        (memory.purge if self._erase else memory.forget)(topic)
                    if others:
                        self._write(topic, others, 0 if self._erase else state.version)
                return messages[-1]
            except (Conflict, NotFound):  # another process took it first
                continue
        raise Conflict(f"Too many processes write to {self._name!r}: try again.")

    def clear(self) -> None:
        """Delete all messages."""
        delete(self.memory, self._names(), erase=self._erase)

    # Inside

    def _distil(self, messages: Sequence[Mapping[str, Any]]) -> None:
        if self._user is not None:
            lines = (self._spoken(dict(message)).partition(": ") for message in messages)
            spoken = ({"role": role, "content": text} for role, _, text in lines)
            distil(self.memory, spoken, self._user)

    def _names(self) -> list[str]:
        topics = self.memory.topics(f"{self._name}/*")
        return [topic.name for topic in topics if _moment(topic.name)]

    def _newest(self) -> Iterator[tuple[State, list[Message]]]:
        """Yield the topics of the conversation with their messages, the latest topic first."""
        for name in reversed(self._names()):
            state = current(self.memory, name)  # None: deleted meanwhile
            messages = state.metadata.get("messages") if state else None
            if state and messages:
                yield state, messages

    def _next_names(self, count: int) -> list[str]:
        """Return names that sort after all names of the conversation, whatever the clock says."""
        moment = from_micros(system_clock())
        step = timedelta(microseconds=1)
        before = f"{self._name}/{_stamp(moment - step)}"
        later = self.memory.topics(f"{self._name}/*", after=before)
        first = max([moment, *(at + step for topic in later if (at := _moment(topic.name)))])
        return [f"{self._name}/{_stamp(first + number * step)}" for number in range(count)]

    def _write(self, name: str, messages: Sequence[Message], version: int) -> None:
        text = "\n\n".join(filter(None, map(self._spoken, messages)))
        writable(self.memory).remember(
            name,
            text,
            kind="conversation",
            metadata={"messages": list(messages)},
            expect_version=version,
        )


def _stamp(moment: datetime) -> str:
    return moment.strftime(STAMP)


def _moment(name: str) -> datetime | None:
    """Return the moment in the name of a topic; None if a conversation did not name it."""
    stamp = name.rpartition("/")[2]
    with suppress(ValueError):
        moment = datetime.fromisoformat(stamp)
        return moment if moment.tzinfo and _stamp(moment) == stamp else None
    return None
