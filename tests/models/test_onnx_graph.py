"""Opening graphs: which processors need the exact but slower int8 path."""

from pathlib import Path

import pytest

from hades.models import onnx_graph


@pytest.mark.parametrize(
    ("info", "exact"),
    [
        ("model name\t: Xeon\nflags\t\t: fpu avx2 avx512bw avx512_vnni\n", True),
        ("flags\t\t: fpu avx2 avx_vnni sse\n", True),
        ("model name\t: avx_vnni\nflags\t\t: fpu avx2 avx512bw\n", False),
        ("Features\t: fp asimd asimddp i8mm\n", False),
        (None, False),
    ],
    ids=["avx512", "avx2", "without", "arm", "not-linux"],
)
def test_vnni_is_read_from_the_processor_flags(
    info: str | None, exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpuinfo"
    if info is not None:
        file.write_text(info)
    monkeypatch.setattr(onnx_graph, "_CPU_INFO", file)
    onnx_graph._has_exact_int8.cache_clear()
    try:
        assert onnx_graph._has_exact_int8() is exact
    finally:
        onnx_graph._has_exact_int8.cache_clear()
