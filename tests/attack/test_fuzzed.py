"""Fuzzed input: mutated files, exports and plans, and any question. One clear error, or a result.

Readers of our own formats raise nothing but Unreadable; a reader that stands on a library may fail
in any way, and costs its file. A refused import leaves the memory as it was.
"""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hades
from hades.ingest.document import Bad, Document, Unreadable
from hades.ingest.readers import asciidoc, chats, html, markdown, office, rst, text
from hades.ingest.readers.code.reader import read_code
from hades.ingest.reading import Task, holds_many, read
from hades.recall.plan import make_plan
from tests.attack.files import _pdf, _stream, _zipped
from tests.attack.mutating import json_bytes, mutated_bytes, mutated_value, mutated_zip

EXAMPLES = 3_000 if os.environ.get("HADES_ATTACK") == "long" else 12
seeds = st.integers(0, 2**32)
fuzzed = settings(max_examples=EXAMPLES)
slowly_fuzzed = settings(max_examples=max(4, EXAMPLES // 20))


def _check(error: Exception) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 1000


# Files


def _saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def _docx() -> bytes:
    document = docx.Document()
    document.add_heading("Plan")
    document.add_paragraph("Ann Lee wrote this.", style="List Bullet")
    document.add_table(2, 2).cell(0, 0).text = "cell"
    return _saved(document)


def _xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["name", 1, 2.5])
    book.active.append(["Ann", "=A1", None])
    return _saved(book)


def _pptx() -> bytes:
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = "Title"
    return _saved(slides)


def _epub() -> bytes:
    rootfile = b'<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
    package = (
        b'<package><metadata><title>T</title></metadata><manifest><item id="c" href="c.xhtml" '
        b'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine>'
        b"</package>"
    )
    page = b"<html><body><h1>One</h1><p>Ann Lee wrote this.</p></body></html>"
    return _zipped({"META-INF/container.xml": rootfile, "a.opf": package, "c.xhtml": page})


def _one_page() -> bytes:
    return _pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
        _stream(b"BT /F1 12 Tf (Ann Lee wrote this.) Tj ET"),
    )


BY_LIBRARIES: dict[str, Callable[[], bytes]] = {
    "a.docx": _docx,
    "a.xlsx": _xlsx,
    "a.pptx": _pptx,
    "a.epub": _epub,
    "a.pdf": _one_page,
}


@pytest.mark.parametrize("name", BY_LIBRARIES)
def test_a_mutated_document_is_read_or_named(name: str) -> None:
    raw = BY_LIBRARIES[name]()
    change = mutated_bytes if name == "a.pdf" else mutated_zip

    @slowly_fuzzed
    @given(seeds)
    def try_it(seed: int) -> None:
        task = Task(name, "t", data=change(raw, random.Random(seed)))
        for item in read(task):
            assert isinstance(item, Document | Bad)
            if isinstance(item, Document):
                item.content.encode()
                assert item.outline is not None

    try_it()


MARKUP = "---\ntitle: A\ntags: [x, y]\n---\n# One\n\n- [a](b.md)\n\n| a |\n|---|\n| 1 |\n"
PAGE = (
    "<html><head><title>T</title></head><body><h1>A</h1><table><tr><td>x</td></tr></table></body>"
)
SITE = """\
<!-- c -->
import A from 'b'
<T label="x">

:::note
{{< a text="b" >}} <b>c</b>
:::
!!! tip "t"

    body

    ```
    code
    ```
{{< highlight c >}}
d
{{< /highlight >}}
"""
MANUAL = """\
= A
:b: c

-f::
--force::
\tText {b} <<x#y,z>>.
+
--
c;;
  d
--

[source,c]
----
x
----

[cols="1,1"]
|===
|a |b
|c
|d
|===

ifdef::e[]
* item link:f[g]
endif::[]
"""
GUIDE = """\
A
=

.. _l:

.. class:: B(c)

    .. note:: d

    Text :ref:`e
    <f>` `g <h>`_ i_::

        code

.. _i: j

== ==
k  l
== ==
m  n
   o
== ==

+--+--+
|p |q |
+--+--+

.. list-table::

   * - r
     - s

.. |t| replace:: u

term
    text |t|
"""
OWN: dict[str, tuple[Callable[[bytes, str], Document], str]] = {
    "markdown": (markdown.read_markdown, MARKUP),
    "site": (markdown.read_markdown_file, SITE),
    "asciidoc": (asciidoc.read_asciidoc, MANUAL),
    "rst": (rst.read_rst, GUIDE),
    "html": (html.read_html, PAGE),
    "csv": (office.read_csv, 'name,age\n"Ann, Lee",7\nBob,8\n'),
    "text": (text.read_text, "Title\n=====\n\nA paragraph.\n\n* item\n"),
    "settings": (text.read_settings, '[tool]\nname = "x"\n\nkey: {a: 1}\n'),
    "code": (
        lambda raw, topic: read_code(raw, topic),
        "class A(B):\n    def f(self): return g()\n",
    ),
}


@pytest.mark.parametrize("kind", OWN)
def test_a_mutated_text_is_read_or_refused(kind: str) -> None:
    reader, good = OWN[kind]
    topic = "a/b.py" if kind == "code" else "a/b"

    @fuzzed
    @given(seeds)
    def try_it(seed: int) -> None:
        try:
            document = reader(mutated_bytes(good.encode(), random.Random(seed)), topic)
        except Unreadable as error:
            _check(error)
        else:
            document.content.encode()
            assert all(0 <= b.start <= b.end <= len(document.content) for b in document.blocks)

    try_it()


# Chats and records

_MESSAGE = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}}
_NODE = {"id": "n", "parent": "r", "children": [], "message": {**_MESSAGE, "create_time": 1.7e9}}
CHATS: dict[str, list[Any]] = {
    "chatgpt.json": [
        {"id": "c", "title": "T", "current_node": "n", "mapping": {"n": _NODE, "r": {"id": "r"}}}
    ],
    "claude.json": [
        {
            "uuid": "u",
            "name": "N",
            "chat_messages": [
                {"sender": "human", "text": "Hi", "created_at": "2024-01-01T00:00:00Z"},
                {"sender": "assistant", "content": [{"type": "text", "text": "Yes"}]},
            ],
        }
    ],
    "messages.json": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}],
    "slack.json": [
        {"type": "message", "user": "U1", "text": "<@U2> see <#C1|x>", "ts": "1683553600.000200"},
        {"type": "message", "user": "U4", "text": "I", "ts": "1683553800.0002",
         "user_profile": {"name": "eve"}},
    ],
    "transcript.jsonl": [
        {"type": "user", "uuid": "a", "sessionId": "s", "timestamp": "2024-01-01T00:00:00Z",
         "message": {"id": "m", "content": [{"type": "text", "text": "Hi"}]}},
        {"type": "assistant", "message": {"id": "m", "content": "Yes"}},
    ],
    "rollout.jsonl": [
        {"type": "event_msg", "timestamp": "2024", "payload": {"type": "user_message",
         "message": "Hi"}},
    ],
    "turns.jsonl": [{"speaker": "Ann", "text": "Hi", "session": "s", "date": "2024-01-01"}],
    "corpus.jsonl": [{"id": 1, "title": "T", "text": "Ann Lee wrote this.", "meta": {"a": [1]}}],
    "papers.jsonl": [
        {"id": "2401.00001", "title": "T", "abstract": "We cite arXiv:1706.03762.",
         "authors_parsed": [["Lee", "Ann", ""]], "categories": "cs.CL", "update_date": "2024-01-02",
         "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CHATS)
def test_a_mutated_chat_costs_its_own_records(name: str, tmp_path: Path) -> None:
    path, good = tmp_path / name, CHATS[name]

    @fuzzed
    @given(seeds)
    def try_it(seed: int) -> None:
        chance = random.Random(seed)
        values = [mutated_value(one, chance) if chance.random() < 0.7 else one for one in good]
        by_lines = name.endswith("l")
        rows = b"\n".join(map(json_bytes, values)) if by_lines else json_bytes(values)
        path.write_bytes(rows if chance.random() < 0.8 else mutated_bytes(rows, chance))
        for item in read(Task(str(path), "t", many=holds_many(path, None))):
            assert isinstance(item, Document | Bad)
            if isinstance(item, Bad):
                assert "Error" not in item.why, item.why

    try_it()


WHATSAPP = "[01/02/24, 10:00:00] Ann: Hi\n[01/02/24, 10:01:00] Bob: Yes\nand more\n"


@fuzzed
@given(seeds)
def test_a_mutated_whatsapp_chat_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "chat.txt"
    path.write_bytes(mutated_bytes(WHATSAPP.encode(), random.Random(seed)))
    with suppress(Unreadable):
        if chats.looks_like_chat(path):
            assert all(isinstance(item, Document | Bad) for item in chats.read_chats(path, "c"))


# Imports


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the exports of a small memory."""
    folder = tmp_path_factory.mktemp("exported")
    with hades.open(folder / "m.hades", clock=lambda: 10**15) as memory:
        memory.remember("a", "one", tags=["x"], metadata={"n": [1]})
        memory.remember("a", "two")
        memory.relate("a", "knows", "Ann Lee", evidence="said", valid_from="2001", valid_to="2002")
        memory.relate("Bob", "knows", "Ann Lee", kind="person")
        memory.add_alias("Bob", "Rob")
        memory.merge("Ann Lee", "Bob")
        memory.propose("a", "likes", "tea", confidence=0.1)
        memory.index()
        memory.export(folder / "all.jsonl")
        memory.export(folder / "graph.json", "node-link")
        (folder / "triples.jsonl").write_text(
            '{"subject": "Ann", "predicate": "knows", "object": "Bob", "valid_from": "2020"}\n'
        )
    return folder


def _imports(exported: Path, folder: Path, seed: int, how: str) -> None:
    chance = random.Random(seed)
    raw = (exported / how).read_bytes()
    if how == "graph.json":
        changed = json_bytes(mutated_value(json.loads(raw), chance))
    else:
        records = [json.loads(line) for line in raw.splitlines()]
        number = chance.randrange(len(records))
        records[number] = mutated_value(records[number], chance)
        changed = b"\n".join(map(json_bytes, records))
    (folder / how).write_bytes(changed if chance.random() < 0.8 else mutated_bytes(raw, chance))
    with hades.open(folder / "new.hades", clock=lambda: 10**15 + 1) as memory:
        before = memory.change
        try:
            if how == "triples.jsonl":
                memory.import_triples(folder / how)
            else:
                memory.import_(folder / how)
        except hades.HadesError as error:
            _check(error)
            assert memory.change == before
            assert memory.topics() == []
        assert memory.check() == []
        memory.topics(), memory.edges(all=True), memory.entities(), memory.log()


@pytest.mark.parametrize("how", ["all.jsonl", "graph.json", "triples.jsonl"])
def test_a_mutated_import_is_whole_or_nothing(
    exported: Path, tmp_path_factory: pytest.TempPathFactory, how: str
) -> None:
    @slowly_fuzzed
    @given(seeds)
    def try_it(seed: int) -> None:
        _imports(exported, tmp_path_factory.mktemp("import"), seed, how)

    try_it()


def test_dimensions_that_are_no_number_are_refused(exported: Path, tmp_path: Path) -> None:
    records = [json.loads(line) for line in (exported / "all.jsonl").read_bytes().splitlines()]
    (last,) = [record for record in records if "dims" in str(record)][-1:]
    raw = json.dumps(last).replace('"dims": 384', f'"dims": "{"a" * 5_000}"')
    records[records.index(last)] = json.loads(raw)
    (tmp_path / "all.jsonl").write_bytes(b"\n".join(map(json_bytes, records)))
    with hades.open(tmp_path / "new.hades") as memory:
        with pytest.raises(hades.HadesError, match="dimensions from 1, not 'aaa") as refused:
            memory.import_(tmp_path / "all.jsonl")
        _check(refused.value)
        assert memory.topics() == []


HUGE = 10**400
"""A number of JSON that no float holds."""


def test_a_number_that_no_float_holds_is_refused(exported: Path, tmp_path: Path) -> None:
    graph = json.loads((exported / "graph.json").read_text())
    graph["edges"] = [{"source": graph["nodes"][0]["id"], "target": graph["nodes"][0]["id"]}]
    graph["edges"][0]["weight"] = HUGE
    (tmp_path / "graph.json").write_text(json.dumps(graph))
    with hades.open(tmp_path / "new.hades") as memory:
        with pytest.raises(hades.InvalidInput, match="from 0 to 1"):
            memory.remember("a", "one", confidence=HUGE)
        with pytest.raises(hades.InvalidInput, match="edge 0 is wrong"):
            memory.import_(tmp_path / "graph.json")
        assert memory.topics() == []


# Plans and questions


@fuzzed
@given(seeds)
def test_a_mutated_plan_is_clamped_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    wanted = mutated_value(hades.Plan().model_dump(mode="json"), chance)
    try:
        plan, _ = make_plan(hades.Plan(), wanted)
    except hades.InvalidInput as error:
        _check(error)
    else:
        hades.Plan.model_validate(plan.model_dump())


PARTS = (
    *("Why", "was", "approach X", "rejected", "Bug Y", "when", "who", "how many", "between", "and"),
    *(
        "2024",
        "last week",
        "in 99999",
        "since",
        "before 0",
        "31 February",
        "the 5th",
        "-1",
        "%",
        "'",
    ),
    *("changed", "connected with", "?", "!", "\n", "\0", "\u202e", "🜏", "İ", "ß", "(" * 50, "[1]"),
    *("def f():", "a.b.c()", "SELECT", "{}", "\\", "summary", "everything", "not", "or", "“", "é"),
)
questions = st.lists(st.sampled_from(PARTS) | st.text(max_size=6), min_size=1, max_size=12)


@slowly_fuzzed
@given(questions.map(" ".join))
def test_any_question_is_answered_or_refused(asked: hades.Memory, question: str) -> None:
    for call in (asked.recall, asked.ask, asked.search, asked.at("2024-02-01").ask):
        try:
            assert str(call(question)) is not None
        except hades.InvalidInput as error:
            _check(error)


@pytest.fixture(scope="module")
def asked(story_folder: Path) -> Iterator[hades.Memory]:
    """The story, which questions do not change."""
    with hades.open(story_folder / "notes.hades") as memory:
        yield memory
