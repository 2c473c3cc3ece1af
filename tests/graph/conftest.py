"""Both ways of walking: the numba kernel, and numpy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hades.graph import ppr
from hades.graph.lazy_kernel import LazyKernel


@pytest.fixture(scope="module", params=["kernel", "numpy"])
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Make all walks of a module run with the kernel, then with numpy, as without numba."""

    def missing() -> None:
        raise ImportError

    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(ppr, "kernel", LazyKernel(missing, after=1))
        ppr.kernel.wait()
        if ppr.kernel.is_ready() != (request.param == "kernel"):
            pytest.skip("numba is not installed")
        yield request.param
