"""Corpora: a record is a document, and a broken one costs only itself."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.ingest.document import Bad, Document, IntroducedName, Origin, Unreadable
from hades.ingest.readers import records
from hades.ingest.readers.records import FieldMapping, read_corpus
from hades.language.english.written_times import read_written_time


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def documents(path: Path, mapping: FieldMapping | None = None) -> list[Document]:
    read = list(read_corpus(path, mapping))
    assert [item for item in read if isinstance(item, Bad)] == []
    return [item for item in read if isinstance(item, Document)]


def bad(path: Path, mapping: FieldMapping | None = None) -> list[tuple[str, str]]:
    """Where, without the folder, and why."""
    return [
        (item.where.removeprefix(f"{path}, "), item.why)
        for item in read_corpus(path, mapping)
        if isinstance(item, Bad)
    ]


def test_a_record_is_a_document_with_its_title_as_a_name(tmp_path: Path) -> None:
    row = {"id": 7, "title": "Ed Wood (film)", "text": "A film by Tim Burton.", "year": 1994}
    (document,) = documents(write(tmp_path, "films.jsonl", lines(row)))
    assert document.topic == "films/7"
    assert document.kind == "record"
    assert document.content == "Ed Wood (film)\n\nA film by Tim Burton."
    (block,) = document.blocks
    assert document.content[block.start : block.end] == "A film by Tim Burton."
    assert block.heading == "Ed Wood (film)"
    assert document.names == (IntroducedName("Ed Wood (film)", Origin.TITLE),)
    assert document.metadata == {"year": 1994}
    assert document.links == ()


def test_without_a_title_the_text_stands_alone(tmp_path: Path) -> None:
    (document,) = documents(write(tmp_path, "a.jsonl", lines({"id": "x", "text": "Just text."})))
    assert (document.content, document.names) == ("Just text.", ())
    assert (document.blocks[0].start, document.blocks[0].end) == (0, 10)


def test_without_a_text_the_title_stands_alone(tmp_path: Path) -> None:
    row = {"id": "x", "title": "Only a title", "text": ""}
    (document,) = documents(write(tmp_path, "a.jsonl", lines(row)))
    assert document.content == "Only a title"
    assert (document.blocks[0].start, document.blocks[0].end) == (0, 12)


def test_a_file_whose_name_says_nothing_is_called_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "wiki"
    folder.mkdir()
    (document,) = documents(write(folder, "corpus.jsonl", lines({"id": "x", "text": "t"})))
    assert document.topic == "wiki/x"


def test_fields_are_mapped(tmp_path: Path) -> None:
    row = {"key": "k", "body": "b", "labels": "red; green,red", "date": "8 May 2023"}
    mapping = FieldMapping(
        id="key", title=None, text="body", tags="labels", when="date", prefix="notes"
    )
    (document,) = documents(write(tmp_path, "a.jsonl", lines(row)), mapping)
    assert document.topic == "notes/k"
    assert document.tags == ("red", "green")
    assert document.valid_from == datetime(2023, 5, 8, tzinfo=UTC)


def test_a_time_that_cannot_be_read_is_kept_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", lines({"id": 1, "text": "t", "when": "last spring"}))
    (document,) = documents(path, FieldMapping(when="when"))
    assert document.valid_from is None
    assert document.metadata == {"when": "last spring"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '[{"id": "1", "title": "T", "text": "a; b"}]'),
        ("a.json", '{\n "id": "1",\n "title": "T",\n "text": "a; b"\n}'),
        ("a.csv", 'id,title,text\n1,T,"a; b"\n'),
        ("a.csv", 'id;title;text\n1;T;"a; b"\n'),
        ("a.tsv", "id\ttitle\ttext\r\n1\tT\ta; b\r\n"),
        ("a.jsonl", '\ufeff{"id": "1", "title": "T", "text": "a; b"}'),
        ("a.csv", '\ufeffid,title,text\n\n1,T,"a; b"\n\n'),
    ],
)
def test_arrays_and_tables_hold_records_too(tmp_path: Path, name: str, text: str) -> None:
    (document,) = documents(write(tmp_path, name, text))
    assert (document.topic, document.content) == ("a/1", "T\n\na; b")


def test_a_cell_may_span_lines_and_rows_keep_their_line_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'id,text\n1,"two\nlines"\n2,b,c\n')
    first, second = read_corpus(path)
    assert isinstance(first, Document)
    assert first.content == "two\nlines"
    assert second == Bad(f"{path}, line 4", "It has 3 cells where the header names 2.")


def test_a_broken_line_is_named_and_reading_goes_on(tmp_path: Path) -> None:
    good = lines({"id": 1, "text": "one"})
    path = write(tmp_path, "a.jsonl", good + '{"id": 2,\n\n' + lines({"id": 3, "text": "three"}))
    read = list(read_corpus(path))
    assert [item.topic for item in read if isinstance(item, Document)] == ["a/1", "a/3"]
    ((where, why),) = bad(path)
    assert where == "line 2"
    assert why.startswith("This is not JSON")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"title": "T", "text": "t"}, "The field 'id' is missing; the fields are: title, text."),
        ({"id": " ", "text": "t"}, "The field 'id' is empty; the fields are: id, text."),
        ({"id": 1, "body": "t"}, "The field 'text' is missing; the fields are: id, body."),
        ({"id": 1, "text": None}, "The field 'text' is empty, and there is no title."),
        ({"id": 1, "text": ["t"]}, "The field 'text' is a list, not text."),
        ({"id": True, "text": "t"}, "The field 'id' is true or false, not text."),
        ({"id": 1.5, "text": "t"}, "The field 'id' is a number, not text."),
        ([1, 2], "This is a list, not an object with fields."),
        (None, "This is null, not an object with fields."),
        ({"id": "\ud800", "text": "t"}, "It has a lone surrogate, which is not valid Unicode."),
        ({"id": "a\u0000", "text": "t"},
         "The topic's name cannot hold a NUL character: leave it out."),
    ],
)  # fmt: skip
def test_a_record_that_cannot_be_used_says_why(tmp_path: Path, row: object, why: str) -> None:
    assert bad(write(tmp_path, "a.jsonl", lines(row))) == [("line 1", why)]


@pytest.mark.parametrize("tags", [7, ["a", 1], {"a": 1}])
def test_tags_are_texts(tmp_path: Path, tags: object) -> None:
    path = write(tmp_path, "a.jsonl", lines({"id": 1, "text": "t", "tags": tags}))
    ((_, why),) = bad(path, FieldMapping(tags="tags"))
    assert why.endswith("not a list of texts.")
    assert documents(
        write(tmp_path, "b.jsonl", lines({"id": 1, "text": "t"})), FieldMapping(tags="tags")
    )


def test_a_row_that_never_ends_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LINE_BYTES_AT_MOST", 200)
    csv.field_size_limit(131_072)
    endless = "".join(f"{n:0150}\n" for n in range(2000))
    path = write(tmp_path, "a.csv", 'id,text\n1,ok\n2,"' + endless + '"\n3,ok\n')
    first, second, *_ = read_corpus(path)
    assert isinstance(first, Document)
    assert second == Bad(
        f"{path}, line 3", "This is not a row: field larger than field limit (131072)."
    )


def test_a_huge_line_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LINE_BYTES_AT_MOST", 2**20)
    huge = lines({"id": 1, "text": "x" * 3 * 2**20})
    path = write(tmp_path, "a.jsonl", huge + lines({"id": 2, "text": "b"}))
    assert bad(path) == [("line 1", "The line is longer than 1 MB.")]
    assert len(list(read_corpus(path))) == 2


def test_a_line_that_is_not_utf8_is_bad_in_lines_and_tables(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", b'{"id": 1, "text": "caf\xe9"}\n{"id": 2, "text": "b"}')
    assert bad(path) == [("line 1", "The line is not UTF-8 after byte 22.")]
    table = write(tmp_path, "a.csv", b"id,text\n1,caf\xe9\n2,b\n")
    assert bad(table) == [("line 2", "The line is not UTF-8 after byte 5.")]
    assert [item.topic for item in read_corpus(table) if isinstance(item, Document)] == ["a/2"]


def test_a_broken_array_is_one_bad(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", '[{"id": 1, "text": "a"}, ')
    (item,) = read_corpus(path)
    assert isinstance(item, Bad)
    assert item.why.startswith("This is not JSON")
    deep = write(tmp_path, "deep.json", "[" * 100_000)
    assert isinstance(next(read_corpus(deep)), Bad)


def test_a_file_that_cannot_be_read_at_all_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unreadable, match="cannot be read: No such file"):
        list(read_corpus(tmp_path / "none.jsonl"))
    with pytest.raises(Unreadable, match="save it as UTF-8"):
        list(read_corpus(write(tmp_path, "a.jsonl", "{}".encode("utf-16"))))
    with pytest.raises(Unreadable, match="names each column once"):
        list(read_corpus(write(tmp_path, "a.csv", "id,id\n1,2\n")))
    monkeypatch.setattr(records, "ARRAY_BYTES_AT_MOST", 5)
    with pytest.raises(Unreadable, match="use JSON lines"):
        list(read_corpus(write(tmp_path, "a.json", '[{"id": 1}]')))


def test_nan_from_other_tools_is_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"id": 1, "title": NaN, "text": "t", "score": Infinity}')
    (document,) = documents(path)
    assert (document.title, document.metadata) == ("", {})


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", lines(*({"id": n, "text": "t"} for n in range(1000))))
    reader = read_corpus(path)
    assert isinstance(next(reader), Document)
    reader.close()  # type: ignore[attr-defined]


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_any_bytes_are_documents_or_bads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name in ("a.jsonl", "a.json", "a.csv"):
        path = write(folder, name, b"\n".join([b"id,text", *rows]))
        with suppress(Unreadable):
            assert all(isinstance(item, Document | Bad) for item in read_corpus(path))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08 13:56"),
        ("12:09 am on 13 September, 2023", "2023-09-13 00:09"),
        ("May 8, 2023 at 1:56 PM", "2023-05-08 13:56"),
        ("Mon, 02 Apr 2007 19:18:42 -0400", "2007-04-02 23:18"),
        ("Mon, 2 Apr 2007 19:18:42 GMT", "2007-04-02 19:18"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20 02:21"),
        ("2023-05-08T13:56:00.123456+02:00", "2023-05-08 11:56"),
        ("2023-05-08T13:56:00Z", "2023-05-08 13:56"),
        ("2023-05-08 13:56:00 UTC", "2023-05-08 13:56"),
        ("Monday 8th of May 2023", "2023-05-08"),
        ("04/13/2023 5pm", "2023-04-13 17:00"),
        ("08.05.2023, 13:56", "2023-05-08 13:56"),
        ("May 2023", "2023-05"),
        ("2023-05", "2023-05"),
        ("2023", "2023"),
        (1683550000, "2023-05-08 12:46"),
        (1683550000123, "2023-05-08 12:46"),
        ("1683550000.000200", "2023-05-08 12:46"),
    ],
)
def test_times_are_read_in_many_forms(written: object, shown: str) -> None:
    moment = read_written_time(written)
    assert moment is not None
    assert moment.shown == shown


@pytest.mark.parametrize(
    "written",
    ["yesterday", "3 weeks ago", "03/04/2023", "25:00 on 8 May 2023", "13 pm on 8 May 2023",
     "31 June 2023", "9999-12-31T23:59:59-10:00", "in 2023 days", "", None, True, 7, float("nan")],
)  # fmt: skip
def test_what_is_no_time_or_could_be_two_is_not_read(written: object) -> None:
    assert read_written_time(written) is None


@given(st.text() | st.floats() | st.integers())
def test_reading_a_time_never_fails(written: object) -> None:
    read_written_time(written)
