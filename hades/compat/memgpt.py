"""The tools of MemGPT, with its arguments, over the same operations.

Core memory is the core blocks; recall memory is the topics that are conversations (ingested chats,
and what a context window paged out); archival memory is everything in the memory.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from hades.domain.context import CoreBlock
from hades.domain.rules import clean_content, clean_number
from hades.domain.times import TimeLike
from hades.domain.topics import Hit, State

if TYPE_CHECKING:
    from hades.memory import Memory

PAGE_ITEMS = 10
Item = TypeVar("Item")


class MemGPT:
    """The six tools of MemGPT over a memory; lists come in pages of ten, from page 0 on.

    >>> MemGPT(memory).conversation_search("the pump", page=1)      # doctest: +SKIP
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def core_memory_append(self, label: str, content: str) -> CoreBlock:
        """Add a line to a core block, within its limit."""
        return self._memory.core_append(label, content)

    def core_memory_replace(self, label: str, old_content: str, new_content: str) -> CoreBlock:
        """Replace a text in a core block; an empty new text removes it."""
        return self._memory.core_replace(label, old_content, new_content)

    def conversation_search(self, query: str, page: int = 0) -> list[Hit]:
        """Find the passages of conversations that fit a query, best first."""
        return self._search(query, page, kind="conversation")

    def conversation_search_date(
        self, start_date: TimeLike, end_date: TimeLike, page: int = 0
    ) -> list[State]:
        """List by name the conversations that began from `start_date` until before `end_date`."""
        topics = self._memory.topics(kind="conversation", since=start_date, until=end_date)
        return [self._memory.get(topic.name) for topic in _page(topics, page)]

    def archival_memory_insert(self, content: str) -> State:
        """Store a text; the same text is stored once."""
        digest = blake2b(clean_content(content).encode(), digest_size=8).hexdigest()
        return self._memory.remember(f"archival/{digest}", content)

    def archival_memory_search(self, query: str, page: int = 0) -> list[Hit]:
        """Find the passages of the whole memory that fit a query, best first."""
        return self._search(query, page)

    def _search(self, query: str, page: int, **narrowed: Any) -> list[Hit]:
        clean_number(page, "page")
        return _page(self._memory.search(query, (page + 1) * PAGE_ITEMS, **narrowed), page)


def _page(items: list[Item], page: int) -> list[Item]:
    clean_number(page, "page")
    return items[page * PAGE_ITEMS : (page + 1) * PAGE_ITEMS]
