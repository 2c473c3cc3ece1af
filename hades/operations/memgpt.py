"""MemGPT's tools with its own arguments, over the same operations.

Core memory are the core blocks, recall memory the topics that are conversations (chats that
were ingested, and what a context window paged out), archival memory all that is remembered.
Nothing is searched here.
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
Found = TypeVar("Found")


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
        """Replace a text in a core block; empty: it is taken out."""
        return self._memory.core_replace(label, old_content, new_content)

    def conversation_search(self, query: str, page: int = 0) -> list[Hit]:
        """Passages of conversations that fit a query, best first."""
        return self._search(query, page, kind="conversation")

    def conversation_search_date(
        self, start_date: TimeLike, end_date: TimeLike, page: int = 0
    ) -> list[State]:
        """Conversations that began in that time, the end not included, by name."""
        found = self._memory.topics(kind="conversation", since=start_date, until=end_date)
        return [self._memory.get(one.name) for one in _page(found, page)]

    def archival_memory_insert(self, content: str) -> State:
        """Keep a text; the same text is kept once."""
        digest = blake2b(clean_content(content).encode(), digest_size=8).hexdigest()
        return self._memory.remember(f"archival/{digest}", content)

    def archival_memory_search(self, query: str, page: int = 0) -> list[Hit]:
        """Passages of all that is remembered that fit a query, best first."""
        return self._search(query, page)

    def _search(self, query: str, page: int, **narrowed: Any) -> list[Hit]:
        clean_number(page, "page")
        return _page(self._memory.search(query, (page + 1) * PAGE_ITEMS, **narrowed), page)


def _page(found: list[Found], page: int) -> list[Found]:
    clean_number(page, "page")
    return found[page * PAGE_ITEMS : (page + 1) * PAGE_ITEMS]
