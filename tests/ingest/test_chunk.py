"""Chunks: every character of every block once, in passages of a bounded size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.ingest.chunk import CHARACTERS_PER_TOKEN_AT_MOST, CountTokens, chunk
from hades.ingest.document import Block, ChunkSpan, Document, IntroducedName, Origin
from hades.ingest.readers.markdown import read_markdown
from hades.ingest.readers.text import read_text


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def text_document(text: str) -> Document:
    return read_text(text.encode(), "a.txt")


def texts(document: Document, passages: list[ChunkSpan]) -> list[str]:
    return [document.content[passage.start : passage.end] for passage in passages]


def covered_once(document: Document, passages: list[ChunkSpan]) -> bool:
    """Whether the passages are in order, apart, trimmed, and hold all that the blocks do."""
    missing = [False] * len(document.content)
    for block in document.blocks:
        for at in range(block.start, block.end):
            missing[at] = not document.content[at].isspace()
    end = 0
    for passage in passages:
        text = document.content[passage.start : passage.end]
        assert end <= passage.start < passage.end
        assert text == text.strip()
        missing[passage.start : passage.end] = [False] * (passage.end - passage.start)
        end = passage.end
    return not any(missing)


def test_small_neighbours_are_joined_up_to_the_target() -> None:
    document = text_document("\n\n".join(["one two three"] * 5))
    passages = chunk(document, words, limit=10, target=7)
    assert [passage.blocks for passage in passages] == [(0, 1), (2, 3), (4,)]
    assert [passage.tokens for passage in passages] == [6, 6, 3]
    assert [passage.ordinal for passage in passages] == [0, 1, 2]


def test_headings_part_passages_and_names_go_with_them() -> None:
    document = read_markdown(b"# A\n\none\n\n## B\n\ntwo\n\nthree", "a.md")
    passages = chunk(document, words)
    assert texts(document, passages) == ["# A\n\none", "## B\n\ntwo\n\nthree"]
    assert [passage.heading for passage in passages] == ["A", "A > B"]
    assert passages[1].names == (IntroducedName("B", Origin.HEADING),)


def test_a_whole_block_stays_alone_but_is_cut_when_too_large() -> None:
    content = "one\n\ntwo\n\nthree three three three\n\nfour"
    spans = [(0, 3, False), (5, 8, True), (10, 33, True), (35, 39, False)]
    blocks = tuple(Block(start, end, whole=whole) for start, end, whole in spans)
    document = Document("a", content, blocks=blocks)
    passages = chunk(document, words, limit=3, target=2)
    assert [passage.blocks for passage in passages] == [(0,), (1,), (2,), (2,), (3,)]
    assert texts(document, passages)[2:4] == ["three three", "three three"]


def test_what_no_block_holds_keeps_its_neighbours_apart() -> None:
    document = Document("a", "one SKIP two", blocks=(Block(0, 3), Block(9, 12)))
    assert texts(document, chunk(document, words)) == ["one", "two"]


def test_a_large_block_is_cut_where_a_sentence_ends() -> None:
    sentences = [f"This is sentence number {n}, e.g. a short one." for n in range(30)]
    document = text_document(" ".join(sentences))
    passages = chunk(document, words, limit=40, target=30)
    assert len(passages) > 5
    assert all(text.endswith("one.") for text in texts(document, passages))


def test_items_rows_and_lines_are_not_torn() -> None:
    document = text_document("\n".join(f"2024-01-01 12:00 started job {n}" for n in range(100)))
    for text in texts(document, chunk(document, words, limit=50, target=40)):
        assert text.startswith("2024")
        assert text.split()[-2] == "job"


def test_text_without_spaces_is_cut_at_its_own_full_stops() -> None:
    document = text_document("吾輩は猫である。名前はまだ無い。" * 200)
    passages = chunk(document, characters)
    assert all(text.endswith("。") for text in texts(document, passages))
    assert covered_once(document, passages)


@pytest.mark.parametrize("unit", ["x", "word ", "漢", "x.y,z;"])
@pytest.mark.parametrize("count", [words, characters])
def test_a_line_of_a_megabyte(unit: str, count: CountTokens) -> None:
    document = text_document(unit * (1_000_000 // len(unit)))
    passages = chunk(document, count)
    assert max(passage.tokens for passage in passages) <= 220
    longest = max(passage.end - passage.start for passage in passages)
    assert longest <= 220 * CHARACTERS_PER_TOKEN_AT_MOST
    assert covered_once(document, passages)


def test_a_heading_is_not_left_alone_because_its_paragraph_is_long() -> None:
    document = read_markdown(b"# A heading\n\n" + b"word " * 158, "a.md")
    assert [passage.tokens for passage in chunk(document, words)] == [161]


def test_a_document_without_blocks_is_one_block() -> None:
    document = Document("a", "  some text ")
    assert texts(document, chunk(document, words)) == ["some text"]
    assert chunk(Document("a", ""), words) == []


def test_a_character_that_is_above_the_limit_is_a_passage() -> None:
    document = text_document("abc")
    passages = chunk(document, lambda texts: [1000] * len(texts))
    assert texts(document, passages) == ["a", "b", "c"]


def test_the_counter_is_called_with_many_texts_at_once() -> None:
    calls: list[int] = []

    def count(batch: Sequence[str]) -> list[int]:
        calls.append(len(batch))
        return words(batch)

    chunk(text_document("\n\n".join(["word"] * 10_000)), count)
    assert len(calls) < 20


TEXTS = st.text(
    alphabet=st.sampled_from("ab. \n。漢é\u0301\u200d!?-|1)　\r\t") | st.characters(codec="utf-8")
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    content, blocks = "", []
    for part in draw(st.lists(TEXTS.map(lambda text: text * 3), max_size=12)):
        content += draw(st.sampled_from(["", " ", "\n\n", "gap"]))
        if part:
            heading = draw(st.sampled_from(["", "A", "A > B"]))
            block = Block(len(content), len(content) + len(part), heading, draw(st.booleans()))
            blocks.append(block)
            content += part
    return Document("a", content, blocks=tuple(blocks))


@given(
    documents(),
    st.sampled_from([words, characters]),
    st.integers(3, 40),
    st.integers(1, 40),
)
def test_every_document_is_held_once_in_bounded_passages(
    document: Document, count: CountTokens, limit: int, target: int
) -> None:
    target = min(limit, target)
    passages = chunk(document, count, limit, target)
    assert passages == chunk(document, count, limit, target)
    assert [passage.ordinal for passage in passages] == list(range(len(passages)))
    if document.blocks:
        assert covered_once(document, passages)
    for passage, text in zip(passages, texts(document, passages), strict=True):
        assert passage.tokens <= limit or len(text) == 1
        if document.blocks:
            own = [document.blocks[number] for number in passage.blocks]
            assert {block.heading for block in own} == {passage.heading}
            assert len(own) == 1 or not any(block.whole for block in own)
            assert own[0].start <= passage.start < own[0].end
            assert own[-1].start < passage.end <= own[-1].end


def test_a_long_table_is_cut_between_its_rows() -> None:
    rows = [f"| `option{n}` | Turns knob {n}. It is round. | {n} |" for n in range(60)]
    content = "\n".join(["| Name | Meaning | Default |", "| --- | --- | --- |", *rows])
    chunks = chunk(Document("a.md", content), lambda texts: [len(text.split()) for text in texts])
    assert len(chunks) > 2
    assert {line for span in chunks for line in content[span.start : span.end].split("\n")} == set(
        content.split("\n")
    )
