from hypothesis import given
from hypothesis import strategies as st

from hades.domain.names import _WORDS, name_key, words


def test_spellings_of_one_name_share_a_key() -> None:
    assert name_key("Multi-Head  Attention") == name_key("multi head_attention")
    assert name_key("Café") == name_key("CAFE")
    assert name_key("ß") == name_key("SS")


def test_a_name_without_words_is_its_own_key() -> None:
    assert name_key(" 🜏 ") == "🜏"


@given(st.text(min_size=1).filter(str.strip))
def test_a_key_is_never_empty_and_folding_twice_changes_nothing(name: str) -> None:
    key = name_key(name)
    assert key
    assert name_key(key) == key


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_has_the_same_words_by_the_shorter_way(text: str) -> None:
    assert words(text) == _WORDS.findall(text)
    assert words(text.lower()) == [word.casefold() for word in words(text)]


@given(st.lists(st.sampled_from(["C", "a", "_", "+", "++", "#", " ", "9"])).map("".join))
def test_names_with_signs_are_the_same_by_both_ways(text: str) -> None:
    assert words(text) == _WORDS.findall(text)
