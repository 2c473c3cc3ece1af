"""Messages of a conversation: their text, and how many fit into one topic."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hades.adapters.access import writable
from hades.domain.distilled import Distillation
from hades.errors import InvalidInput
from hades.language.said import ASSISTANTS, USERS
from hades.memory import View
from hades.operations.parameters import TEXT_CHARACTERS_AT_MOST

MESSAGE_BYTES_AT_MOST = 1_000_000
TOPIC_BYTES_AT_MOST = 500_000
"""The most bytes of JSON for the messages of one topic, unless a single message has more. Metadata
may have 1 MB."""

Message = dict[str, Any]


def message_line(role: str, text: str) -> str:
    """Return a message as a line for the content of a topic; "" without text."""
    return f"{role}: {text.strip()}" if text.strip() else ""


def distil(memory: View, messages: Iterable[Message], user: str) -> Distillation | None:
    """Distil the messages of a user and a model; return None if there are none.

    Each message has `role`, `content` and optionally `at`. Messages of tools and of the system are
    left out, because their text may come from anybody.
    """
    kept = [
        {**message, "content": message["content"][:TEXT_CHARACTERS_AT_MOST]}
        for message in messages
        if message["role"] in USERS + ASSISTANTS and message["content"].strip()
    ]
    return writable(memory).distil(kept, user=user) if kept else None


def parts_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[list[Message]]:
    """Split messages into lists small enough for the metadata of one topic."""
    part = list[Message]()
    size = 0
    for message in messages:
        try:
            written = json.dumps(message, ensure_ascii=False, allow_nan=False)
            added = len(written.encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"A message must be plain JSON: {error}.") from error
        if added > MESSAGE_BYTES_AT_MOST:
            raise InvalidInput(
                f"A message has {added:,} bytes, and at most {MESSAGE_BYTES_AT_MOST:,} are stored: "
                "leave out files and images."
            )
        if part and size + added > TOPIC_BYTES_AT_MOST:
            yield part
            part = []
            size = 0
        part.append(json.loads(written))
        size += added
    if part:
        yield part
