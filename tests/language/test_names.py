import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.index.words import is_said, stems
from hades.language.names import name_key, name_parts, numberless, spoken
from hades.language.words import _WORDS, words


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


@given(st.text())
def test_a_name_as_it_is_spoken_has_no_joints(name: str) -> None:
    said = spoken(name)
    assert said == " ".join(said.split())
    assert spoken(said) == said
    assert not set(said) & set("/_:-")


@given(st.text())
def test_the_parts_of_a_name_stand_in_it(name: str) -> None:
    for part in name_parts(name):
        assert part
        assert any(part in word for word in words(name))


@given(st.text(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_names_that_differ_in_numbers_alone_are_one_without_them(
    name: str, one: int, other: int
) -> None:
    assert numberless(f"{name} {one}") == numberless(f"{name} {other}")


@pytest.mark.parametrize(
    ("question", "said"),
    [("db 7", True), ("db 07", True), ("DB07", True), ("db 8", False), ("7", False), ("", False)],
)
def test_a_word_of_a_name_is_said_in_its_parts(question: str, said: bool) -> None:
    parts = set(stems(" ".join(name_parts("db07"))))
    assert is_said("db07", parts, set(stems(question))) is said
