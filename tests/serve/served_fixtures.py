"""Fixtures of a real server: `pytest_plugins = ["served_fixtures"]` in a file of tests.

No conftest.py: tests import the one above by that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_making import Served, Serving, running


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """Run a server with options of one's own: `with serving(limits=…) as served`."""
    return lambda **options: running(tmp_path, **options)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a file."""
    with running(tmp_path_factory.mktemp("served")) as server:
        yield server
