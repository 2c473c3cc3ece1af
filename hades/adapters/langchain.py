"""LangChain: a retriever, and the history of a chat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hades.adapters.access import framework
from hades.adapters.conversation import Conversation
from hades.adapters.messages import Message, message_line
from hades.adapters.passages import best_passages, details
from hades.memory import View

with framework("langchain-core>=1"):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever


class HadesRetriever(BaseRetriever):
    """The `k` passages that answer a question best, as `recall` ranks them.

    `tag`, `kind`, `glob`, `about`, `since` and `until` narrow the topics, as in `recall`. The
    memory may be a view of another time: `HadesRetriever(memory=memory.at("2024-03"))`.
    """

    memory: View
    k: int = 4
    tag: str | None = None
    kind: str | None = None
    glob: str | None = None
    about: str | None = None
    since: str | None = None
    until: str | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._documents(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._documents, query, k)

    def _documents(self, query: str, k: int | None) -> list[Document]:
        names = ("tag", "kind", "glob", "about", "since", "until")
        scope = {name: value for name in names if (value := getattr(self, name)) is not None}
        return [
            Document(id=passage.id, page_content=passage.chunk.text, metadata=details(passage))
            for passage in best_passages(self.memory, query, self.k if k is None else k, scope)
        ]


class HadesChatHistory(BaseChatMessageHistory):
    """The messages of one session, in topics below `chats/SESSION`.

    `clear` forgets them: questions do not find them, but time travel still shows them. With `erase`
    it purges them. With a `user`, added messages are also distilled into notes, which `recall(…,
    about=user)` finds in every session, also after `clear`. The asynchronous methods run in a
    thread.
    """

    def __init__(
        self, memory: View, session_id: str, *, erase: bool = False, user: str | None = None
    ) -> None:
        super().__init__()
        self._conversation = Conversation(memory, session_id, _spoken, erase=erase, user=user)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages, oldest first."""
        return messages_from_dict(self._conversation.messages())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages; those of one call become one topic."""
        self._conversation.add([message_to_dict(message) for message in messages])

    def clear(self) -> None:
        """Delete all messages of the session."""
        self._conversation.clear()


def _spoken(message: Message) -> str:
    (read,) = messages_from_dict([message])
    return message_line(read.type, str(read.text))
