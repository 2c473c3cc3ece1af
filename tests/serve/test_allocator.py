"""All threads of a server share a few arenas of the C library's allocator."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from hades.serve.allocator import ARENAS

COUNTED = """
import ctypes, sys, threading
from hades.serve.allocator import limit_arenas
if sys.argv[1:]:
    limit_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(8)
def allocate():
    together.wait()
    libc.malloc(ctypes.c_size_t(1000))
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="not glibc")
def test_eight_threads_use_two_arenas() -> None:
    def arenas(*arguments: str) -> int:
        command = [sys.executable, "-c", COUNTED, *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout.count(b"<heap nr=")

    assert arenas("limited") <= ARENAS < arenas()
