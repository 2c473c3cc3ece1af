"""Statements by a model: its words are taken where the turns support them, and only there."""

from __future__ import annotations

import pytest
from chat_making import scripted
from test_chat import use

import hades

SAID = [
    {"role": "user", "content": "staging deploys break every week with that script"},
    {"role": "assistant", "content": "Shall we use GitHub Actions for staging instead?"},
    {"role": "user", "content": "yes, do that. from now on never deploy staging by hand."},
]


def test_supported_words_of_a_model_are_kept(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = memory.distil(SAID, dry_run=True).statements
    number = next(n for n, one in enumerate(plain, 1) if one.turn == 2)
    with scripted(f"From now on never deploy staging by hand [{number}].") as server:
        use(monkeypatch, server)
        done = memory.distil(SAID, model="a")
        asked = server.requests[0]["messages"][1]["content"]
    assert "\n assistant: Shall we use GitHub Actions" in asked
    assert "From now on never deploy staging by hand." in [one.text for one in done.statements]
    assert done.usage is not None
    assert memory.distil(SAID, model="a").statements == ()


def test_words_that_no_turn_supports_are_not_stored(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted("Deploy staging by hand on 17 Fridays [1]. Rosa likes Jenkins [2].") as server:
        use(monkeypatch, server)
        done = memory.distil(SAID, model="a")
    texts = " ".join(one.text for one in done.statements)
    assert "never deploy staging by hand" in texts
    assert "17" not in texts
    assert "Rosa" not in texts


def test_without_an_answer_of_the_model_the_words_that_were_said_are_kept(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "http://127.0.0.1:9/v1")
    assert memory.distil(SAID, model="a").statements
    with pytest.raises(hades.InvalidInput, match="No model is called"):
        memory.distil([{"role": "user", "content": "Rule: never push on Fridays."}], model="nobody")
