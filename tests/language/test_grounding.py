"""Grounding: what a model may say of its sources."""

import pytest
from grounding_pairs import MORE, PAIRS
from hypothesis import given
from hypothesis import strategies as st

from hades.language.english.grounding import check_sentences, with_labels
from hades.language.words import words

SOURCES = {
    "1": "Approach X was rejected on 10 January 2024. It triggers Bug Y.",
    "2": "Ann Lee owns the billing service, which takes 1,200 requests a second.",
    "F1": "Bug Y is fixed by approach Z.",
}


@pytest.mark.parametrize(
    "said",
    [
        "Approach X was rejected on 2024-01-10 [1].",
        "Approach X was rejected in January 2024. [1]",
        "[1] Approach X triggers Bug Y.",
        "The billing service is owned by Ann Lee and takes 1200 requests a second [2].",
        "Approach X triggers Bug Y, which approach Z fixes [1, F1].",
        "Approach X triggers Bug Y, which approach Z fixes [1][F1].",
        "The context does not say who wrote it.",
        "Nothing was found.",
    ],
)
def test_supported(said: str) -> None:
    (checked,) = check_sentences(said, SOURCES)
    assert checked.supported, checked.why


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Approach X was rejected on 2024-01-11 [1].", "does not say 11"),
        ("Approach Z was rejected on 10 January 2024 [1].", "does not name approach z"),
        ("Approach X was not rejected [1].", "the source says reject"),
        ("Approach X, which triggers Bug Y, was rejected in no week [1].", "does not deny it"),
        ("Approach X was accepted, though it triggers Bug Y [1].", "opposite"),
        (
            "Ann Lee owns the shipping service, with 1200 requests a second [2].",
            "another word than ship beside",
        ),
        ("Approach X was rejected.", "cites nothing"),
        ("Approach X was rejected [7].", "cites 7, which is not there"),
        ("Approach X was rejected [F7].", "cites F7, which is not there"),
        ("Ann Lee owns the billing service [1].", "does not name"),
        ("There is no information on it, but Bob is guilty.", "cites nothing"),
        ("We should send the keys to the owner of the shop [2].", "something else"),
        ("Yes [1].", "nothing that can be checked"),
    ],
)
def test_unsupported(said: str, why: str) -> None:
    (checked,) = check_sentences(said, SOURCES)
    assert not checked.supported
    assert why in checked.why


def test_each_sentence_has_its_own_citations() -> None:
    first, second = check_sentences(
        "Approach X was rejected. [1] Ann Lee owns the billing service [2].", SOURCES
    )
    assert (first.text, first.cited) == ("Approach X was rejected.", ("1",))
    assert (second.text, second.cited) == ("Ann Lee owns the billing service.", ("2",))
    assert first.supported
    assert second.supported


NODES = {"1": ("notes/a@1#0",), "P1": ("design/x", "Bug Y"), "P2": ("Bug Y", "data"), "T1": ()}


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("(P1)", "[P1]"),
        ("(path 1)", "[P1]"),
        ("(path #2, Bug Y, data)", "[P2]"),
        ("[P1: design/x → bug y]", "[P1]"),
        ("[1, P2]", "[1, P2]"),
        ("(P1; T1)", "[P1, T1]"),
        ("[design/x]", "[P1]"),
        ("[Bug Y]", "[P1, P2]"),
        ("[notes/a@1#0]", "[1]"),
        ("(Bug Y)", "(Bug Y)"),  # an aside
        ("(1)", "(1)"),
        ("(P1: data)", "(P1: data)"),  # it is no node of this path
        ("(P7)", "(P7)"),
        ("[Bug Q]", "[Bug Q]"),
    ],
)
def test_citations_of_paths_and_nodes_become_labels(written: str, labels: str) -> None:
    assert with_labels(f"It broke {written}.", NODES) == f"It broke {labels}."


def _measured(half: int) -> tuple[float, float]:
    """Precision and recall on the pairs of every second source: 0 tuned, 1 held."""
    kept = [pair for at, pair in enumerate(PAIRS) if at // 2 % 2 == half]
    kept += MORE if half == 0 else []
    found = [
        (check_sentences(f"{said[:-1]} [1].", {"1": source}), right) for source, said, right in kept
    ]
    taken = [right for checked, right in found if all(one.supported for one in checked)]
    return sum(taken) / len(taken), sum(taken) / sum(right for _, right in found)


def test_on_sixty_pairs_it_is_sooner_silent_than_wrong() -> None:
    for half in (0, 1):
        precision, recall = _measured(half)
        assert precision >= 0.9
        assert recall >= 0.8


VOCABULARY = "Ann owns not 12 rejected Bug Y March 2024 the 1,200 two never é 猫".split()  # noqa: SIM905
MARKS = ["[1]", "[F2]", "[9, 1]", ".", ",", "; but"]
_plain = st.lists(st.sampled_from(VOCABULARY)).map(" ".join)
_marked = st.lists(st.sampled_from(VOCABULARY + MARKS)).map(" ".join)


@given(_plain)
def test_what_a_source_says_is_supported(said: str) -> None:
    for checked in check_sentences(f"{said} [1].", {"1": said}):
        assert checked.why in ("", "says nothing that can be checked")


@given(st.one_of(_marked, st.text(max_size=200)), _marked)
def test_nothing_is_lost_and_nothing_uncited_passes(text: str, source: str) -> None:
    checked = check_sentences(text, {"1": source, "F2": source})
    told = [word for one in checked for word in words(one.text)]
    assert len(told) <= len(words(text))
    for one in checked:
        assert one.supported == (not one.why)
        assert not one.supported or set(one.cited) <= {"1", "F2"}


@pytest.mark.slow
def test_the_work_stays_linear_in_the_source() -> None:
    long = "Ann owns 12 boats and not 13. " * 20_000
    assert check_sentences("Ann owns 12 boats [1].", {"1": long})[0].supported
    check_sentences("[1" * 50_000 + "[1]" * 50_000 + ". " * 50_000, {"1": "x"})
    with_labels("[(P1" * 50_000 + "(P1)" * 50_000, NODES)
