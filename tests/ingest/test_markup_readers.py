"""AsciiDoc, reStructuredText and Markdown of sites: clean text with the lines of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.ingest.chunk import chunk
from hades.ingest.document import Document, Unreadable
from hades.ingest.readers import reader_for

ASCIIDOC = """\
= frob(1)
:toc:

////
Licensed under the Example Licence.
////

== NAME
frob - Turn knobs, see linkgit:knob[1]

[synopsis]
frob [--force] <knob>

OPTIONS
-------

-f::
--force::

\tTurn even locked knobs. See
\t<<other.adoc#locks,the chapter
\ton locks>>.
ifdef::safe[]
\tNeeds `--yes`.
endif::safe[]
+
Second paragraph about {plus}force.
+
----
$ frob --force
# not a heading
----

knob.colour::
  The colour. One of:
+
--
red;;
  Hot.
blue;;
  Cold.
--

After the list. Visit https://example.org/frob[the site].

[NOTE]
====
Knobs are round.
====

.Limits
[cols="1,1"]
|===
|Name |Most

|knobs
|12
|===

include::footer.adoc[]
"""

RST = """\
.. Copyright the Example Project.

=====
Knobs
=====

.. toctree::
   :maxdepth: 2

   install
   More <guide/more>

.. _turning:

Turning
=======

Use :class:`~frob.Knob` as :ref:`the guide
<guide-label>` says, or see :doc:`/guide/more`, :pep:`8` and
`the site <https://example.org>`_::

    knob.turn()  # not prose

.. setting:: KNOB_LIMIT

``KNOB_LIMIT``
--------------

Default: ``12``

.. module:: frob

.. class:: Knob(size)

    .. versionadded:: 2.1

    A round thing.

    .. method:: turn()
    .. method:: aturn()

        Turns the knob.

.. warning::

    Do not lick |product|.

.. |product| replace:: the knob

``--force``
    Turn locked knobs.

=====  ======
Name   Most
=====  ======
knobs  12
       in all
=====  ======

.. code-block:: python

   # not a heading
   import frob
"""

SITE = """\
---
title: Front matter
---
<!-- Licensed under
the Example Licence. -->
import Tabs from '@theme/Tabs';

# Knobs

- [One](one.md)
- [Two](two.md)
- [Three](three.md)
- [Four](four.md)
- [Five](five.md)

<Tabs>
<TabItem value="linux" label="Linux">

Turn the {{< glossary_tooltip text="knob" term_id="knob" >}} with <b>care</b>.

</TabItem>
</Tabs>

:::note

Knobs are round.

:::

!!! warning "Hot"

    Do not lick `<b>it</b>`.

    ```html
    <script>kept()</script>
    ```

<script>
dropped();
</script>

These are supported:

- [A](a.md)
- [B](b.md)
- [C](c.md)
- [D](d.md)
- [E](e.md)
"""


def read(text: str, topic: str) -> Document:
    reader = reader_for(Path(topic))
    assert reader is not None
    return reader(text.encode(), topic)


def passages(document: Document) -> list[str]:
    spans = chunk(document, lambda texts: [len(text.split()) for text in texts])
    return [document.content[span.start : span.end] for span in spans]


def line_of(text: str, part: str) -> int:
    return text.count("\n", 0, text.index(part)) + 1


def targets(document: Document) -> set[str]:
    return {link.target for link in document.links}


def test_asciidoc_keeps_options_with_their_descriptions() -> None:
    document = read(ASCIIDOC, "man/frob.adoc")
    blocks = {document.content[block.start : block.end]: block.heading for block in document.blocks}
    force = next(text for text in blocks if "--force`:" in text)
    assert force == (
        "- `-f`:\n  `--force`:\n\n  Turn even locked knobs. See\n  the chapter\n  on locks."
        "\n\n  Needs `--yes`.\n\n\n  Second paragraph about +force.\n\n  ```\n  $ frob --force"
        "\n  # not a heading\n  ```"
    )
    assert blocks[force] == "frob(1) > OPTIONS"
    colour = next(text for text in blocks if "knob.colour" in text)
    assert "- `red`:\n    Hot." in colour
    assert "After the list" not in colour
    assert "Note: Knobs are round." in blocks
    assert any("| Name | Most |\n| --- | --- |\n| knobs | 12 |" in text for text in blocks)
    assert not any("Licen" in text or ":toc:" in text for text in passages(document))


def test_rst_keeps_symbols_and_settings_with_their_descriptions() -> None:
    document = read(RST, "docs/knobs.rst")
    blocks = {document.content[block.start : block.end]: block.heading for block in document.blocks}
    knob = next(text for text in blocks if "class `Knob" in text)
    assert "Added in version 2.1: A round thing." in " ".join(knob.split())
    assert "- method `turn()`:\n  method `aturn()`:" in knob.replace("    ", "  ")
    assert "Turns the knob." in knob
    assert "Warning: Do not lick the knob." in blocks
    assert "- `--force`:\n  Turn locked knobs." in blocks
    assert any("| knobs | 12 in all |" in text for text in blocks)
    assert blocks["Default: `12`"] == "Knobs > Turning > KNOB_LIMIT"
    code = next(text for text in blocks if "import frob" in text)
    assert code == "```python\n# not a heading\nimport frob\n```"
    assert not any("Copyright" in text or "install" in text for text in passages(document))


def test_markup_becomes_text_and_its_links_edges() -> None:
    document = read(RST, "docs/knobs.rst")
    prose = " ".join(next(text for text in passages(document) if "Use" in text).split())
    assert "Use `Knob` as the guide says, or see /guide/more, PEP 8 and [the site]" in prose
    assert {
        "topic:docs/install.rst",
        "topic:docs/guide/more.rst",
        "https://peps.python.org/pep-0008/",
        "https://example.org",
        "guide-label",
        "frob.Knob",
    } <= targets(document)
    names = {name.text for block in document.blocks for name in block.names}
    assert {"turning", "KNOB_LIMIT", "Knob", "frob.Knob"} <= names
    manual = read(ASCIIDOC, "man/frob.adoc")
    assert "knob(1)" in manual.content
    assert {
        "topic:man/knob.adoc",
        "topic:man/other.adoc",
        "topic:man/footer.adoc",
        "https://example.org/frob",
    } <= targets(manual)


@pytest.mark.parametrize(
    ("text", "topic", "parts"),
    [
        (ASCIIDOC, "frob.adoc", ["$ frob --force", "After the list", "Knobs are round", "Hot."]),
        (RST, "knobs.rst", ["knob.turn()", "Turns the knob", "Do not lick", "import frob"]),
        (SITE, "knobs.mdx", ["# Knobs", "Knobs are round", "Do not lick", "[E](e.md)"]),
    ],
)
def test_lines_are_those_of_the_file(text: str, topic: str, parts: list[str]) -> None:
    document = read(text, topic)
    assert [line_of(document.content, part) for part in parts] == [
        line_of(text, part) for part in parts
    ]


def test_the_markup_of_sites_is_no_passage() -> None:
    document = read(SITE, "docs/knobs.mdx")
    shown = "\n".join(passages(document))
    for part in ("import", "Licence", "Tab", "dropped", "{{", ":::", "!!!", "one.md", "Front"):
        assert part not in shown
    assert "Linux:\n\nTurn the knob with care." in shown
    assert "Note: Knobs are round." in shown
    assert "**Hot**\n\nDo not lick `<b>it</b>`.\n\n```html\n<script>kept()</script>\n```" in shown
    assert "- [A](a.md)" in shown  # a sentence introduces this list
    assert {"topic:docs/one.md", "topic:docs/a.md"} <= targets(document)


def test_plain_markdown_is_stored_as_it_is() -> None:
    text = "# A\r\n\r\n<name> --> `<b>` 5 < 6\r\n\r\nexport is a word\r\n"
    assert read(text, "a.md").content == text


def test_a_licence_header_is_no_passage_but_a_licence_is() -> None:
    header = "Copyright (c) 2020 Ann Lee. All rights reserved."
    assert header not in passages(read(f"{header}\n\n# Knobs\n\nRound.", "a.md"))
    assert passages(read(header, "LICENSE.md")) == [header]


def test_text_files_with_directives_are_restructured_text() -> None:
    document = read(RST, "docs/knobs.txt")
    assert document.title == "Knobs"
    assert "topic:docs/guide/more.txt" in targets(document)
    plain = "Notes\n=====\n\nNothing special: `x`_ and ``y``.\n"
    assert read(plain, "notes.txt").content == plain


def test_the_header_of_a_proposal_gives_its_title() -> None:
    text = (
        "PEP: 5\nTitle: Knobs\nAuthor: Ann Lee\n\n\nAbstract\n========\n\nRound, :pep:`7` says.\n"
    )
    document = read(text, "peps/pep-0005.rst")
    assert document.title == "PEP 5 – Knobs"
    assert "- Author: Ann Lee" in passages(document)[0]
    assert document.blocks[-1].heading == "PEP 5 – Knobs > Abstract"
    assert targets(document) == {"topic:peps/pep-0007.rst"}


def test_a_long_entry_is_the_heading_of_its_parts() -> None:
    paragraphs = "\n+\n".join(f"Paragraph {at} " + "word " * 30 for at in range(12))
    document = read(f"== Options\n\n--long::\n{paragraphs}\n\nAfter.\n", "a.adoc")
    headings = {block.heading for block in document.blocks}
    assert read(f"--long::\n{paragraphs}\n", "config.adoc").title == "config"
    assert headings == {"Options", "Options > --long"}
    assert document.blocks[-1].heading == "Options"


@pytest.mark.parametrize("suffix", [".adoc", ".rst", ".mdx"])
def test_a_file_of_nothing_but_markup_is_refused(suffix: str) -> None:
    nothing = {".adoc": "// a\n", ".rst": ".. a\n", ".mdx": "<!-- a -->\n"}
    with pytest.raises(Unreadable, match="has no text in it"):
        read(nothing[suffix], f"a{suffix}")


MARKS = [
    *("= a", "a\n--", "a::", "b;;", "+", "--", "----", "|===", "|a|b", "[source,c]", "////", "a"),
    *(
        ".. a:: b",
        ".. note::",
        "..",
        "===",
        "a\n===",
        "a::",
        "== ==",
        "+-+",
        "|a|",
        ":b: c",
        "* - d",
    ),
    *("<!--", "-->", "!!! a", ":::note", "```", "<A", "{{< highlight >}}", '=== "a"', "> [!NOTE]"),
]


@given(st.lists(st.tuples(st.sampled_from(["", " ", "   ", "    ", "\t"]), st.sampled_from(MARKS))))
def test_any_markup_gives_blocks_in_order(rows: list[tuple[str, str]]) -> None:
    text = "# x\n\nword\n\n" + "\n".join(indent + mark for indent, mark in rows)
    for suffix in (".adoc", ".rst", ".mdx"):
        document = read(text, f"a{suffix}")
        ends = [0, *(end for block in document.blocks for end in (block.start, block.end))]
        assert ends == sorted(ends)
        assert ends[-1] <= len(document.content)


def test_references_between_files_become_edges(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.rst").write_text("Knobs\n=====\n\nSee :doc:`b` and :ref:`locks`.\n")
    (folder / "b.rst").write_text(
        ".. _locks:\n\nLocked knobs\n============\n\nA lock holds a knob.\n"
    )
    with hades.open(tmp_path / "m.hades") as memory:
        memory.ingest(folder, phases=("nodes", "chunks", "edges"))
        edges = {edge.target.name for edge in memory.edges("docs/a.rst")}
    assert edges == {"docs/b.rst", "locks"}


@pytest.mark.parametrize(
    ("topic", "line"),
    [("a.rst", "{pad}.. class:: A\n\n"), ("a.adoc", "a::\n+\n--\n"), ("a.md", "{pad}!!! note\n\n")],
)
def test_any_depth_of_nesting_is_read(topic: str, line: str) -> None:
    text = "".join(line.format(pad=" " * 4 * at) for at in range(400))
    assert "the end" in read(f"{text}\nthe end\n", topic).content
