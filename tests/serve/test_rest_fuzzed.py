"""Every endpoint with right and wrong requests made from its description.

The same few hundred each time; `make fuzz` makes thousands.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import fuzz


@pytest.mark.slow
def test_no_request_breaks_the_server_or_its_description(tmp_path: Path) -> None:
    done = fuzz(tmp_path, examples=2, phases="examples,fuzzing")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
