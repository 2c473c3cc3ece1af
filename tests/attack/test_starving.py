"""One key writes giants; the notes of another are found by the very next question."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from serve.served_making import running

GIANTS, CHARACTERS = (12, 6_000_000) if os.environ.get("HADES_ATTACK") == "long" else (3, 150_000)
QUESTIONS = 5
HANG_S = 120.0


@pytest.mark.slow
def test_notes_are_found_while_giants_wait(tmp_path: Path) -> None:
    line = "The pump of hall {n} was tested by Ann Lee of Acme and held its pressure. "
    with running(tmp_path) as served:
        greedy, other = (served.by("http", served.key("writer")) for _ in range(2))
        greedy.timeout = other.timeout = HANG_S
        with greedy, other:
            for giant in range(GIANTS):
                text = "".join(line.format(n=giant * 10**6 + n) for n in range(CHARACTERS // 76))
                sent = greedy.put(f"/v1/spaces/default/states/giant{giant}", json={"content": text})
                assert sent.status_code == 201
            greedy.post("/v1/spaces/default/recall", json={"question": "Who tested the pump?"})
            for number in range(QUESTIONS):
                code = {"content": f"The code of locker {number} is {7919 * (number + 3)}."}
                sent = other.put(f"/v1/spaces/default/states/locker{number}", json=code)
                assert sent.status_code == 201
                asked = {"question": f"What is the code of locker {number}?"}
                answer = other.post("/v1/spaces/default/recall", json=asked).json()
                found = [passage["chunk"]["topic"] for passage in answer["passages"]]
                assert f"locker{number}" in found
