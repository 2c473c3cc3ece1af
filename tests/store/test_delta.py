import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.errors import Corrupt
from hades.store.delta import apply_delta, make_delta, pack, unpacked

lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"longer line\n", b"x"]), max_size=30).map(
    b"".join
)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_a_delta_gives_back_the_new_version(old: bytes, new: bytes) -> None:
    assert apply_delta(old, make_delta(old, new)) == new


@given(lines, lines)
def test_also_for_texts_that_share_lines(old: bytes, new: bytes) -> None:
    assert apply_delta(old, make_delta(old, new)) == new
    encoding, _, body = pack(new, old)
    assert unpacked("topic", 2, encoding, body, old) == new


def test_edits_in_several_places_stay_small() -> None:
    old = b"".join(b"line %d of the document\n" % n for n in range(1000))
    new = old.replace(b"line 10 ", b"LINE 10 ").replace(b"line 900 ", b"LINE 900 ")
    assert len(make_delta(old, new)) < 100


def test_a_large_rewrite_is_bounded_work() -> None:
    generator = random.Random(1)
    old, new = generator.randbytes(10_000_000), generator.randbytes(10_000_000)
    assert apply_delta(old, make_delta(old, new)) == new


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_a_damaged_delta_is_refused_or_gives_bytes(old: bytes, delta: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(apply_delta(old, delta), bytes)


def test_a_delta_without_its_parent_is_refused() -> None:
    encoding, depth, body = pack(b"a" * 100 + b"b", b"a" * 100)
    assert depth == 1
    with pytest.raises(Corrupt, match="parent of a delta is missing"):
        unpacked("topic", 2, encoding, body, None)
