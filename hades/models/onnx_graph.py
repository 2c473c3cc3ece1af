"""Opening ONNX graphs for the CPU, with options that suit short texts."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from hades.errors import InvalidInput

_CPU_INFO = Path("/proc/cpuinfo")
_EXACT_INT8 = re.compile(r"^flags\b.*\b(?:avx512_vnni|avx_vnni)\b", re.MULTILINE)
"""Processor flags of x86 instructions that add products of int8 without overflow."""


def open_graph(graph: Path, threads: int) -> Any:
    """Return an ONNX Runtime session for a graph; each run uses this many threads.

    Raise InvalidInput if ONNX Runtime cannot load the file.
    """
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning threads save 1 ms a question, but spinning on afterwards costs 12 ms of processor
    # time (two ARM cores). So they stop after each run.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # Without VNNI, int8 sums on x86 overflow unless this is set. It makes runs 1.7 times as long,
    # even with VNNI, so it is left out where the processor is known to have VNNI.
    if not _has_exact_int8():
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no public class in common
        raise InvalidInput(f"{graph} cannot be loaded as a model: {error}") from error


@cache
def _has_exact_int8() -> bool:
    try:
        return _EXACT_INT8.search(_CPU_INFO.read_text("utf-8", "replace")) is not None
    except OSError:  # not Linux
        return False
