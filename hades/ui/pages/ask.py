"""Ask: a conversation with the memory, the sources of its answers, and how they were found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from nicegui import ui

from hades.domain.answer import Answer, Recall, Sentence, unlabelled, without_controls
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
from hades.ui.controls import box, button, copy_dialog, field, fold, form, link, select, text
from hades.ui.copies import copies_of
from hades.ui.finding import how_found
from hades.ui.frame import Frame, page
from hades.ui.network import paths_chart
from hades.ui.pages.home import home
from hades.ui.prose import stored

_MODES = {"": "Any breadth", "execution": "Brief", "planning": "Broad", "brainstorming": "Widest"}
_GOOD = {"passage": ("useful", "useless"), "path": ("used", "rejected")}
QUESTIONS_KEPT = 6
"""The last questions of a conversation, which the address keeps."""
TURN_CHARACTERS = 1_000


@page("/", "Ask")
async def ask(frame: Frame) -> None:
    """Draw the conversation in the address and the form; without a question, the home page."""
    question = frame.query.get("q", "")
    before = [line for line in frame.query.get("before", "").splitlines() if line.strip()]
    before = before[1 - QUESTIONS_KEPT :]
    text("Ask the memory", "", "h1")
    if not question.strip():
        _form(frame, [])
        await home(frame)
        return
    turns: list[str] = []
    with box("two talk"):
        talk = box("stack")
        sources = box("stack", "section", **{"aria-label": "Sources"})
    with talk, frame.errors():
        for number, asked in enumerate(before):
            earlier = await _answered(frame, asked, turns)
            address = frame.address("/", q=asked, before="\n".join(before[:number]))
            link(asked, address, "asked")
            _answer(frame, earlier, address)
        asking = text(question, "asked", "h2")
        if before:
            asking.run_method("scrollIntoView")
        answer = await _answered(frame, question, turns)
        _answer(frame, answer)
        with sources:
            _sources(frame, answer)
        _form(frame, [*before, question])
        _copies(frame, answer)
        _explain(frame, answer)


async def _answered(frame: Frame, question: str, turns: list[str]) -> Answer:
    """Ask a question after the turns, and add it to them with its answer."""
    answer: Answer = await frame.call(
        "ask", question=question, turns=turns or None, **_options(frame.query)
    )
    turns += [question[:TURN_CHARACTERS], str(answer)[:TURN_CHARACTERS]]
    return answer


def _options(query: dict[str, str]) -> dict[str, Any]:
    budget, mode = query.get("budget", ""), query.get("mode", "")
    if budget and not budget.isdecimal():
        raise InvalidInput("The budget is a whole number of tokens, at least 50.")
    given = {"mode": Mode(mode) if mode in set(Mode) else None}
    return given | {"budget": int(budget[:9]) if budget else None}


def _form(frame: Frame, before: Sequence[str]) -> None:
    """Draw the form for a question; `before` are the questions that it follows."""
    hint = "Ask a follow-up, or something new" if before else "What, why, when, who, how …"

    async def asked(given: dict[str, str]) -> None:
        await frame.show(**given, before="\n".join(before))

    with form(asked, "line"):
        hints = {"type": "search", "autocomplete": "off", "placeholder": hint}
        field("q", "Your question", "", "grow", **hints)
        text("Ask", "act main", "button", type="submit")
        if before:
            link("New conversation", frame.address("/"), "small")
        with fold("Options"), box("line"):
            select("mode", "How broad the answer is", _MODES, frame.query.get("mode", ""))
            budget = frame.query.get("budget", "")
            field("budget", "Token budget", budget, type="number", min=50).style("width: 9.5em")


def _sources(frame: Frame, answer: Answer) -> None:
    """Draw what the answer is from: themes, facts and passages, with their sentences marked."""
    recall = answer.recall
    judge = partial(_judge, frame, recall.id) if recall.id and frame.may_write else None
    said = defaultdict[int, list[str]](list)
    for sentence in answer.sentences:
        if sentence.kind == "passage" and not answer.is_doubtful:
            said[sentence.citation].append(sentence.text)
    if recall.themes:
        text("Themes", "", "h2")
        for number, theme in enumerate(recall.themes, 1):
            theme_card(frame, number, theme)
    _facts(frame, answer, cited=True)
    if recall.passages:
        text("Passages", "", "h2")
    for number, passage in enumerate(recall.passages, 1):
        passage_card(frame, number, passage, judge, said[number])


def _facts(frame: Frame, answer: Answer, *, cited: bool) -> None:
    """Draw the facts that the answer cites, or those that it does not."""
    told = {said.citation for said in answer.sentences if said.kind == "fact"}
    for number, fact in enumerate(answer.recall.facts, 1):
        if (number in told) == cited:
            fact_card(frame, number, fact)


def _explain(frame: Frame, answer: Answer) -> None:
    """Draw what is for those who look closer: other facts, paths, and how it was found."""
    recall = answer.recall
    judge = partial(_judge, frame, recall.id) if recall.id and frame.may_write else None
    if recall.paths:
        is_path = any(sentence.kind == "path" for sentence in answer.sentences)
        with fold(f"Connections ({len(recall.paths)})", is_open=is_path), box("stack"):
            with box("card network", role="img", **{"aria-label": "Paths, drawn"}):
                ui.echart(paths_chart(recall.paths)).style("height: 260px")
            for number, path in enumerate(recall.paths, 1):
                path_card(frame, number, path, judge)
    with fold("Explain"):
        how_found(answer)
        with box("stack"):
            _facts(frame, answer, cited=False)


def _answer(frame: Frame, answer: Answer, page: str = "") -> None:
    """Draw the sentences of an answer; `page` shows its cards, if that is another one."""
    with box("card answer", "section", **{"aria-label": "Answer", "aria-live": "polite"}):
        if answer.shortfall:
            closest = " The closest:" if answer.sentences else ""
            text(answer.shortfall + closest, "doubt", "p")
        with box("doubted" if answer.is_doubtful else ""):
            for sentence in answer.sentences:
                _sentence(frame, answer.recall, sentence, page)


def _sentence(frame: Frame, recall: Recall, sentence: Sentence, page: str) -> None:
    words = without_controls(unlabelled(sentence.text))
    with box("sentence"):
        cited = recall.passages[sentence.citation - 1] if sentence.kind == "passage" else None
        if sentence.kind == "path":
            text(_arrows(words))
        else:
            stored(cited.chunk.topic if cited else "", words)
        for label in sentence.labels:
            _citation(frame, recall, label, page, sentence.text)


def _copies(frame: Frame, answer: Answer) -> None:
    with box("line"):
        text("Copy as", "muted small")
        url = str(ui.context.client.request.base_url)
        copies = copies_of(answer, url, frame.space, frame.moment, _options(frame.query))
        for name, content in copies.items():
            button(name, partial(copy_dialog, name, content), "quiet")


def _arrows(path: str) -> str:
    """Return a path in words with arrows instead of brackets."""
    for sign, arrow in (("<--[", "← "), ("]-->", " →"), ("]--", " –"), ("--[", "– ")):
        path = path.replace(sign, arrow)
    return path


def _citation(frame: Frame, recall: Recall, label: str, page: str, said: str) -> None:
    """Draw a citation: a passage or a stated fact opens its source, others their card."""
    name = label.strip("[]")
    kind = {"F": "fact", "P": "path", "T": "theme"}.get(name[0], "passage")
    number = int(name.lstrip("FPT"))
    if kind == "passage" and number <= len(recall.passages):
        chunk = recall.passages[number - 1].chunk
        place = source_address(frame, chunk.topic, chunk.version, chunk.ordinal, said)
        link(name, place, "number", title=f"{chunk.topic}, version {chunk.version}")
    elif kind == "fact" and (stated := recall.facts[number - 1].edge.provenance) is not None:
        link(name, chunk_address(frame, stated.chunk), "number", title=one_line(stated.chunk))
    else:
        link(name, f"{page}#{kind}-{number}", "number")


async def _judge(frame: Frame, recall: str, target: str, good: bool) -> None:
    with frame.errors():
        await give_feedback(frame, recall, target, good)
        ui.notify("Thank you: noted.", position="bottom")


async def give_feedback(frame: Frame, recall: str, target: str, good: bool) -> None:
    """Say that a target of a recall, such as `passage:1`, was good or not."""
    kind, _, number = target.partition(":")
    value = number if kind == "passage" else target
    await frame.call_now("feedback", recall=recall, **{_GOOD[kind][0 if good else 1]: [value]})
