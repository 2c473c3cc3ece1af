"""Prose: Markdown as elements of a page, with the sentences that answer marked in it.

Stored text may say anything. Its HTML is shown as text. Its links and pictures are shown as their
words, since they could pass for ours or load something. The browser sanitises the result again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import PurePosixPath
from typing import Any

from markdown_it import MarkdownIt
from nicegui import ui
from nicegui.element import Element

from hades.language.sentences import spans
from hades.ui.controls import text

SAID_CHARACTERS = 400
"""The beginning of a sentence by which it is found in its source."""
_BEGIN, _END = "\ue000", "\ue001"
"""Characters without a meaning, around what is marked; Markdown takes them for letters."""
_PROSE_SUFFIXES = ("", ".md", ".markdown", ".mdx", ".txt")
_LINE = re.compile(r"\w(?:[^\n]*\w)?[.!?…]?")
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
for _rule in ("link_open", "link_close"):
    _MARKDOWN.add_render_rule(_rule, lambda *_: "")


def _words_of_picture(_renderer: Any, tokens: Sequence[Any], at: int, *_: Any) -> str:
    return escape(tokens[at].content)


_MARKDOWN.add_render_rule("image", _words_of_picture)


def stored(topic: str, words: str, classes: str = "", said: Sequence[str] = ()) -> Element:
    """Draw words of a topic: Markdown, or as they are if its name is that of another file."""
    if PurePosixPath(topic).suffix.lower() in _PROSE_SUFFIXES:
        return prose(words, classes, said)
    return text(words, f"source {classes}", "pre")


def prose(words: str, classes: str = "", said: Sequence[str] = ()) -> Element:
    """Draw Markdown; sentences in `said` are marked."""
    for sentence in said:
        start, end = place_of(words, sentence)
        marked = _LINE.sub(rf"{_BEGIN}\g<0>{_END}", words[start:end])
        words = words[:start] + marked + words[end:]
    tokens = _MARKDOWN.parse(words)
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = "h4"
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    html = html.replace(_BEGIN, "<mark>").replace(_END, "</mark>")
    return ui.html(html).classes(f"prose {classes}")


def place_of(words: str, sentence: str) -> tuple[int, int]:
    """Return where a text says a sentence, whatever its marks; (0, 0) if it does not.

    >>> place_of("# Tea\\n\\nAnn *likes* tea. Ben does not.", "Ann likes tea.")
    (7, 23)
    """
    own = list(re.finditer(r"\w+", words))
    told = re.findall(r"\w+", sentence[:SAID_CHARACTERS].casefold())
    texts = [word[0].casefold() for word in own]
    run = SequenceMatcher(None, texts, told, autojunk=False).find_longest_match()
    if run.size < min(3, len(told)) or not run.size:
        return 0, 0
    start, end = own[run.a].start(), own[run.a + run.size - 1].end()
    around = [(low, high) for low, high in spans(words) if low < end and high > start]
    return min(start, around[0][0]), max(end, around[-1][1])
