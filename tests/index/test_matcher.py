from hypothesis import given
from hypothesis import strategies as st

from hades.index.matcher import Matcher
from hades.language.names import name_key

WORDS = ["new", "york", "times", "The", "Café", "a", "zebra"]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def test_names_inside_longer_names_are_found_too() -> None:
    matcher = Matcher(["new york", "new york times", "times"])
    found = [(m.name, m.start, m.length, m.capital) for m in matcher.match(["The New York times"])]
    assert found == [(0, 1, 2, True), (1, 1, 3, True), (2, 3, 1, False)]


def test_nothing_is_found_in_nothing() -> None:
    assert list(Matcher([]).match(["hello", ""])) == []
    assert list(Matcher(["a b"]).match([])) == []


@given(st.lists(texts.map(name_key).filter(bool), max_size=8, unique=True), texts)
def test_it_finds_what_a_naive_search_finds(keys: list[str], text: str) -> None:
    row = [name_key(word) for word in text.split()]
    naive = {
        (number, first, len(key.split()))
        for number, key in enumerate(keys)
        for first in range(len(row))
        if row[first : first + len(key.split())] == key.split()
    }
    found = {(m.name, m.start, m.length) for m in Matcher(keys).match([text])}
    assert found == naive
