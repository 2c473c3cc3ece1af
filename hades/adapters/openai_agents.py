"""OpenAI Agents SDK: the `Session` of an agent in a memory."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from hades.adapters.access import framework
from hades.adapters.conversation import Conversation
from hades.adapters.messages import Message, message_line
from hades.memory import View

with framework("openai-agents>=0.24"):
    from agents import TResponseInputItem
    from agents.memory import SessionSettings


class HadesSession:
    """The items of one session, in topics below `chats/SESSION`.

    `clear_session` and `pop_item` forget items: questions do not find them, but time travel still
    shows them. With `erase` they are purged. With a `user`, added messages are also distilled into
    notes, which `recall(…, about=user)` finds in every session. All methods run in a thread.
    """

    def __init__(
        self,
        session_id: str,
        memory: View,
        *,
        session_settings: SessionSettings | None = None,
        erase: bool = False,
        user: str | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._conversation = Conversation(memory, session_id, _spoken, erase=erase, user=user)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, or the last `limit` of them (default: the limit of the settings)."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return cast(
            "list[TResponseInputItem]", await asyncio.to_thread(self._conversation.messages, limit)
        )

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; those of one call become one topic."""
        await asyncio.to_thread(self._conversation.add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the last item and return it; None if there is none."""
        return cast("TResponseInputItem | None", await asyncio.to_thread(self._conversation.pop))

    async def clear_session(self) -> None:
        """Delete all items."""
        await asyncio.to_thread(self._conversation.clear)


def _spoken(item: Message) -> str:
    """Return the text of a message or of a tool's output; "" for calls and reasoning."""
    if "role" in item:
        return message_line(str(item["role"]), _text(item.get("content")))
    if str(item.get("type", "")).endswith("_output"):
        return message_line("tool", _text(item.get("output")))
    return ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
