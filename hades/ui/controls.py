"""Controls: native HTML elements for pages, with labels for screen readers.

A form sends its fields when it is submitted, so that typing sends nothing. Text is set as text,
never as HTML; `prose.py` shows Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from nicegui import html, ui
from nicegui.element import Element

Handler = Callable[[], Awaitable[object] | object]
ValueHandler = Callable[[Any], Awaitable[object] | object]

CHARACTERS_AT_MOST = 4_000
"""The most characters that a field takes; a question is read up to this length."""
FORM_BYTES_AT_MOST = 500_000
"""If a form is larger, the page sends its size only: the server would drop the connection."""
TOO_LARGE = "too_large"
_FIELDS = (
    "(event) => { event.preventDefault(); "
    "const sent = Object.fromEntries(new FormData(event.target)), "
    "size = new TextEncoder().encode(JSON.stringify(sent)).length; "
    f"emit(size > {FORM_BYTES_AT_MOST} ? {{too_large: size}} : sent) }}"
)
_VALUE = "(event) => emit(event.target.value)"


def box(classes: str = "", tag: str = "div", **attributes: Any) -> Element:
    """Return a container."""
    element = ui.element(tag).classes(classes)
    element.props.update(attributes)
    return element


def text(words: str, classes: str = "", tag: str = "span", **attributes: Any) -> Element:
    """Return an element with a text."""
    element: Element = getattr(html, tag)(words, **attributes)
    return element.classes(classes)


def link(words: str, href: str, classes: str = "", **attributes: Any) -> Element:
    """Return a link to another page of the explorer."""
    return text(words, classes, "a", href=href, **attributes)


def button(words: str, on_click: Handler, classes: str = "", **attributes: Any) -> Element:
    """Return a button; `on_click` runs on the server."""
    pressed = text(words, f"act {classes}", "button", type="button", **attributes)
    return pressed.on("click", lambda _event: on_click(), args=[])


def form(on_submit: ValueHandler, classes: str = "line") -> AbstractContextManager[Element]:
    """Return a form; `on_submit` gets the values of its fields by name."""
    element: Element = box(classes, "form")
    element.on("submit", lambda event: on_submit(event.args), js_handler=_FIELDS)
    return element


def field(name: str, label: str, value: str = "", classes: str = "", **attributes: Any) -> Element:
    """Return an input of a form. Its label is for screen readers; a placeholder shows it too."""
    # `defaultValue`, because a redrawn `value` would undo what was typed meanwhile.
    shown: dict[str, Any] = {
        "name": name,
        "aria-label": label,
        "placeholder": label,
        "defaultValue": value,
    }
    shown["maxlength"] = CHARACTERS_AT_MOST
    return text("", f"field {classes}", "input_", **{**shown, **attributes})


def select(
    name: str,
    label: str,
    options: Mapping[str, str],
    value: str,
    on_change: ValueHandler | None = None,
) -> Element:
    """Return a choice of values, shown by their names."""
    element = text("", "field", "select", name=name, **{"aria-label": label})
    with element:
        for option, words in options.items():
            chosen = {"selected": True} if option == value else {}
            text(words, "", "option", value=option, **chosen)
    if on_change is not None:
        element.on("change", lambda event: on_change(event.args), js_handler=_VALUE)
    return element


def slider(label: str, value: int, most: int, on_change: ValueHandler) -> Element:
    """Return a slider from 0 to `most`; `on_change` gets the value when it is let go."""
    element = text("", "grow", "input_", type="range", min=0, max=most, value=value)
    element.props["aria-label"] = label
    return element.on("change", lambda event: on_change(int(event.args)), js_handler=_VALUE)


def area(name: str, label: str, **attributes: Any) -> Element:
    """Return a large field of a form. The tab keeps what is typed, even through a sign-in."""
    shown = {"name": name, "aria-label": label, "placeholder": label, **attributes}
    element = text("", "field area", "textarea", **shown)
    key = json.dumps(f"hades {name}")
    # a browser without storage, or with a full one, raises an error
    keep = f"try {{ sessionStorage.setItem({key}, event.target.value) }} catch {{}}"
    element.on("input", js_handler=f"(event) => {{ {keep} }}")
    ui.run_javascript(
        f"try {{ getHtmlElement({element.id}).value = sessionStorage.getItem({key}) }} catch {{}}"
    )
    return element


def forget_area(name: str) -> None:
    """Empty a large field and the copy that the tab keeps, because the text was written."""
    ui.run_javascript(
        f"sessionStorage.removeItem({json.dumps(f'hades {name}')}); "
        f"document.getElementsByName({json.dumps(name)}).forEach(it => it.value = '')"
    )


def fold(title: str, *, is_open: bool = False) -> Element:
    """Return a part of the page that is shown when its title is pressed."""
    folded = box("fold", "details", **({"open": True} if is_open else {}))
    with folded:
        text(title, "", "summary")
    return folded


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw a plain table of texts."""
    with box("scroll", tabindex=0), box("", "table"):
        with box("", "thead"), box("", "tr"):
            for title in titles:
                text(title, "", "th", scope="col")
        with box("", "tbody"):
            for row in rows:
                with box("", "tr"):
                    for cell in row:
                        text(cell, "", "td")


def diff(lines: Sequence[str], most: int) -> None:
    """Draw lines of a difference, coloured by their first sign; the rest is counted."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    with box("diff"):
        for line in lines[:most]:
            text(line[:1000], kinds.get(line[:1], "same"))
    if len(lines) > most:
        text(f"{len(lines) - most:,} more lines are not shown.", "muted small")


def empty(words: str, *, then: str = "", href: str = "") -> None:
    """Say that there is nothing here, and what to do next."""
    with box("card empty"):
        text(words, "", "p")
        if href:
            link(then, href)
        elif then:
            text(then, "", "p")


def error(words: str) -> None:
    """Show an error in a sentence."""
    text(words, "error", "p", role="alert")


def copy_dialog(title: str, content: str, on_close: Handler = lambda: None) -> None:
    """Show a text in a dialog, with a button that copies it."""
    with ui.dialog(value=True) as dialog, box("card stack").style("max-width: 900px"):
        dialog.props["aria-label"] = title
        text(title, "", "h3")
        with box("scroll").style("max-height: 60vh"):
            text(content, "source", "pre", tabindex=0)
        dialog.on("hide", lambda _event: on_close(), args=[])
        with box("line"):
            button("Copy", lambda: ui.clipboard.write(content), "main")
            button("Close", dialog.close)
