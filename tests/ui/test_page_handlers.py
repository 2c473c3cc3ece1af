"""The functions of pages that write, called directly as no button would call them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import threading
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

import hades
import hades.ui.pages
from hades.errors import Conflict, Denied, InvalidInput, NotFound
from hades.operations.declare import OPERATIONS
from hades.serve.auth.browsers import Addition
from hades.serve.auth.caller import Role
from hades.serve.sent_files import BYTES_AT_MOST, FILES_AT_MOST
from hades.serve.write_groups import NamedWrite, WriteGroup
from hades.store.records import Progress
from hades.ui.calls import Visitor
from hades.ui.frame import Frame
from hades.ui.pages import add, ask, keys, review, topics
from tests.ui.visiting import CalledMemory, called


class File:
    """A file as a browser sends it, which pretends to have a size."""

    def __init__(self, name: str, size: int = 3) -> None:
        self.name, self._size = name, size

    def size(self) -> int:
        return self._size

    async def save(self, path: str | Path, /) -> None:
        Path(path).parent.mkdir(parents=True)
        Path(path).write_text("# Walrus\n\nIt has tusks.")


APPROVING = WriteGroup(["a"], [("approve", {"proposal": 1})])


async def _draw(_frame: Frame) -> None: ...


def framed(visitor: Visitor, space: str = "default") -> Frame:
    return Frame(visitor, "/", {"space": space}, _draw, Role.READER)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CalledMemory]:
    site = CalledMemory(tmp_path_factory.mktemp("handlers"))
    writer = site.visitor(Role.WRITER)
    for content in ("Ann lives in Oslo.", "Ann lives in Rome."):
        asyncio.run(writer.call("remember", "default", topic="a", content=content))
    yield site
    site.close()


def _handlers(frame: Frame) -> dict[str, Coroutine[Any, Any, object]]:
    """Every function of a page that writes, called as a visitor without rights would."""
    note = {"topic": "a", "content": "changed", "kind": "note"}
    state = asyncio.run(frame.visitor.call("get", "default", topic="a", version=1))
    return {
        "add.write_note": add.write_note(frame, note),
        "add.undo_addition": add.undo_addition(frame, Addition("default", "", {"a": 2})),
        "ask.give_feedback": ask.give_feedback(frame, "x", "passage:1", True),
        "topics.restore": topics.restore(frame, state, 2),
        "Visitor.make": frame.visitor.make("default", APPROVING),
        "map._organise": frame.call_now("organise"),
        "Visitor.add_files": frame.visitor.add_files("default", [File("walrus.md")]),
        "Visitor.cancel_job": frame.visitor.cancel_job("default", "x"),
        "Visitor.create_space": frame.visitor.create_space("new"),
        "Visitor.drop_space": frame.visitor.drop_space("other"),
        "Visitor.keys": frame.visitor.keys(),
        "Visitor.create_key": frame.visitor.create_key("new", Role.ADMIN, None),
        "Visitor.revoke_key": frame.visitor.revoke_key("reader-0"),
    }


def test_a_reader_who_calls_the_handlers_is_refused_and_nothing_is_written(
    site: CalledMemory,
) -> None:
    frame = framed(site.visitor(Role.READER))
    before = site.executor.memory.change, [(key.name, key.role) for key in site.keys.listed()]
    for name, call in _handlers(frame).items():
        with pytest.raises(Denied) as refused:
            asyncio.run(call)
        assert "needs the role" in str(refused.value), name
    assert (
        site.executor.memory.change,
        [(key.name, key.role) for key in site.keys.listed()],
    ) == before
    assert not list(Path(site.executor.uploads or "").glob("*"))


def test_nothing_else_on_a_page_writes(site: CalledMemory) -> None:
    """A new function that writes must be named in `_handlers`."""
    calls = _handlers(framed(site.visitor(Role.READER)))
    for call in calls.values():
        call.close()
    methods = [name for name, _ in inspect.getmembers(Visitor, inspect.iscoroutinefunction)]
    writing = {name for name in methods if not name.startswith("_")} - {
        "call",
        "spaces",
        "measured",
    }
    named = {f"Visitor.{name}" for name in writing}
    for path in Path(inspect.getfile(hades.ui.pages)).parent.glob("*.py"):
        for function in ast.parse(path.read_text()).body:
            if any(_writes(node) for node in ast.walk(function)):
                named.add(f"{path.stem}.{function.name}")  # type: ignore[attr-defined]
    assert named - {"graph._or_none"} == set(calls)


def _writes(node: ast.AST) -> bool:
    """Whether a node calls an operation that writes, or one that it is given."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return False
    name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    calls = node.func.attr in ("call", "call_now")
    return calls and (not isinstance(name, str) or OPERATIONS[name].writes)


def test_limits_are_checked_on_the_server(site: CalledMemory) -> None:
    frame = framed(site.visitor(Role.WRITER))
    before = site.executor.memory.change
    many = [File(f"{number}.md") for number in range(FILES_AT_MOST + 1)]
    for files in (many, [File("a.md", BYTES_AT_MOST), File("b.md", 1)]):
        with pytest.raises(InvalidInput, match="At most 50 files and 30 MB"):
            asyncio.run(add.send_files(frame, files))
    for given in ({"content": "x" * 500_001}, {"too_large": 10_000_000}):
        with pytest.raises(InvalidInput, match="too much to paste"):
            asyncio.run(add.write_note(frame, {"topic": "huge", **given}))
    with pytest.raises(InvalidInput, match="not a valid file path"):
        asyncio.run(add.send_files(frame, [File("../a.md")]))
    assert site.executor.memory.change == before
    assert not frame.visitor.session.additions


def test_an_addition_is_kept_in_the_session_and_undone_once(site: CalledMemory) -> None:
    frame = framed(site.visitor(Role.WRITER))
    memory = site.executor.memory
    given = {"topic": "pets/*otter[1]", "content": "It eats.", "valid_from": "2024-05-01"}
    first = asyncio.run(add.write_note(frame, given))
    assert first is not None
    assert asyncio.run(add.write_note(frame, given)) is None
    again = asyncio.run(add.write_note(frame, {**given, "content": "It naps.", "kind": "document"}))
    assert list(frame.visitor.session.additions) == [first, again]
    with pytest.raises(Conflict):
        asyncio.run(add.undo_addition(frame, first))
    assert again is not None
    asyncio.run(add.undo_addition(frame, again))
    assert (again.written, again.undone) == ({}, 1)
    assert memory.at("2024-06").get("pets/*otter[1]").content == "It eats."
    assert memory.topics("pets/*", kind="note"), "the kind of a topic stays"


@pytest.mark.slow
def test_dropped_files_are_read_and_their_undo_is_exact(site: CalledMemory) -> None:
    async def sent() -> Addition:
        addition = await add.send_files(frame, [File("walrus.md")])
        while addition.job is not None and not addition.job.ended:
            await asyncio.sleep(0.01)
        return addition

    frame = framed(site.visitor(Role.WRITER))
    addition = asyncio.run(sent())
    assert addition.job is not None
    addition.written = addition.job.result["written"]
    assert list(addition.written) == ["walrus.md"]
    asyncio.run(add.undo_addition(frame, addition))
    with pytest.raises(NotFound):
        site.executor.memory.get("walrus.md")


def test_a_writer_cancels_a_job_of_their_own(site: CalledMemory) -> None:
    writer, other = site.visitor(Role.WRITER), site.visitor(Role.WRITER)
    begun, cancelled = threading.Event(), threading.Event()

    def work(_memory: hades.Memory, report: Progress) -> None:
        begun.set()
        cancelled.wait(60)
        report("reading", 1, 2)

    assert site.calls.jobs is not None
    job = site.calls.jobs.start(writer.caller, "default", "ingest", work)
    begun.wait(60)
    with pytest.raises(NotFound):
        asyncio.run(other.cancel_job("default", job.id))
    asyncio.run(writer.cancel_job("default", job.id))
    cancelled.set()
    while not job.ended:
        time.sleep(0.01)
    assert [(shown.id, shown.status) for shown in writer.jobs("default")] == [(job.id, "cancelled")]


def test_a_space_is_dropped_only_by_its_name(site: CalledMemory) -> None:
    frame = framed(site.visitor(Role.ADMIN), "../<script>")
    asyncio.run(frame.visitor.create_space("../<script>"))
    with pytest.raises(InvalidInput, match="not the name"):
        asyncio.run(keys.drop_space(frame, "../<script>", {"typed": "script"}))
    asyncio.run(keys.drop_space(frame, "../<script>", {"typed": "../<script>"}))
    assert [space.name for space in asyncio.run(frame.visitor.spaces())] == ["default"]
    assert frame.space == ""


def test_a_restore_hides_nothing_that_was_written_meanwhile(site: CalledMemory) -> None:
    frame = framed(site.visitor(Role.WRITER))
    old = site.executor.memory.get("a", 1)
    with pytest.raises(Conflict):
        asyncio.run(topics.restore(frame, old, 1))


def changed(memory: hades.Memory) -> tuple[object, ...]:
    """What a change may change: texts, facts with their times, names, and what waits."""
    facts = {(str(edge), edge.valid_from, edge.valid_to) for edge in memory.edges(all=True)}
    waiting = [proposal.id for proposal in memory.proposals()]
    ann = memory.entity("Ann")
    return memory.get("bug").content, facts, ann.aliases, ann.kind, waiting


@pytest.mark.parametrize(
    "writes",
    [
        [("relate", {"source": "bug", "relation": "seen_by", "target": "Ann"})],
        [("unrelate", {"source": "bug", "relation": "owned_by"})],
        [("unrelate", {"source": 1, "mistake": True})],
        [
            ("unrelate", {"source": 1, "mistake": True}),
            ("relate", {"source": "bug", "relation": "owned_by", "target": "Bob"}),
        ],
        [("approve", {"proposal": 1})],
        [("approve", {"proposal": 2})],
        [("approve", {"proposal": 3})],
        [("approve", {"proposal": 4})],
        [("approve", {"proposal": 5})],
        [("reject", {"proposal": 1}), ("approve", {"proposal": 2})],
    ],
    ids=str,
)
def test_a_change_is_undone(tmp_path: Path, writes: list[NamedWrite]) -> None:
    site = CalledMemory(tmp_path)
    admin, memory = site.visitor(Role.ADMIN), site.executor.memory
    called(admin, "remember", topic="bug", content="It leaks.")
    called(admin, "relate", source="bug", relation="owned_by", target="Ann", weight=0.7)
    for subject, proposed in (
        ("bug", {"relation": "blocks", "target": "release"}),
        ("bug", {"content": "It is mended."}),
        ("Ann", {"alias": "Annie"}),
        ("bug", {"relation": "owned_by", "target": "Cyd", "exclusive": True}),
        ("Ann", {"kind": "person"}),
    ):
        called(admin, "propose", name=subject, confidence=0.1, **proposed)
    before = changed(memory)
    undo = asyncio.run(admin.make("default", WriteGroup(["bug", "Ann"], writes)))
    after = changed(memory)
    assert after != before
    asyncio.run(admin.make("default", undo))
    assert changed(memory) == before
    site.close()


def test_a_change_is_made_whole_or_not_at_all(site: CalledMemory) -> None:
    frame, memory = framed(site.visitor(Role.WRITER)), site.executor.memory
    called(frame.visitor, "relate", source="Zoe", relation="knows", target="Yan")
    (edge,) = memory.edges("Zoe")
    wrong = [
        ("unrelate", {"source": edge.id, "mistake": True}),
        ("relate", {"source": "Zoe", "relation": "knows", "target": "X", "valid_from": "soonish"}),
    ]
    with pytest.raises(InvalidInput):
        asyncio.run(frame.visitor.make("default", WriteGroup(["Zoe"], wrong)))
    assert memory.edges("Zoe") == [edge]


@pytest.mark.slow
@pytest.mark.parametrize("accepted", [True, False])
def test_a_contradiction_of_notes_is_decided(tmp_path: Path, accepted: bool) -> None:
    site = CalledMemory(tmp_path)
    admin = site.visitor(Role.ADMIN)
    frame, memory = framed(admin), site.executor.memory
    for topic, day in (("project/atlas", 3), ("plans/spring", 10)):
        note = {"topic": topic, "content": f"The Atlas release is due on {day} June."}
        called(admin, "remember", **note, valid_from="2024-01-01")
    called(admin, "relate", source="project/atlas", relation="part_of", target="plans/spring")
    (conflict,) = called(admin, "quality").disagreements
    item = asyncio.run(review._contradiction(frame, conflict, is_admin=True))
    asyncio.run(review.decide(frame, [item], accepted=accepted))
    assert called(admin, "quality").disagreements == ()
    links = memory.edges(item.topic, relation="supersedes")
    assert bool(links) == accepted
    assert item.lines[0].startswith(f"+ {item.topic} supersedes")
    site.close()
