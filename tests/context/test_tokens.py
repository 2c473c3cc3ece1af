"""Counting tokens: by words, exactly as the whole text counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hades.context.tokens import count
from hades.models.encoder import count_tokens


@given(st.lists(st.text(max_size=60), max_size=4))
def test_counting_by_words_is_counting_the_whole(texts: list[str]) -> None:
    assert count(texts) == count_tokens(texts)


@given(st.text(alphabet="aZ0.-'\t\n\r \x0b\x0c\x1c\x85\xa0\u2028\u3000é中[]CLSMASK", max_size=80))
def test_no_kind_of_space_makes_the_count_another(text: str) -> None:
    assert count([text]) == count_tokens([text])
