"""Checkpoints that somebody else wrote: reading them runs nothing, ends, and is one sentence."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ormsgpack
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send
from shell import Shell

import hades
from hades.agents.chat import Chat
from hades.agents.checkpointer import BYTES_AT_MOST, SPACE, HadesCheckpointer
from hades.agents.plain_serializer import NESTED_AT_MOST, PlainSerializer

ID = "1f000000-0000-6000-8000-000000000000"
OTHER_KEYS = ormsgpack.OPT_NON_STR_KEYS


def _object(code: int, *fields: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb(fields))


def _saved(messages: Any, parent: str | None = None, **fields: Any) -> bytes:
    """Return a whole checkpoint of a chat, with some fields replaced."""
    checkpoint = {**empty_checkpoint(), "id": ID, "channel_values": {"messages": messages}}
    return ormsgpack.packb((checkpoint | fields, {}, parent), option=OTHER_KEYS)


def _nested(depth: int) -> bytes:
    """Return snapshots in lists in snapshots and so on: each level takes more of the stack."""
    body = b"\xc0"
    for _ in range(depth):
        body = b"\x91" * 1_000 + body
        body = b"\xc9" + len(body).to_bytes(4, "big") + b"\x07" + body
    return body


def _put(memory: hades.Memory, body: bytes, topic: str = "", **metadata: Any) -> None:
    """Store a body as a checkpoint of the thread `chat`."""
    if SPACE not in {space.name for space in memory.spaces()}:
        memory.create_space(SPACE)
    data = base64.b85encode(zlib.compress(body)).decode()
    fields = {"type": "msgpack", "parts": 1, "data": data} | metadata
    topic = topic or f"c/{quote(f'{memory.space}/chat', safe='')}/+/{ID}"
    memory.in_space(SPACE).remember(topic, "", metadata=fields, kind="document")


RUNS = [
    *(_object(code, "os", "system", "touch {}") for code in (0, 4, 5)),
    _object(1, "os", "system", ["touch {}"]),
    _object(2, "os", "system", {"command": "touch {}"}),
    _object(3, "os", "path", "touch {}", "os.system"),
    _object(3, "os", "sys", "touch {}", "exit"),
    _object(0, "builtins", "set", [_object(0, "os", "system", "touch {}")]),
]


@pytest.mark.parametrize("number", range(len(RUNS)))
def test_a_checkpoint_runs_no_command(
    path: Path, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with hades.open(path) as memory:
        _put(memory, _saved([{"role": "user", "content": RUNS[number]}]))
        for use in (lambda: Chat(memory).messages, lambda: Chat(memory).say("Who leads Atlas?")):
            with pytest.raises(hades.Corrupt, match="cannot be read"):
                use()
    assert not (tmp_path / "{}").exists()


def test_an_import_followed_by_chat_runs_no_command(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    with hades.open(tmp_path / "theirs.hades") as memory:
        _put(memory, _saved([_object(1, "posix", "system", [f"touch {marker}"])]))
        memory.export(tmp_path / "all.jsonl")
    shell = Shell(tmp_path / "ours.hades")
    shell("import", str(tmp_path / "all.jsonl"))
    result = shell.run("chat", "--show")
    assert result.exit_code == 2
    assert "posix.system is not a class of plain data" in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not marker.exists()


MESSAGE = {"role": "user", "content": "Hello"}
ZEROS = b"\0" * (2 * BYTES_AT_MOST)
HARMFUL: dict[str, tuple[bytes, dict[str, Any]]] = {
    "a bomb": (ZEROS, {}),
    "a bomb after a whole checkpoint": (_saved([MESSAGE]) + ZEROS, {}),
    "values in values": (_nested(NESTED_AT_MOST + 90), {}),
    "a slow expression": (_saved([_object(1, "re", "compile", ["[\0-\U0010ffff]" * 9, 2])]), {}),
    "keys that may collide": (_saved([{(1.0, 2.0): 3}]), {}),
    "a set that may collide": (
        _saved([_object(0, "builtins", "set", [_object(0, "a", "b", 1)])]),
        {},
    ),
    "an object of LangChain": (
        json.dumps({"lc": 1, "type": "secret", "id": ["HOME"]}).encode(),
        {"type": "json"},
    ),
    "a pickle": (b"cos\nsystem\n(S'touch ran'\ntR.", {"type": "pickle"}),
    "no data": (b"", {"data": 7}),
    "other data": (b"", {"data": "~~~~"}),
    "no parts": (b"", {"parts": "x" * 1_000}),
    "a billion parts": (_saved([MESSAGE]), {"parts": 10**9}),
    "a list": (ormsgpack.packb([]), {}),
    "numbers": (ormsgpack.packb([1, 2, 3]), {}),
    "no versions": (_saved([MESSAGE], channel_versions=None), {}),
    "versions in words": (_saved([MESSAGE], channel_versions={"messages": "one"}), {}),
    "another id": (_saved([MESSAGE], id="other"), {}),
    "its own parent": (_saved([MESSAGE], parent=ID), {}),
    "a parent that comes later": (_saved([MESSAGE], parent="2" + ID), {}),
    "a message of numbers": (_saved([{"role": "user", "content": 7}]), {}),
    "a message of a word": (_saved(["Hello"]), {}),
    "messages of a word": (_saved("Hello"), {}),
}


@pytest.mark.parametrize("what", HARMFUL)
def test_a_checkpoint_that_cannot_be_read_is_one_sentence(path: Path, what: str) -> None:
    body, metadata = HARMFUL[what]
    with hades.open(path) as memory:
        _put(memory, body, **metadata)
        for use in (lambda: Chat(memory).messages, lambda: Chat(memory).say("Who leads Atlas?")):
            with pytest.raises(hades.Corrupt) as refused:
                use()
            assert "\n" not in str(refused.value)
            assert len(str(refused.value)) < 400
        HadesCheckpointer(memory).delete_thread(f"{memory.space}/chat")
        assert Chat(memory).say("Hello").text


def _say_after(path: Path, write: Any) -> str:
    """Add a write to the checkpoint of a chat, go on with the chat, and return the reply."""
    with hades.open(path) as memory:
        talk = Chat(memory)
        talk.say("Hello")
        (name,) = (topic.name for topic in memory.in_space(SPACE).topics("c/*"))
        body = JsonPlusSerializer().dumps_typed([write])[1]
        _put(memory, body, topic=f"w/{name.removeprefix('c/')}/task")
        return talk.say("Hello again").text


@pytest.mark.parametrize(
    "write",
    [
        [1, "", "task", "messages", "not a list"],
        [-1, "", "task", "__error__", "failed"],
        [0, "", "task", "__pregel_tasks", Send("reply", "x")],
        [0, "", "task", "branch:to:reply", None],
        [0, "", "task", "no_such_channel", None],
    ],
)
def test_a_chat_goes_on_whatever_writes_somebody_added(path: Path, write: Any) -> None:
    assert _say_after(path, write)


@pytest.mark.parametrize(
    "write", [[0, "", 7, "messages", None], ["0", "", "task", "messages", None], 7]
)
def test_writes_that_cannot_be_read_are_one_sentence(path: Path, write: Any) -> None:
    with pytest.raises(hades.Corrupt, match="its fields are not those of a checkpoint"):
        _say_after(path, write)


def test_a_large_state_is_refused_before_it_is_written(path: Path) -> None:
    with hades.open(path) as memory:
        saver = HadesCheckpointer(memory)
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for value, said in (
            ("a" * BYTES_AT_MOST, "larger than"),
            ({1: "a"}, "strings as keys"),
            (Shell(path), "cannot hold this state"),
            (JsonPlusSerializer, "cannot hold this state"),
        ):
            checkpoint: Any = {**empty_checkpoint(), "channel_values": {"value": value}}
            with pytest.raises(hades.InvalidInput, match=said):
                saver.put(config, checkpoint, {}, {})
        assert SPACE not in {space.name for space in memory.spaces()}


def test_plain_data_messages_and_tasks_are_read_as_they_were_written() -> None:
    serializer = PlainSerializer()
    call: Any = {"name": "find", "args": {"what": "x"}, "id": "1", "type": "tool_call"}
    value = {
        "words": {"a", "b"},
        "tasks": [Send("reply", {"messages": [AIMessage("Hello", tool_calls=[call])]})],
        "numbers": [1, 2.5, None, True, b"\0"],
    }
    assert serializer.loads_typed(serializer.dumps_typed(value)) == value
