import pytest

import hades
from hades.domain.rules import clean_metadata, clean_name, clean_share, clean_tags


@pytest.mark.parametrize("name", ["", "  ", "x" * 2001, "bad \ud800 surrogate", 7])
def test_names_that_are_refused(name: object) -> None:
    with pytest.raises(hades.InvalidInput):
        clean_name(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-0.1, 1.1, float("nan"), float("inf"), "1", True])
def test_shares_go_from_0_to_1(number: object) -> None:
    with pytest.raises(hades.InvalidInput, match="from 0 to 1"):
        clean_share(number, "confidence")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "metadata", [{"a": float("nan")}, {1: "a"}, {"a": object()}, {"a": {1, 2}}, {"a": "\ud800"}]
)
def test_metadata_must_survive_json(metadata: dict[str, object]) -> None:
    with pytest.raises(hades.InvalidInput, match="metadata"):
        clean_metadata(metadata)


def test_metadata_has_a_size() -> None:
    assert clean_metadata({"a": "x" * 1_000_000}) is not None
    with pytest.raises(hades.InvalidInput, match="1 MB"):
        clean_metadata({"a": "ü" * 600_000})


def test_tags_are_a_sorted_set() -> None:
    assert clean_tags(["b", "a", "b"]) == ("a", "b")
    with pytest.raises(hades.InvalidInput, match="list"):
        clean_tags("decision")
