"""The plain text of answers, recalls, hits of a search and contexts, and of the reasons in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hades.context.text.evidence import (
    fact_line,
    lines_of,
    passage_line,
    path_line,
    place_line,
    theme_line,
)
from hades.context.text.layout import (
    PlainText,
    TextBody,
    TextLine,
    excerpt,
    flat,
    held_days,
    joined,
    quoted,
    shown_cite,
    writes,
)
from hades.domain.answer import (
    Answer,
    Diagnostic,
    Fact,
    Interval,
    Passage,
    Path,
    Recall,
    StageReport,
    WorkingMemory,
)
from hades.domain.context import BudgetedContext
from hades.domain.graph import Reason
from hades.domain.plain import counted
from hades.domain.question import Intent
from hades.domain.strength import Strength
from hades.domain.topics import Chunk, Hit

BAR_CHARACTERS = 32
_CITED = ("fact", "passage")
"""The kinds of sources whose citation is shown to a model."""
AFFECTS_SENTENCES = {
    Reason.ARCHIVE_LOST,
    Reason.CUT_QUESTION,
    Reason.ENCODER_FAILED,
    Reason.NOT_CONNECTED,
    Reason.NOT_INDEXED,
    Reason.VOLUME_MISSING,
}
"""The reasons that are shown with an answer in sentences; the others concern its context."""

_PLAIN = {
    Reason.TIMEOUT: "stopped {detail}",
    Reason.BUDGET_EXHAUSTED: "limited by the budget: {detail}",
    Reason.EVICTED: "left out for lack of space: {detail}",
    Reason.CLAMPED: "outside the allowed range: {detail}",
    Reason.NO_EMBEDDINGS: "{detail}, and are found by words and names only",
    Reason.ENCODER_FAILED: "found by words and names only, the encoder failed: {detail}",
    Reason.NOT_INDEXED: "not everything is indexed yet: {detail}",
    Reason.NOTHING_KNOWN: "{detail}",
    Reason.NOTHING_NOTED: "{detail}",
    Reason.NOT_CONNECTED: "{detail}",
    Reason.CUT_QUESTION: "the question was shortened: {detail}",
    Reason.NO_HIERARCHY: "{detail}",
    Reason.ARCHIVE_LOST: "without what lies in the archive: {detail}",
    Reason.VOLUME_MISSING: "without a part of the library: {detail}",
}
"""The reasons that affect an answer. All others are details for `--explain`."""


@writes(Recall)
def recall_lines(recall: Recall, *, explain: bool = False) -> PlainText:
    """List the facts, passages and paths of a recall; with `explain` also scores and stages."""
    yield _recall_head(recall, explain=explain)
    if explain:
        yield TextLine(str(recall.asked))
    yield from _time(recall)
    for number, theme in enumerate(recall.themes, start=1):
        yield TextLine(theme_line(number, theme), (f"score {theme.score:.3f}",) * explain)
    for number, fact in enumerate(recall.facts, start=1):
        scored = (f"score {fact.score:.3f}", _edge(fact)) if explain else ()
        yield TextLine(fact_line(number, fact), (*scored, _belief(fact.belief, explain=explain)))
    for number, passage in enumerate(recall.passages, start=1):
        yield from _passage(number, passage, explain=explain)
    if not recall.passages and not recall.facts:
        yield nothing_found(recall)
    if recall.paths:
        yield TextLine("Paths:", style="head")
        yield from path_lines(recall.paths, explain=explain)
    yield from reason_lines(recall.reasons, explain=explain)
    if explain:
        yield from _stages(recall)


def context_text(recall: Recall, at_most: int) -> str:
    """Return the packed context, how to cite it, and the reasons that affect it.

    A context that is too long for `at_most` characters loses its last passages, not its citations.
    """
    reasons = reason_lines(recall.reasons)
    if not recall.passages and not recall.paths and not recall.facts:
        line = nothing_found(recall)
        return joined([line] if Reason.NOTHING_KNOWN in _reasons(recall) else [line, *reasons])
    cited = sorted(recall.citations, key=lambda cited: _label_order(cited.label))
    cites = [f"{one.label} {shown_cite(one.cite)}" for one in cited if one.kind in _CITED]
    lines = [*_time(recall), TextLine(f"Cite as: {', '.join(cites)}")]
    if recall.id:
        lines.append(TextLine(f"Recall: {recall.id}"))
    if not any(note.reason is Reason.FALLBACK and note.stage == "rank" for note in recall.reasons):
        lines.append(TextLine(f"How likely the answer is among these: {recall.belief.mean:.2f}"))
    end = f"\n\n{joined([*lines, *reasons])}"
    return recall.context[: max(at_most - len(end), 0)] + end


@writes(Answer)
def answer_lines(answer: Answer) -> PlainText:
    """Write what is not answered, the sentences of an answer, and the source of each."""
    recall = answer.recall
    if answer.shortfall:
        yield TextLine(f"{answer.shortfall} Closest:" if answer.sentences else answer.shortfall)
    for sentence in answer.sentences:
        yield TextBody(sentence.marked())
    yield from _time(recall)
    affects = set(AFFECTS_SENTENCES)
    if recall.level or any(note.stage == "themes" for note in recall.reasons):
        affects.add(Reason.NO_HIERARCHY)  # of some days, or of themes
    if recall.intent is Intent.RELATION:
        affects.add(Reason.BUDGET_EXHAUSTED)
    yield from reason_lines(note for note in recall.reasons if note.reason in affects)
    labels = {label for sentence in answer.sentences for label in sentence.labels}
    for label in sorted(labels, key=_label_order):
        yield TextLine(f"{label} {_source(label, recall)}", style="quiet")
    if answer.fallback:
        yield TextLine(f"extracted, since the model did not help: {flat(answer.fallback)}")
    if answer.unsupported:
        yield TextLine(f"unsupported sentences of the model: {answer.unsupported}")
    if answer.kind == "model" and answer.usage is not None:
        yield TextLine(f"In the words of {answer.usage.model}, checked against the context.")
    if answer.usage is not None:
        would = "would take at most, " if answer.kind == "dry_run" else ""
        yield TextLine(f"{would}{answer.usage}", style="quiet")


def reason_lines(diagnostics: Iterable[Diagnostic], *, explain: bool = False) -> list[TextLine]:
    """Return a line for each diagnostic that affects an answer; with `explain`, for all of them."""
    told = [str(note) if explain else _plain(note) for note in diagnostics]
    return [TextLine(line, style="warning") for line in dict.fromkeys(told) if line]


def _plain(diagnostic: Diagnostic) -> str:
    return _PLAIN.get(diagnostic.reason, "").format(detail=diagnostic.detail).removesuffix(": ")


def nothing_found(recall: Recall) -> TextLine:
    """Return a line that says that nothing was found, and what to do."""
    reasons = _reasons(recall)
    if Reason.NOTHING_KNOWN in reasons and Reason.NOT_INDEXED not in reasons:
        return nothing_remembered(past=any((recall.valid, recall.known, recall.time)))
    return TextLine("Nothing that is remembered fits: ask in other words, or see `topics`.")


def nothing_remembered(*, past: bool) -> TextLine:
    """Return a line that says that a space is empty or, with `past`, was so at that time."""
    if past:
        return TextLine("Nothing was remembered here at that time.")
    return TextLine("Nothing is remembered here yet: `remember` writes the first note.")


@writes(list[Hit])
def hit_lines(hits: Sequence[Hit]) -> PlainText:
    """List the hits of a search: where, how well and by which retriever, then the passage."""
    for number, hit in enumerate(hits, start=1):
        retrievers = (f"{name} {score:.3g}" for name, score in hit.retrievers.items())
        place = place_line(number, hit.chunk, f"line {hit.line}")
        yield TextLine(place, (f"{hit.score:.3f}", *retrievers), "head")
        yield _beginning(hit.chunk)
    if not hits:
        yield TextLine("nothing found")


@writes(list[Path])
def path_lines(paths: Sequence[Path], *, explain: bool = False) -> PlainText:
    """List paths, best first; with `explain` also why each was chosen."""
    for number, path in enumerate(paths, start=1):
        yield TextLine(path_line(number, path))
        if explain:
            why = (path.rationale, _belief(path.belief, explain=True))
            yield TextLine("   ", (", ".join(part for part in why if part),))
    if not paths:
        yield TextLine("no paths")


@writes(WorkingMemory)
def working_memory_lines(memory: WorkingMemory) -> PlainText:
    """Show a working memory as a model reads it, then its tokens and what was left out."""
    yield TextBody(memory.context, stored=False)
    yield TextLine("")
    yield TextLine(f"{memory.tokens:,} tokens of {memory.budget:,}", style="quiet")
    yield from reason_lines(memory.reasons)


@writes(BudgetedContext)
def budgeted_lines(context: BudgetedContext) -> PlainText:
    """Show a context as a model reads it, then the tokens of its sections and what was cut."""
    yield TextBody(context.text.removesuffix("\n"), stored=False)
    parts = [f"{part.name} {part.used:,} of {part.allowed:,}" for part in context.sections]
    whole = f"{context.tokens:,} of {context.max_tokens:,} tokens ({context.family})"
    yield TextLine(f"{whole}: {', '.join(parts)}, reserve {context.reserve:,}", style="quiet")
    yield from reason_lines(context.reasons, explain=True)


def _recall_head(recall: Recall, *, explain: bool) -> TextLine:
    allowed = recall.plan.get("budget", {}).get("tokens")
    tokens = f"{recall.tokens:,} tokens" + (f" of {allowed:,}" if allowed else "")
    cost = (tokens, _belief(recall.belief, explain=explain), f"{recall.ms:.1f} ms")
    kind = (f"{recall.intent.value}, {recall.mode.value}",) if explain else ()
    logged = (f"recall {recall.id}",) if recall.id else ()
    return TextLine("  ".join((*kind, *cost, *logged)))


def _passage(number: int, passage: Passage, *, explain: bool) -> Iterator[TextLine]:
    scored = (f"score {passage.score:.3f}", " ".join(passage.retrievers)) if explain else ()
    details = (*scored, _belief(passage.belief, explain=explain))
    yield TextLine(passage_line(number, passage), details, "head")
    yield _beginning(passage.chunk)
    if explain and passage.parts:
        parts = (f"{name} {value:+.3g}" for name, value in passage.parts.items() if value)
        yield TextLine(f"   {'  '.join(parts)}", style="quiet")
    if explain and passage.strength is not None:
        yield TextLine(f"   {_strength(passage.strength)}", style="quiet")


def _beginning(chunk: Chunk) -> TextLine:
    return TextLine(f"   {excerpt(flat(chunk.text))}")


def _time(recall: Recall) -> list[TextLine]:
    """Return a line about how the time in a question was understood; [] without a time."""
    return (
        [] if recall.time is None else [TextLine(f"Time: {flat(str(recall.time))}", style="time")]
    )


def _reasons(recall: Recall) -> set[Reason]:
    return {note.reason for note in recall.reasons}


def _belief(belief: Interval, *, explain: bool = False) -> str:
    span = f" ({belief.low:.2f}–{belief.high:.2f})" if explain else ""
    return f"belief {belief.mean:.2f}{span}"


def _edge(fact: Fact) -> str:
    """Return the citation of a fact's edge, and its evidence."""
    cite = fact.edge.cite
    evidence = fact.edge.evidence
    return f"{cite}  {quoted(evidence)}" if fact.edge.id > 0 and evidence else cite


def _label_order(label: str) -> tuple[int, int]:
    """Return the sort key of a label: facts first, then paths, themes, passages, by number."""
    return "FPT".find(label[1]) % 4, int(label.strip("[FPT]"))


def _source(label: str, recall: Recall) -> str:
    """Describe the fact, path, theme or passage of a label."""
    kind, number = _label_order(label)
    if kind == 0:
        fact = recall.facts[number - 1]
        return f"{_edge(fact)}, {_belief(fact.belief)}"
    if kind == 1:
        path = recall.paths[number - 1]
        cited = dict.fromkeys(shown_cite(step.chunk) for step in path.steps if step.chunk)
        return ", ".join(("path", *cited, _belief(path.belief)))
    if kind == 2:
        theme = recall.themes[number - 1]
        size = counted(theme.cluster.size, "passage")
        return ", ".join((theme.cluster.id, size, *map(shown_cite, theme.cites)))
    passage = recall.passages[number - 1]
    place = f"{shown_cite(passage.id)}, {lines_of(passage)}, {held_days(passage)}"
    return f"{place}, {_belief(passage.belief)}"


def _strength(strength: Strength) -> str:
    last = "" if strength.last_used is None else f", last used {strength.last_used:%Y-%m-%d}"
    useful = f", usefulness {strength.usefulness:+.2f}" if strength.usefulness else ""
    return (
        f"strength {strength.value:.2f}: importance {strength.importance:g}{useful}, "
        f"uses {strength.uses:,}{last}, decay {strength.decay:.2f}, gain {strength.gain:+.2f}"
    )


def _stages(recall: Recall) -> Iterator[TextLine]:
    """Yield a chart of the stages over time, then the conveyance."""
    whole = max((stage.begun_ms + stage.ms for stage in recall.telemetry), default=0.0) or 1e-9
    width = max((len(stage.stage) for stage in recall.telemetry), default=0)
    yield TextLine("stages", style="head")
    for stage in sorted(recall.telemetry, key=lambda stage: stage.begun_ms):
        bar = _bar(stage.begun_ms / whole, stage.ms / whole)
        yield TextLine(f"{stage.stage:<{width}} │{bar}│ {stage.ms:7.1f} ms  {_did(stage)}")
    conveyed = recall.conveyance
    yield TextLine(
        f"conveyance {conveyed.value:.3g}: evidence {conveyed.evidence:.2f}, context "
        f"{conveyed.context:.2f}",
        style="quiet",
    )


def _bar(start: float, share: float) -> str:
    """Return a bar for a stage, by its start and length as shares of the whole time."""
    first = min(int(start * BAR_CHARACTERS), BAR_CHARACTERS - 1)
    length = min(max(round(share * BAR_CHARACTERS), 1), BAR_CHARACTERS - first)
    return (" " * first + "█" * length).ljust(BAR_CHARACTERS)


def _did(stage: StageReport) -> str:
    names = ("found", "added", "cut", "reads")
    told = [f"{name} {count:,}" for name in names if (count := getattr(stage, name))]
    told += [f"doubles {stage.dedupe_rate:.0%}"] if stage.dedupe_rate else []
    told += [f"coverage {stage.coverage:.0%}"] if stage.coverage else []
    told += ["capped"] if stage.capped else []
    told += ["stopped early"] if stage.early_stop else []
    return "  ".join(told)
