"""A client says the same words as a memory: every method, every argument."""

from __future__ import annotations

import inspect
import types
from typing import Any

import pytest

import hades
from hades.client.client import RemoteView

NARROWER = {"at", "in_space", "snapshot"}
"""They give more of the same kind, or nothing: a remote view, a client."""

IN_MEMORY_ONLY = {
    "examine": "features are for training a ranker, beside the file",
    "once": "every write of a client has a key of its own",
}
"""What a client has a method for that only says why it does not do it."""


def _public(kind: type) -> dict[str, Any]:
    found = inspect.getmembers_static(kind)
    return {name: member for name, member in found if not name.startswith("_")}


def test_a_client_has_what_a_memory_has() -> None:
    for embedded, remote in ((hades.View, RemoteView), (hades.Memory, hades.Client)):
        for name, theirs in _public(embedded).items():
            ours = _public(remote)[name]
            assert type(theirs) is type(ours), name
            assert ours.__doc__, name
            if isinstance(theirs, property):
                continue
            assert ours is not theirs, f"Client.{name} would look for a file: send it to a server"
            assert isinstance(ours, types.FunctionType)
            mine, yours = inspect.signature(ours), inspect.signature(theirs)
            assert list(mine.parameters.values())[1:] == list(yours.parameters.values())[1:], name
            assert name in NARROWER or mine.return_annotation == yours.return_annotation, name


def test_nothing_of_a_client_needs_a_store() -> None:
    """What it inherits and does not send is only what needs no memory at all."""
    inherited = {
        name
        for name, member in _public(hades.Client).items()
        if any(_public(kind).get(name) is member for kind in (hades.Memory, hades.View))
    }
    assert not inherited


def test_a_client_has_nothing_more() -> None:
    assert set(_public(hades.Client)) == set(_public(hades.Memory)) | set(IN_MEMORY_ONLY)
    assert set(_public(RemoteView)) == set(_public(hades.View))


def test_it_is_a_memory_to_whoever_asks(server: Any, path: Any) -> None:
    def titles(memory: hades.Memory) -> list[str]:
        return [topic.name for topic in memory.topics()]

    with hades.open(path) as memory:
        memory.remember("a", "one")
        assert titles(memory) == ["a"]
    with server.serving(path), hades.open(server.address) as client:
        assert isinstance(client, hades.Client)
        assert isinstance(client, hades.Memory)
        assert isinstance(client.at("2024"), hades.View)
        assert titles(client) == ["a"]


def test_what_only_a_memory_does_says_why(server: Any, path: Any) -> None:
    with server.serving(path), hades.open(server.address) as client:
        with pytest.raises(hades.Unavailable, match="train"):
            client.examine("why?")
        with pytest.raises(hades.Unavailable, match="call the write itself"):
            client.once("key", "request", lambda: None)
        with pytest.raises(hades.Unavailable, match="known="):
            client.snapshot()
