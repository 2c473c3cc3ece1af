"""Where a text may be cut without breaking a thought."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.language.sentences import sentences, spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works. It is fast.", ["It works.", "It is fast."]),
        (
            "Dr. Smith met J. R. R. Tolkien. They talked.",
            ["Dr. Smith met J. R. R. Tolkien.", "They talked."],
        ),
        ("It triggers Bug Y. The fix is near.", ["It triggers Bug Y.", "The fix is near."]),
        ("Ed Wood Jr. (born 1924) made films.", ["Ed Wood Jr. (born 1924) made films."]),
        ("Use e.g. a cache. Done.", ["Use e.g. a cache.", "Done."]),
        ("It costs 3.50 euros. Cheap!", ["It costs 3.50 euros.", "Cheap!"]),
        ("“Stop!” he said. She left.", ["“Stop!” he said.", "She left."]),
        ("He works at Acme Inc. She does not.", ["He works at Acme Inc.", "She does not."]),
        ("今日は晴れ。明日は雨。", ["今日は晴れ。", "明日は雨。"]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("هل هذا صحيح؟ نعم۔", ["هل هذا صحيح؟", "نعم۔"]),
        ("Steps:\n1. Open it.\n2. Close it.", ["Steps:", "1. Open it.", "2. Close it."]),
        ("# Title\n\nText without end", ["# Title", "Text without end"]),
        ("Really?! Yes…", ["Really?!", "Yes…"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet=st.sampled_from("aB .!?\n。-1'\"।"), max_size=80))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    found = list(spans(text))
    assert found == sorted(found)
    assert "".join("".join(text[a:b].split()) for a, b in found) == "".join(text.split())
    assert all(text[a:b] == text[a:b].strip() for a, b in found)
