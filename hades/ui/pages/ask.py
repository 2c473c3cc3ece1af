"""Ask: a question, its answer with sources, and how it was found."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from hades.domain.answer import Answer, Recall, unlabelled, without_controls
from hades.domain.plain import one_line
from hades.domain.question import Mode
from hades.errors import InvalidInput
from hades.ui.cards import (
    chunk_address,
    fact_card,
    passage_card,
    path_card,
    source_address,
    theme_card,
)
from hades.ui.controls import box, button, copy_dialog, empty, field, form, link, select, text
from hades.ui.copies import copies_of
from hades.ui.finding import how_found
from hades.ui.frame import Frame, no_notes, page
from hades.ui.network import paths_chart

_MODES = {"": "Any breadth", "execution": "Brief", "planning": "Broad", "brainstorming": "Widest"}
_GOOD = {"passage": ("useful", "useless"), "path": ("used", "rejected")}


@page("/", "Ask")
async def ask(frame: Frame) -> None:
    """Draw the form and, if there is a question, its answer."""
    question = frame.query.get("q", "")
    text("Ask the memory", "", "h1")
    with form(lambda given: frame.show(**given), "line"):
        field("q", "Your question", question, "grow", type="search", autocomplete="off")
        select("mode", "How broad the answer is", _MODES, frame.query.get("mode", ""))
        budget = field(
            "budget", "Token budget", frame.query.get("budget", ""), type="number", min=50
        )
        budget.style("width: 9.5em")
        text("Ask", "act main", "button", type="submit")
    place = box("stack").style("margin-top: 20px")
    with place, frame.errors():
        if not question.strip():
            await _welcome(frame)
            return
        answer: Answer = await frame.call("ask", question=question, **_options(frame.query))
        _show(frame, answer)


def _options(query: dict[str, str]) -> dict[str, Any]:
    budget, mode = query.get("budget", ""), query.get("mode", "")
    if budget and not budget.isdecimal():
        raise InvalidInput("The budget is a whole number of tokens, at least 50.")
    given = {"mode": Mode(mode) if mode in set(Mode) else None}
    return given | {"budget": int(budget[:9]) if budget else None}


async def _welcome(frame: Frame) -> None:
    topics = await frame.call("topics", limit=1)
    if topics:
        empty("Ask in plain words: what, why, when, who, or how two things are connected.",
              then="Or look through the topics", href=frame.address("/topics"))  # fmt: skip
    else:
        no_notes(frame)


def _show(frame: Frame, answer: Answer) -> None:
    recall = answer.recall
    judge = partial(_judge, frame, recall.id) if recall.id and frame.may_write else None
    with box("two"):
        with box("stack"):
            _answer(frame, answer)
            if recall.themes:
                text("Themes", "", "h2")
                for number, theme in enumerate(recall.themes, 1):
                    theme_card(frame, number, theme)
            if recall.facts:
                text("Facts", "", "h2")
                for number, fact in enumerate(recall.facts, 1):
                    fact_card(frame, number, fact)
            if recall.passages:
                text("Passages", "", "h2")
            for number, passage in enumerate(recall.passages, 1):
                passage_card(frame, number, passage, judge)
            if recall.paths:
                text("Paths", "", "h2")
                with box("card network", role="img", **{"aria-label": "Paths, drawn"}):
                    ui.echart(paths_chart(recall.paths)).style("height: 260px")
            for number, path in enumerate(recall.paths, 1):
                path_card(frame, number, path, judge)
        with box("stack"):
            how_found(recall)


def _answer(frame: Frame, answer: Answer) -> None:
    with box("card stack", "section", **{"aria-label": "Answer", "aria-live": "polite"}):
        with box("answer"):
            for sentence in answer.sentences:
                words = without_controls(unlabelled(sentence.text))
                is_path = any(label.startswith("[P") for label in sentence.labels)
                with text(_arrows(words) if is_path else words, "", "p"):
                    for label in sentence.labels:
                        _citation(frame, answer.recall, label)
            if answer.shortfall:
                text(answer.shortfall, "muted")
        with box("line"):
            text("Copy as", "muted small")
            options = _options(frame.query)
            url = str(ui.context.client.request.base_url)
            copies = copies_of(answer, url, frame.space, frame.moment, options)
            for name, content in copies.items():
                button(name, partial(copy_dialog, name, content), "quiet")


def _arrows(path: str) -> str:
    """Return a path in words with arrows instead of brackets."""
    for sign, arrow in (("<--[", "← "), ("]-->", " →"), ("]--", " –"), ("--[", "– ")):
        path = path.replace(sign, arrow)
    return path


def _citation(frame: Frame, recall: Recall, label: str) -> None:
    """Draw a citation: a passage or a stated fact opens its source, others their card."""
    name = label.strip("[]")
    kind = {"F": "fact", "P": "path", "T": "theme"}.get(name[0], "passage")
    number = int(name.lstrip("FPT"))
    if kind == "passage" and number <= len(recall.passages):
        chunk = recall.passages[number - 1].chunk
        place = source_address(frame, chunk.topic, chunk.version, chunk.ordinal)
        link(name, place, "number", title=f"{chunk.topic}, version {chunk.version}")
    elif kind == "fact" and (stated := recall.facts[number - 1].edge.provenance) is not None:
        link(name, chunk_address(frame, stated.chunk), "number", title=one_line(stated.chunk))
    else:
        link(name, f"#{kind}-{number}", "number")


async def _judge(frame: Frame, recall: str, target: str, good: bool) -> None:
    with frame.errors():
        await give_feedback(frame, recall, target, good)
        ui.notify("Thank you: noted.", position="bottom")


async def give_feedback(frame: Frame, recall: str, target: str, good: bool) -> None:
    """Say that a target of a recall, such as `passage:1`, was good or not."""
    kind, _, number = target.partition(":")
    value = number if kind == "passage" else target
    await frame.call_now("feedback", recall=recall, **{_GOOD[kind][0 if good else 1]: [value]})
