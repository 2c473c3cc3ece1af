"""Prose: Markdown as a part of a page, with the sentences that answer marked in it.

Stored text may contain anything. Its HTML is shown as text. Of links and pictures only the words
are shown, since they could imitate the explorer or load something. The browser sanitises the result
again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from nicegui import ui
from nicegui.element import Element

from hades.language.sentences import place_said
from hades.ui.controls import text

_PROSE_SUFFIXES = ("", ".md", ".markdown", ".mdx", ".txt")
_MARKED = "\ue000\\g<0>\ue001"
"""Characters without a meaning around a marked text; Markdown treats them as letters."""
_LINE = re.compile(r"\w(?:[^\n]*\w)?[.!?…]?")
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
_MARKDOWN.add_render_rule("link_open", lambda *_: "")
_MARKDOWN.add_render_rule("link_close", lambda *_: "")
_MARKDOWN.add_render_rule("image", lambda _self, tokens, at, *_: escape(tokens[at].content))


def stored(topic: str, words: str, classes: str = "", marked: Sequence[str] = ()) -> Element:
    """Draw words of a topic: as Markdown with sentences `marked`, other files as they are."""
    if PurePosixPath(topic).suffix.lower() not in _PROSE_SUFFIXES:
        return text(words, f"source {classes}", "pre")
    for sentence in marked:
        start, end = place_said(words, sentence)
        words = words[:start] + _LINE.sub(_MARKED, words[start:end]) + words[end:]
    # Headings of the page itself are larger.
    html = re.sub(r"(</?h)[1-6]>", r"\g<1>4>", _MARKDOWN.render(words))
    html = html.replace("\ue000", "<mark>").replace("\ue001", "</mark>")
    return ui.html(html).classes(f"prose {classes}")
