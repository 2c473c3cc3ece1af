"""PPTX: every slide with its title, its text, its tables and the speaker's notes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import pptx
from pptx.exc import PythonPptxError
from pptx.shapes.autoshape import Shape
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide

from hades.ingest.document import Document, Origin
from hades.ingest.readers import archive
from hades.ingest.readers.compose import LINE_GAP, Composer
from hades.ingest.readers.damage import damage_told
from hades.ingest.readers.outline import name_of, one_line

KIND = "a presentation (.pptx)"


def read_pptx(raw: bytes, topic: str) -> Document:
    """A presentation, titled by the first slide that has a title."""
    archive.opened(raw, topic, KIND).close()
    composer = Composer(topic)
    with damage_told(topic, KIND, PythonPptxError):
        source = pptx.Presentation(io.BytesIO(raw))
        titles = [_add(slide, number, composer) for number, slide in enumerate(source.slides, 1)]
    return composer.document(next(filter(None, titles), ""), {"slides": len(titles)})


def _add(slide: Slide, number: int, composer: Composer) -> str:
    """Add a slide under `slide 3 > Its title`; gives the title."""
    shape = slide.shapes.title
    title = one_line(shape.text_frame.text) if shape is not None else ""
    composer.outline.enter(1, f"slide {number}")
    if title:
        composer.outline.enter(2, title)
        composer.add(title, names=name_of(title, Origin.HEADING))
    skipped = None if shape is None else shape.shape_id
    for each in _flat(slide.shapes):
        if each.shape_id != skipped:
            _add_shape(each, composer)
    # Asking for the notes of a slide without any would add an empty page of them.
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        composer.add(f"Notes: {_lines(notes.text)}")
    return title


def _flat(shapes: Iterable[BaseShape]) -> Iterator[BaseShape]:
    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _add_shape(shape: BaseShape, composer: Composer) -> None:
    if isinstance(shape, GraphicFrame) and shape.has_table:
        for row in shape.table.rows:
            composer.add(" | ".join(one_line(cell.text) for cell in row.cells), gap=LINE_GAP)
    elif isinstance(shape, Shape):
        composer.add(_lines(shape.text_frame.text))


def _lines(text: str) -> str:
    """The library writes a line break within a paragraph as a vertical tab."""
    return text.replace("\v", "\n")
