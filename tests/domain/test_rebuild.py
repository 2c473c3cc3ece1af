"""Every object that goes out as JSON comes back the same."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hades
from hades.domain.plain import plain
from hades.domain.rebuild import rebuild
from hades.ingest.summary import Summary

KINDS = [
    kind
    for kind in (*(getattr(hades, name) for name in hades.__all__), Summary)
    if dataclasses.is_dataclass(kind) and kind is not hades.PathScoring  # it is never sent
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
st.register_type_strategy(
    datetime, st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


def made(kind: Any) -> st.SearchStrategy[Any]:
    """Any object of a type: where anything may stand, anything JSON can say."""
    hints = {
        field.name: JSON_OBJECT if "Mapping[str, Any]" in str(field.type) else ...
        for field in dataclasses.fields(kind)
        if field.init
    }
    if kind is hades.Diff:
        hints["fields"] = st.fixed_dictionaries(
            {},
            optional={
                "tags": st.tuples(TAGS, TAGS),
                "confidence": st.tuples(SHARE, SHARE),
                "metadata": st.tuples(JSON_OBJECT, JSON_OBJECT),
            },
        )
    return st.builds(kind, **hints)


JSON_OBJECT = st.dictionaries(st.text(max_size=5), JSON, max_size=3)
TAGS = st.lists(st.text(max_size=5), max_size=3).map(tuple)
SHARE = st.floats(0, 1)

for _kind in KINDS:
    st.register_type_strategy(_kind, made)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=5, suppress_health_check=list(HealthCheck))  # an `Answer` is large
@given(data=st.data())
def test_what_goes_out_comes_back(kind: Any, data: st.DataObject) -> None:
    thing = data.draw(made(kind))
    assert rebuild(kind, json.loads(json.dumps(plain(thing)))) == thing


def test_lists_come_back_too() -> None:
    nodes = [hades.Node("topic", "a"), hades.Node("entity", "b")]
    assert rebuild(list[hades.Node], plain(nodes)) == nodes


def test_another_version_may_say_more_or_less() -> None:
    assert rebuild(hades.Entity, {"name": "Ann", "colour": "red"}) == hades.Entity("Ann")
    with pytest.raises(hades.InvalidInput, match="not a valid Node"):
        rebuild(hades.Node, {"kind": "topic"})
    with pytest.raises(hades.InvalidInput, match="not a valid Node"):
        rebuild(hades.Node, None)


def test_a_recall_of_a_real_memory_comes_back(memory: hades.Memory) -> None:
    memory.remember("bugs/y", "Bug Y corrupts data on restart.", tags=["bug"])
    memory.relate("design/x", "rejected_because", "bugs/y")
    found = memory.recall("Why was design/x rejected?")
    assert rebuild(hades.Recall, json.loads(json.dumps(plain(found)))) == found
