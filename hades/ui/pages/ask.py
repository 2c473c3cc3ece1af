"""Ask: what the memory contains and can be asked, and conversations with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from nicegui import ui

from hades.domain.answer import Answer, Recall, Sentence
from hades.domain.brief import Brief, BriefLine
from hades.domain.plain import counted, one_line
from hades.domain.quoting import unlabelled, without_controls
from hades.domain.statement import day
from hades.errors import Unavailable
from hades.serve.auth.caller import Role
from hades.ui.cards import (
    Judge,
    chunk_address,
    fact_card,
    passage_card,
    path_card,
    source_address,
    theme_card,
)
from hades.ui.controls import box, button, field, fold, form, link, text
from hades.ui.finding import how_found
from hades.ui.frame import Frame, no_notes, page, result_or
from hades.ui.prose import stored

_GOOD = {"passage": ("useful", "useless"), "path": ("used", "rejected")}
QUESTIONS_KEPT = 6
"""The last questions of a conversation, which the address keeps."""
LINES_SHOWN = 6
WAITING_COUNTED = 1_000
TITLES = {
    "decisions": "Decisions",
    "open_threads": "Still open",
    "changes": "What changed lately",
    "ended": "No longer true",
}
"""The parts of a brief."""


@page("/", "Ask")
async def ask(frame: Frame) -> None:
    """Draw the conversation in the address and the form; without a question, the home page."""
    questions = [*frame.query.get("before", "").splitlines(), frame.query.get("q", "")]
    questions = [question for question in questions if question.strip()][-QUESTIONS_KEPT:]
    text("Ask the memory", "", "h1")
    if not frame.query.get("q", "").strip():
        _form(frame, [])
        await _home(frame)
        return
    with box("two talk"):
        talk = box("stack")
        sources = box("stack", "section", **{"aria-label": "Sources"})
    with talk:
        with box("stack"), frame.errors():
            answer = await _talk(frame, questions)
            is_judged = frame.may_write and answer.recall.id
            judge = partial(_judge, frame, answer.recall.id) if is_judged else None
            with sources:
                _sources(frame, answer, judge)
            _explain(frame, answer, judge)
        _form(frame, questions)


async def _talk(frame: Frame, questions: Sequence[str]) -> Answer:
    """Ask the questions, each after the turns before it; return the last answer."""
    turns: list[str] = []
    for number, question in enumerate(questions, 1):
        earlier = questions[: number - 1]
        place = frame.address("/", q=question, before="\n".join(earlier))
        with text("", "asked", "h2"):
            asked = link(question, place)
        answer: Answer = await frame.call("ask", question=question, turns=turns or None)
        turns += [question, str(answer)]
        _answer(frame, answer, "" if number == len(questions) else place)
    if turns[2:]:
        asked.run_method("scrollIntoView")
    return answer


def _form(frame: Frame, before: Sequence[str]) -> None:
    """Draw the form for a question; `before` are the questions that it follows."""
    with form(lambda given: frame.show(q=given.get("q"), before="\n".join(before))):
        hint = "Ask a follow-up, or something new" if before else "What, why, when, who, how …"
        field("q", "Your question", "", "grow", type="search", autocomplete="off", placeholder=hint)
        text("Ask", "act main", "button", type="submit")
        if before:
            link("New conversation", frame.address("/"), "small")


async def _home(frame: Frame) -> None:
    """Draw the brief and what waits for a decision, then questions that can be asked."""
    brief: Brief = await frame.call("brief")
    if brief.is_empty and not await frame.call("topics", limit=1):
        no_notes(frame)
        return
    frame.draw_in(box("asks"), partial(_questions, frame))
    if frame.visitor.may(Role.WRITER, frame.space):
        waiting = await frame.call_now("proposals", limit=WAITING_COUNTED)
        if waiting:
            with box("note"):
                text(f"{counted(len(waiting), 'proposed change')} to decide on: ")
                link("Review", frame.address("/review"))
    with box("home"):
        for name, title in TITLES.items():
            if lines := getattr(brief, name):
                with box("card", "section", **{"aria-label": title}):
                    text(title, "", "h2")
                    for line in lines[:LINES_SHOWN]:
                        _line(frame, line)


async def _questions(frame: Frame) -> None:
    """Draw questions that this memory answers."""
    for question in await result_or(frame.call("sample_questions"), [], but=Unavailable):
        link(question, frame.address("/", q=question), "chip ask")


def _line(frame: Frame, line: BriefLine) -> None:
    """Draw a line of the brief, with its source."""
    topic, _, version = line.cite.rpartition("@")
    with box("told"):
        text(line.text, "", "p")
        with box("line small"):
            text(day(line.at), "muted")
            if topic:
                link(one_line(topic), source_address(frame, topic, int(version)))


def _sources(frame: Frame, answer: Answer, judge: Judge | None) -> None:
    """Draw the sources of an answer: themes, cited facts, and passages with the quoted sentences
    marked."""
    recall = answer.recall
    cited = defaultdict[tuple[str, int], list[str]](list)
    for sentence in answer.sentences:
        cited[sentence.kind, sentence.citation].append(sentence.text)
    text("Sources", "", "h2")
    for number, theme in enumerate(recall.themes, 1):
        theme_card(frame, number, theme)
    for number, fact in enumerate(recall.facts, 1):
        if ("fact", number) in cited:
            fact_card(frame, number, fact)
    for number, passage in enumerate(recall.passages, 1):
        marked = [] if answer.is_doubtful else cited["passage", number]
        passage_card(frame, number, passage, judge, marked)


def _explain(frame: Frame, answer: Answer, judge: Judge | None) -> None:
    """Draw further details: the paths, and how the answer was found."""
    recall = answer.recall
    with box("line"):
        button("Copy the answer", lambda: ui.clipboard.write(str(answer)), "quiet")
        button("Copy the prompt", lambda: ui.clipboard.write(recall.context), "quiet")
    if recall.paths:
        is_path = any(sentence.kind == "path" for sentence in answer.sentences)
        with fold(f"Connections ({len(recall.paths)})", is_open=is_path), box("stack"):
            for number, path in enumerate(recall.paths, 1):
                path_card(frame, number, path, judge)
    with fold("Explain"):
        how_found(recall)


def _answer(frame: Frame, answer: Answer, page: str) -> None:
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
    cited = recall.passages[sentence.citation - 1 :] if sentence.kind == "passage" else ()
    with box("sentence"):
        if sentence.kind == "path":
            text(_arrows(words))
        else:
            stored(cited[0].chunk.topic if cited else "", words)
        for label in sentence.labels:
            _citation(frame, recall, label, page, sentence.text)


def _arrows(path: str) -> str:
    """Return a path in words with arrows instead of brackets."""
    for sign, arrow in (("<--[", "← "), ("]-->", " →"), ("]--", " –"), ("--[", "– ")):
        path = path.replace(sign, arrow)
    return path


def _citation(frame: Frame, recall: Recall, label: str, page: str, sentence: str) -> None:
    """Draw a citation: a passage or a stated fact opens its source, others their card."""
    name = label.strip("[]")
    kind = {"F": "fact", "P": "path", "T": "theme"}.get(name[0], "passage")
    number = int(name.lstrip("FPT"))
    if kind == "passage" and number <= len(recall.passages):
        chunk = recall.passages[number - 1].chunk
        place = source_address(frame, chunk.topic, chunk.version, chunk.ordinal, sentence)
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
