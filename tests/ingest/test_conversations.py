"""Conversations: a session is a document, a turn a block, in every form of export."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hades.ingest.document import Bad, Document, IntroducedName, Link, Origin, Unreadable
from hades.ingest.readers.chats import looks_like_chat, read_chats

AN_HOUR = 3600


def write(folder: Path, name: str, value: object) -> Path:
    """A text as it is, a list as JSON lines for `.jsonl`, anything else as JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, list) and name.endswith(".jsonl"):
        value = "".join(json.dumps(row) + "\n" for row in value)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def read(path: Path) -> list[Document]:
    """The documents of a file that is recognised and without fault."""
    assert looks_like_chat(path)
    items = list(read_chats(path, "chats"))
    assert [item for item in items if isinstance(item, Bad)] == []
    documents = [item for item in items if isinstance(item, Document)]
    for document in documents:
        assert [document.content[b.start : b.end] for b in document.blocks] == turns(document)
    return documents


def turns(document: Document) -> list[str]:
    """The paragraphs, where no turn has blank lines of its own."""
    return document.content.split("\n\n")


def turn(number: int, **more: object) -> dict[str, object]:
    return {
        "id": f"0/D1:{number}",
        "conversation": 0,
        "session": "session_3",
        "when": "1:56 pm on 8 May, 2023",
        "speaker": "Caroline" if number % 2 else "Melanie",
        "text": f"Turn {number}.",
        **more,
    }


def test_turns_of_a_session_become_blocks_of_a_document(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, "turns.jsonl", [turn(1), turn(2), turn(3)]))
    assert (document.topic, document.kind) == ("chats/0/session_3", "conversation")
    assert turns(document) == [
        "[2023-05-08 13:56] Caroline: Turn 1.",
        "[2023-05-08 13:56] Melanie: Turn 2.",
        "[2023-05-08 13:56] Caroline: Turn 3.",
    ]
    assert document.valid_from == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    first = document.blocks[0]
    assert first.whole
    assert first.heading == "conversation 0, session 3, 2023-05-08"
    assert first.names == (IntroducedName("Caroline", Origin.SPEAKER, "person"),)
    assert document.links == (
        Link("topic:chats/0/session_3", "participant", "Caroline", block=0),
        Link("topic:chats/0/session_3", "participant", "Melanie", block=1),
    )
    assert document.metadata == {
        "participants": ["Caroline", "Melanie"],
        "turns": 3,
        "started": "2023-05-08T13:56:00Z",
        "turn_ids": ["0/D1:1", "0/D1:2", "0/D1:3"],
    }


def test_sessions_that_are_mixed_in_the_file_are_told_apart(tmp_path: Path) -> None:
    rows = [turn(1, session=1), turn(2, session=2), turn(3, session=1), turn(4, conversation="b")]
    documents = read(write(tmp_path, "turns.jsonl", rows))
    assert {d.topic: len(d.blocks) for d in documents} == {
        "chats/0/1": 2,
        "chats/0/2": 1,
        "chats/b/session_3": 1,
    }
    assert documents[0].blocks[0].heading == "conversation 0, session 1, 2023-05-08"


def test_little_is_needed(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, "talk.jsonl", [{"speaker": "Ann", "text": "Hi."}]))
    assert (document.topic, document.content) == ("chats/talk", "Ann: Hi.")
    assert document.blocks[0].heading == "talk"
    assert document.valid_from is None
    assert document.metadata == {"participants": ["Ann"], "turns": 1}


def test_a_time_that_cannot_be_read_is_kept_as_text(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, "t.jsonl", [turn(1, when="after lunch")]))
    assert document.content == "[after lunch] Caroline: Turn 1."
    assert (document.valid_from, document.metadata["started"]) == (None, "after lunch")


def test_bad_turns_are_named_and_reading_goes_on(tmp_path: Path) -> None:
    good = json.dumps(turn(1)) + "\n"
    text = (
        '{"speaker": \n'
        + good
        + json.dumps(turn(2, text=""))
        + "\n"
        + json.dumps(turn(3, speaker=[1]))
    )
    path = write(tmp_path, "t.jsonl", text)
    assert looks_like_chat(path)
    *bads, document = read_chats(path, "chats")
    assert isinstance(document, Document)
    assert len(document.blocks) == 1
    assert [(bad.where, bad.why) for bad in bads if isinstance(bad, Bad)][1:] == [
        (f"{path}, line 3", "A turn needs a speaker and a text."),
        (f"{path}, line 4", "The field 'speaker' is a list, not text."),
    ]
    assert len(bads) == 3


def chatgpt(**more: object) -> dict[str, Any]:
    def node(name: str, parent: str | None, role: str, text: str, **message: object) -> Any:
        return {
            "id": name,
            "parent": parent,
            "children": [],
            "message": {
                "id": name,
                "author": {"role": role},
                "create_time": 1683550000 + AN_HOUR,
                "content": {"content_type": "text", "parts": [text]},
                **message,
            },
        }

    nodes = [
        {"id": "root", "parent": None, "children": ["s"], "message": None},
        node("s", "root", "system", "Be kind."),
        node("u", "s", "user", "Why not approach X?"),
        node("old", "u", "assistant", "A first answer, regenerated."),
        node("call", "u", "assistant", "search()", recipient="browser"),
        node(
            "hidden", "call", "user", "x", metadata={"is_visually_hidden_from_conversation": True}
        ),
        node("new", "hidden", "assistant", "It triggers bug Y."),
    ]
    mapping = {node["id"]: node for node in nodes}
    return {"id": "c1", "title": "Approach X", "mapping": mapping, "current_node": "new", **more}


def test_chatgpt_follows_the_current_branch(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, "conversations.json", [chatgpt()]))
    assert (document.topic, document.title) == ("chats/c1", "Approach X")
    assert turns(document) == [
        "[2023-05-08 13:46] user: Why not approach X?",
        "[2023-05-08 13:46] assistant: It triggers bug Y.",
    ]
    assert document.blocks[0].heading == "Approach X, 2023-05-08"
    assert document.metadata["turn_ids"] == ["u", "new"]


def test_a_role_is_not_a_name(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, "conversations.json", [chatgpt()]))
    assert document.blocks[0].names == ()
    assert document.links == ()
    assert document.metadata["participants"] == ["user", "assistant"]


def test_chatgpt_trees_that_are_damaged(tmp_path: Path) -> None:
    loop = chatgpt(id="c2")
    loop["mapping"]["s"]["parent"] = "new"
    lost = chatgpt(id="c3", current_node="nowhere")
    path = write(tmp_path, "conversations.json", [loop, lost, {"title": "x"}, chatgpt(id=None)])
    items = list(read_chats(path, "chats"))
    assert [item.topic for item in items if isinstance(item, Document)] == ["chats/c2", "chats/c3"]
    assert [item.why for item in items if isinstance(item, Bad)] == [
        "This is not a conversation with a `mapping` of messages.",
        "The conversation has no id.",
    ]


def test_claude_export(tmp_path: Path) -> None:
    chat = {
        "uuid": "c-1",
        "name": "",
        "created_at": "2024-03-01T10:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Hello",
                "created_at": "2024-03-01T10:01:00Z",
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Hi."},
                    {"type": "tool_use", "name": "search"},
                ],
            },
        ],
    }
    (document,) = read(write(tmp_path, "conversations.json", [chat]))
    assert document.topic == "chats/c-1"
    assert turns(document) == [
        "[2024-03-01 10:01] human: Hello",
        "[2024-03-01 10:00] assistant: Hi.",
    ]


def test_message_lists(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "name": "Ann", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "42"},
    ]
    expected = ["Ann: Hello", "assistant: Hi."]
    (alone,) = read(write(tmp_path, "chat.json", messages))
    assert (alone.topic, turns(alone)) == ("chats/chat", expected)
    assert alone.links == (Link("topic:chats/chat", "participant", "Ann", block=0),)
    (one_a_line,) = read(write(tmp_path, "lines.jsonl", messages))
    assert turns(one_a_line) == expected
    listed = read(
        write(tmp_path, "many.jsonl", [{"messages": messages}, {"id": "x", "messages": messages}])
    )
    assert [document.topic for document in listed] == ["chats/many/1", "chats/x"]
    assert turns(listed[1]) == expected


def test_claude_code_transcript(tmp_path: Path) -> None:
    def line(
        kind: str, content: object, message: dict[str, object] | None = None, **more: object
    ) -> object:
        return {
            "type": kind,
            "sessionId": "s-1",
            "uuid": f"u{content}"[:5],
            "timestamp": "2025-06-01T08:00:00.000Z",
            "message": {"role": kind, "content": content, **(message or {})},
            **more,
        }

    rows = [
        {"type": "summary", "summary": "Fixing bug Y", "leafUuid": "x"},
        line("user", "Caveat: inserted.", isMeta=True),
        line("user", "<command-name>/clear</command-name>"),
        line("user", "Fix bug Y.<system-reminder>be brief</system-reminder>"),
        line("assistant", [{"type": "thinking", "thinking": "hm"}], {"id": "m1"}),
        line("assistant", [{"type": "text", "text": "Looking."}], {"id": "m1"}),
        line("assistant", [{"type": "tool_use", "name": "Read", "input": {}}], {"id": "m1"}),
        line("user", [{"type": "tool_result", "content": "file"}]),
        line(
            "assistant", [{"type": "text", "text": "A side task."}], {"id": "m9"}, isSidechain=True
        ),
        line("assistant", [{"type": "text", "text": "Fixed."}], {"id": "m2"}),
    ]
    (document,) = read(write(tmp_path, "s-1.jsonl", rows))
    assert document.topic == "chats/s-1"
    assert turns(document) == [
        "[2025-06-01 08:00] user: Fix bug Y.",
        "[2025-06-01 08:00] assistant: Looking.",
        "[2025-06-01 08:00] assistant: Fixed.",
    ]


def test_parts_of_one_answer_are_one_turn(tmp_path: Path) -> None:
    def part(text: str) -> object:
        message = {"id": "m1", "content": [{"type": "text", "text": text}]}
        return {"type": "assistant", "sessionId": "s", "message": message}

    path = write(tmp_path, "s.jsonl", [part("One."), part("Two.")])
    (document,) = read_chats(path, "chats")
    assert isinstance(document, Document)
    assert document.content == "assistant: One.\n\nTwo."
    assert len(document.blocks) == 1


ANDROID = """\
12/30/23, 9:15\u202fPM - Messages and calls are end-to-end encrypted.
12/30/23, 9:15\u202fPM - Ann: Hello: see https://example.org
and a second line
12/31/23, 12:05\u202fAM - Bob Ray: <Media omitted>
12/31/23, 12:06\u202fAM - Bob Ray: Hi!
"""
IOS = """\
\u200e[05/01/2024, 21:15:33] Ann: Hello
[06/01/2024, 08:00:00] Bob: \u200eimage omitted
[13/01/2024, 08:00:00] Bob: Hi
"""


def test_whatsapp_from_android(tmp_path: Path) -> None:
    first, second = read(write(tmp_path, "WhatsApp Chat with Ann.txt", ANDROID))
    assert first.topic == "chats/Ann/2023-12-30"
    assert first.content == (
        "[2023-12-30 21:15] Ann: Hello: see https://example.org\nand a second line"
    )
    assert first.blocks[0].heading == "Ann, 2023-12-30"
    assert second.content == "[2023-12-31 00:06] Bob Ray: Hi!"


def test_whatsapp_from_ios(tmp_path: Path) -> None:
    first, second = read(write(tmp_path, "family/_chat.txt", IOS))
    assert [first.topic, second.topic] == ["chats/family/2024-01-05", "chats/family/2024-01-13"]
    assert first.content == "[2024-01-05 21:15] Ann: Hello"


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (("03/04/2023", "04/04/2023"), ["2023-04-03", "2023-04-04"]),
        (("03/04/2023", "03/14/2023"), ["2023-03-04", "2023-03-14"]),
        (("03.04.23",), ["2023-04-03"]),
        (("2023/04/03",), ["2023-04-03"]),
    ],
)
def test_whatsapp_days_have_the_day_first_unless_that_cannot_be(
    tmp_path: Path, dates: tuple[str, ...], days: list[str]
) -> None:
    text = "".join(f"{date}, 10:0{n} - Ann: Hi {n}\n" for date in dates for n in (1, 2))
    documents = read(write(tmp_path, "chat.txt", text))
    assert [document.topic.rsplit("/", 1)[1] for document in documents] == days


SLACK_USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray"},
]
SLACK_MESSAGES: list[dict[str, object]] = [
    {"user": "U2", "text": "&lt;3 <https://x.org|this>", "ts": "1683553600.000200"},
    {"user": "U1", "text": "<@U2> see <#C1|general>", "ts": "1683550000.000100"},
    {"user": "U1", "text": "joined", "ts": "1683540000.0", "subtype": "channel_join"},
    {"user": "U3", "text": "Who am I?", "ts": "1683553700.000200"},
    {"user": "U4", "text": "I am Eve.", "ts": "1683553800.000200", "user_profile": {"name": "eve"}},
    {"bot_id": "B1", "username": "robot", "text": "beep", "ts": "1683553900.000200"},
    {"user": "U1", "text": "", "ts": "1683554000.000200", "files": []},
]
SLACK_DAY = [{"type": "message", **message} for message in SLACK_MESSAGES]


def test_slack_export(tmp_path: Path) -> None:
    write(tmp_path, "users.json", SLACK_USERS)
    day = write(tmp_path, "general/2023-05-08.json", SLACK_DAY)
    write(tmp_path, "general/2023-05-09.json", SLACK_DAY[:1])
    write(tmp_path, "empty/2023-05-09.json", [])
    first, second = read(tmp_path)
    assert [first.topic, second.topic] == ["chats/general/2023-05-08", "chats/general/2023-05-09"]
    assert turns(first) == [
        "[2023-05-08 12:46] Ann Lee: @Bob Ray see #general",
        "[2023-05-08 13:46] Bob Ray: <3 this (https://x.org)",
        "[2023-05-08 13:48] U3: Who am I?",
        "[2023-05-08 13:50] eve: I am Eve.",
        "[2023-05-08 13:51] robot: beep",
    ]
    assert first.blocks[0].heading == "general, 2023-05-08"
    assert read(day) == [first]
    assert read(tmp_path / "general") == [first, second]


def test_a_broken_list_of_users_is_said(tmp_path: Path) -> None:
    write(tmp_path, "users.json", "[{")
    write(tmp_path, "general/2023-05-08.json", SLACK_DAY)
    with pytest.raises(Unreadable, match=r"users\.json is not JSON"):
        list(read_chats(tmp_path, "chats"))


def test_a_broken_day_does_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path, "users.json", SLACK_USERS)
    broken = write(tmp_path, "general/2023-05-07.json", "[{")
    write(tmp_path, "general/2023-05-08.json", SLACK_DAY)
    bad, document = read_chats(tmp_path, "chats")
    assert isinstance(bad, Bad)
    assert bad.where == str(broken)
    assert isinstance(document, Document)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("corpus.jsonl", '{"id": "1", "title": "T", "text": "t"}\n'),
        ("talks.jsonl", '{"id": "1", "title": "T", "speaker": "Ann", "text": "t"}\n'),
        ("staff.json", '[{"name": "Ann", "role": "engineer"}]'),
        ("triples.jsonl", '{"subject": "a", "predicate": "b", "object": "c"}\n'),
        ("settings.json", '{"mapping": {"a": 1}}'),
        ("notes.txt", "Ann: hello\nBob: hi\n"),
        ("app.txt", "[2023-05-08 13:56:01] INFO: start\n[2023-05-08 13:56:02] INFO: stop\n"),
        ("app.txt", "2023-05-08 13:56:01 - INFO: start\n2023-05-08 13:56:02 - INFO: stop\n"),
        ("empty.jsonl", ""),
        ("prose.md", "[link](x) said: hello"),
    ],
)
def test_other_files_are_no_conversations(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, name, text)
    assert not looks_like_chat(path)
    with pytest.raises(Unreadable, match="not a conversation"):
        list(read_chats(path, "chats"))


def test_other_folders_are_no_conversations(tmp_path: Path) -> None:
    write(tmp_path, "sub/2023-05-08.json", [])
    assert not looks_like_chat(tmp_path)
    with pytest.raises(Unreadable, match="cannot be read"):
        list(read_chats(tmp_path / "none.json", "chats"))
