"""Closing a memory: nothing of it writes to the disk afterwards."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.index.space_words import MERGED_FROM, SpaceWords


def test_no_thread_merges_words_after_close(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merging, go_on = threading.Event(), threading.Event()
    written = SpaceWords._written

    def slow(self: SpaceWords, *of: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            merging.set()
            go_on.wait(60)
        return written(self, *of)

    monkeypatch.setattr(SpaceWords, "_written", slow)
    memory = hades.open(path)
    for number in range(MERGED_FROM + 2):
        memory.remember(f"note/{number}", f"The code of locker {number} is {number * 7919}.")
        if number % 40 == 39:
            memory.search("code of the locker")
    memory.search("code of the locker")
    assert merging.wait(60)
    closing = threading.Thread(target=memory.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive(), "it waits for the merge"
    go_on.set()
    closing.join(60)
    assert not closing.is_alive()
