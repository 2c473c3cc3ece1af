"""Text and Markdown: the content is the file itself, the blocks are its parts."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.ingest.document import Document, IntroducedName, Link, Origin, Unreadable
from hades.ingest.readers import READERS, reader_for
from hades.ingest.readers.markdown import LINKS_AT_MOST, read_markdown, resolve_link
from hades.ingest.readers.text import line_spans, read_settings, read_text, without_brackets

GUIDE = """\
---
title: Not this one
tags: [howto, "#setup"]
date: 2024-03-01
author: Ann Lee
---
# Guide

## Install

Run it.
Then wait.

- first
- second, see [the API](../api.md#open "API")

```sh
# not a heading
pip install hades-memory

[not a link](x.md)
```

### On *macOS*

Use `brew`.

Usage
-----

Ask <https://example.org/help>. See [[Approach X|that one]].
"""


def markdown(text: str, topic: str = "docs/guide/start.md") -> Document:
    return read_markdown(text.encode(), topic)


def parts(document: Document) -> list[tuple[str, str]]:
    return [(block.heading, document.content[block.start : block.end]) for block in document.blocks]


def test_markdown_is_seen_as_headings_paragraphs_lists_and_code() -> None:
    assert parts(markdown(GUIDE)) == [
        ("Guide > Install", "# Guide"),
        ("Guide > Install", "## Install"),
        ("Guide > Install", "Run it.\nThen wait."),
        ("Guide > Install", '- first\n- second, see [the API](../api.md#open "API")'),
        ("Guide > Install", GUIDE[GUIDE.index("```sh") : GUIDE.index("\n\n### On")]),
        ("Guide > Install > On macOS", "### On *macOS*"),
        ("Guide > Install > On macOS", "Use `brew`."),
        ("Guide > Usage", "Usage\n-----"),
        ("Guide > Usage", "Ask <https://example.org/help>. See [[Approach X|that one]]."),
    ]


def test_markdown_keeps_the_file_and_says_what_it_is_about() -> None:
    guide = markdown(GUIDE)
    assert guide.content == GUIDE
    assert guide.title == "Guide"
    assert guide.tags == ("howto", "setup")
    assert guide.metadata == {"date": "2024-03-01"}
    assert guide.names == (
        IntroducedName("Guide", Origin.TITLE),
        IntroducedName("Ann Lee", Origin.AUTHOR, "person"),
    )
    headings = [name.text for block in guide.blocks for name in block.names]
    assert headings == ["Guide", "Install", "On macOS", "Usage"]


def test_links_of_markdown_lead_to_topics_addresses_and_names() -> None:
    source = "topic:docs/guide/start.md"
    assert markdown(GUIDE).links == (
        Link(source, "refers_to", "topic:docs/api.md", 3, "the API"),
        Link(source, "refers_to", "Approach X", 8, "Approach X"),
        Link(source, "refers_to", "https://example.org/help", 8),
    )


def test_a_list_of_links_is_bounded_and_tells_each_target_once() -> None:
    text = "\n".join(f"[{n}](page-{n}.md) [{n}](page-{n}.md)" for n in range(1000))
    links = markdown(text).links
    assert len({link.target for link in links}) == len(links) == LINKS_AT_MOST


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("api.md", "topic:docs/api.md"),
        ("../README.md#top", "topic:README.md"),
        ("/LICENSE", "topic:LICENSE"),
        ("a%20b.md?raw=1", "topic:docs/a b.md"),
        ("https://example.org/x#y", "https://example.org/x"),
        ("../../outside.md", ""),
        ("#section", ""),
        ("mailto:ann@example.org", ""),
        ("javascript:alert(1)", ""),
        ("http://[broken", ""),
        ("", ""),
    ],
)
def test_where_a_link_leads(href: str, target: str) -> None:
    assert resolve_link(href, "docs/guide.md") == target


def test_a_page_from_the_web_resolves_against_its_address() -> None:
    assert resolve_link("b.html", "https://example.org/a/") == "https://example.org/a/b.html"


def test_the_title_comes_from_the_first_heading_the_front_matter_or_the_file() -> None:
    assert markdown("text\n\n# One\n\n# Two").title == "One"
    assert markdown("---\ntitle: From above\n---\n## Part").title == "From above"
    assert markdown("just text", "wiki/Approach X.md").title == "Approach X"


def test_a_readme_is_titled_by_its_heading_or_its_folder() -> None:
    assert markdown("# Zebra\n\ntext", "tools/README.md").title == "Zebra"
    readme = markdown("just text", "docs/tools/README.md")
    assert (readme.title, [name.text for name in readme.names]) == ("tools", ["tools"])
    assert markdown("just text", "README.md").names == ()
    headed = markdown("# README\n\ntext", "tools/readme.md")
    assert [*headed.names, *(name for block in headed.blocks for name in block.names)] == []


def test_a_title_from_the_front_matter_stands_above_all_headings() -> None:
    assert parts(markdown("---\ntitle: Guide\n---\nIntro\n\n## Part\n\nText")) == [
        ("Guide", "Intro"),
        ("Guide > Part", "## Part"),
        ("Guide > Part", "Text"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "---\n: [\n---\ntext",
        "---\njust a rule\n---\ntext",
        "---\nnever: closed",
        "---\n- a\n---\nb",
    ],
)
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    document = markdown(text)
    assert document.metadata == {}
    assert document.blocks[0].start <= 4


def test_front_matter_with_odd_values_is_read_as_written() -> None:
    document = markdown(
        '---\ndate: 2024-99-99\nn: 007\nx: {a: b}\ntags: a, b c\nt: "\\ud800\\0"\n---\ntext'
    )
    assert document.metadata == {"date": "2024-99-99", "n": "007", "t": "\ufffd"}
    assert document.tags == ("a", "b c")


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# C#", ["C#"]),
        ("## Closed ##", ["Closed"]),
        ("#tag", []),
        ("    # code", []),
        ("####### seven", []),
        ("~~~\n# code\n```\n# code\n~~~\n# After", ["After"]),
        ("```\n# never closed", []),
        ("``` not `a fence\n# After", ["After"]),
        ("1. item\n\n    ```sh\n\n# comment\n    ```\n# After", ["After"]),
        ("Big\n===", ["Big"]),
        ("two\nlines\n===", ["two lines"]),
        ("- item\n---", []),
        ("a | b\n--|--\n1 | 2", []),
        ("text\n\n---\n\ntext", []),
        ("# [Link](x.md) and `__init__`", ["Link and __init__"]),
        ("# Anchor {#here}", ["Anchor"]),
        ("#\n\n##  ", []),
        ("# One\r\n\r\ntext\r\n## Two\rold mac", ["One", "Two"]),
    ],
)
def test_what_is_a_heading(text: str, headings: list[str]) -> None:
    names = [name.text for block in markdown(text).blocks for name in block.names]
    assert names == headings


def test_plain_text_is_paragraphs() -> None:
    document = read_text(b"one\ntwo\n\n \t\n  three\n", "logs/app.log")
    assert parts(document) == [("", "one\ntwo"), ("", "  three")]
    assert (document.title, document.names, document.metadata) == ("app", (), {})


@pytest.mark.parametrize(
    ("raw", "content", "metadata"),
    [
        ("naïve".encode(), "naïve", {}),
        ("naïve".encode("utf-8-sig"), "naïve", {}),
        ("naïve".encode("utf-16"), "naïve", {"encoding": "utf-16"}),
        (b"\xfe\xff" + "naïve".encode("utf-16-be"), "naïve", {"encoding": "utf-16"}),
        ("naïve".encode("utf-32"), "naïve", {"encoding": "utf-32"}),
        ("naïve – “text”".encode("cp1252"), "naïve – “text”", {"encoding": "cp1252"}),
        (b"na\xefve \x81", "naïve \ufffd", {"encoding": "cp1252"}),
        ("é".encode() * 20 + b"\xc3", "é" * 20 + "\ufffd", {"encoding": "utf-8 with errors"}),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m", {}),
    ],
)
def test_encodings(raw: bytes, content: str, metadata: dict[str, str]) -> None:
    document = read_text(raw, "a.txt")
    assert document.content == content
    assert document.metadata == metadata


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "a.txt is empty."),
        (b" \n\t\n", "a.txt is empty."),
        (b"\xef\xbb\xbf", "a.txt is empty."),
        (b"\x7fELF\x00\x00", "binary"),
        (bytes(range(1, 256)), "binary"),
        (b"\xff\xfea", "UTF-16"),
    ],
)
def test_what_is_not_text_is_refused_in_a_sentence(raw: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_text(raw, "a.txt")


def test_readers_are_found_by_suffix() -> None:
    for row in READERS:
        for suffix in row.suffixes.split():
            assert reader_for(Path("a" + suffix.upper())) is not None
    assert reader_for(Path("README")) is not None
    assert reader_for(Path(".DS_Store")) is None
    assert reader_for(Path("photo.jpg")) is None


def test_no_suffix_has_two_readers() -> None:
    suffixes = [suffix for row in READERS for suffix in row.suffixes.split()]
    assert len(set(suffixes)) == len(suffixes)


def test_a_reader_reads_and_can_be_sent_to_another_process() -> None:
    reader = reader_for(Path("a.md"))
    assert pickle.loads(pickle.dumps(reader))(b"# A", "a.md").title == "A"


def test_an_empty_or_huge_file_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = reader_for(Path("a.pdf"))
    assert reader is not None
    with pytest.raises(Unreadable, match="is empty"):
        reader(b"", "a.pdf")
    monkeypatch.setattr("hades.ingest.readers.text.RAW_BYTES_AT_MOST", 2**20)
    with pytest.raises(Unreadable, match=r"a\.pdf has 2 MB, more than the 1 MB"):
        reader(bytes(2 * 2**20), "a.pdf")


def test_lines_end_as_editors_count_them() -> None:
    content = "a\r\nb\rc\n\x0cd\u2028e"
    assert [content[start:end] for start, end in line_spans(content)] == [
        "a",
        "b",
        "c",
        "\x0cd\u2028e",
    ]


LINES = (
    st.sampled_from(["# A", "## B #", "#", "\t# t", "===", "---", "***", "title: x", "<!--"])
    | st.sampled_from(["text", "  ", "　", "\r", "- item", "1. one", "> quote", "a | b", "`x`"])
    | st.sampled_from(["```", "~~~", "    code", "[a](b.md)", "[x]: y", "[[W]]", "[]("])
    | st.sampled_from(["https://e.org/a.", "![i](p.png)"])
)
MARKDOWN = st.lists(LINES | st.text(max_size=20), max_size=30).map("\n".join) | st.text()


@given(MARKDOWN)
def test_any_text_is_read_as_markdown_or_refused(text: str) -> None:
    try:
        document = read_markdown(text.encode(), "a/b.md")
    except Unreadable:
        return
    assert document.content == text.removeprefix("\ufeff")
    assert document.title
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.content)
        assert document.content[block.start : block.end].strip()
        end = block.end
    for link in document.links:
        assert 0 <= link.block < len(document.blocks)


@given(st.binary())
def test_any_bytes_are_text_or_refused(raw: bytes) -> None:
    try:
        document = read_text(raw, "a.txt")
    except Unreadable:
        return
    document.content.encode()
    between = [0, *(p for b in document.blocks for p in (b.start, b.end)), len(document.content)]
    assert between == sorted(between)
    gaps = zip(between[::2], between[1::2], strict=True)
    assert not "".join(document.content[start:end] for start, end in gaps).strip()


TOML = '# of a shop\nname = "shop"\n\n[tool.ruff]\nline-length = 99\n\n[[tool.more]] # two\na = 1\n'


def test_sections_are_headings() -> None:
    document = read_settings(TOML.encode(), "shop/pyproject.toml")
    assert [(block.heading, TOML[block.start : block.end]) for block in document.blocks] == [
        ("shop/pyproject.toml", '# of a shop\nname = "shop"'),
        ("shop/pyproject.toml > tool.ruff", "[tool.ruff]\nline-length = 99"),
        ("shop/pyproject.toml > tool.more", "[[tool.more]] # two\na = 1"),
    ]


def test_data_is_no_text() -> None:
    with pytest.raises(Exception, match="data rather than text"):
        read_settings(b'{"a": 1}\n' * 50_000, "package-lock.json")


def test_a_repository_has_more_than_code(path: Path, tmp_path: Path) -> None:
    repository = tmp_path / "shop"
    repository.mkdir()
    (repository / "pyproject.toml").write_text(TOML)
    (repository / "Makefile").write_text("test:\n\tpytest --quiet\n")
    (repository / "ci.yaml").write_text("jobs:\n  lint:\n    run: ruff check\n")
    (repository / "messages.json").write_text('{"message": "Your basket is empty"}\n')
    (repository / "schema.sql").write_text("CREATE TABLE baskets (id INTEGER);\n")
    with hades.open(path) as memory:
        assert memory.ingest(repository).skipped == []
        assert memory.search("which table has the baskets")[0].chunk.topic == "shop/schema.sql"
        assert memory.search("basket is empty")[0].chunk.topic == "shop/messages.json"


def test_brackets_go_however_deep_they_are() -> None:
    assert without_brackets("Ann (MIT (Boston)), Bob) (x", "()") == "Ann , Bob) (x"
    assert without_brackets("a" + "<" * 100_000 + ">" * 100_000 + "b", "<>") == "ab"
