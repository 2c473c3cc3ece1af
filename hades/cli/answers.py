"""How answers look on a terminal; with `explain` also scores, reasons and a chart of the stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from hades.cli.render import clean, flat, printable
from hades.context.pack import held_days
from hades.domain.answer import (
    Answer,
    Diagnostic,
    Fact,
    Intent,
    Interval,
    Passage,
    Path,
    Recall,
    StageReport,
    Subgraph,
    WorkingMemory,
    unlabelled,
)
from hades.domain.context import BudgetedContext
from hades.domain.graph import Node, Reason
from hades.domain.strength import Strength
from hades.domain.topics import Chunk, Hit
from hades.language.names import own_heading

if TYPE_CHECKING:
    from rich.console import Console

TEXT_CHARACTERS_SHOWN = 300
BAR_CHARACTERS = 32


def recall(console: Console, found: Recall, *, explain: bool = False) -> None:
    """A recall: facts, passages and paths, and what a user should know about them."""
    _head(console, found, explain=explain)
    _time(console, found)
    for number, fact in enumerate(found.facts, start=1):
        _fact(console, number, fact, explain=explain)
    for number, passage in enumerate(found.passages, start=1):
        _passage(console, number, passage, explain=explain)
    if not found.passages and not found.facts:
        console.print("nothing found")
    if found.paths:
        console.print("[bold]paths[/]")
        paths(console, found.paths, explain=explain)
    _reasons(console, found.reasons, explain=explain)
    if explain:
        _explain(console, found)


def _head(console: Console, found: Recall, *, explain: bool) -> None:
    allowed = found.plan.get("budget", {}).get("tokens")
    tokens = f"{found.tokens:,} tokens" + (f" of {allowed:,}" if allowed else "")
    cost = f"{tokens}  belief {_sure(found.belief, explain=explain)}  {found.ms:.1f} ms"
    if explain:
        kind = f"[bold]{found.intent.value}[/] [dim]({clean(found.evidence)})[/]"
        cost = f"{kind}, {found.mode.value}  {cost}"
    console.print(cost)


def _time(console: Console, found: Recall) -> None:
    """How the time in the words of a question was understood, where there is one."""
    if found.time is not None:
        console.print(f"[cyan]{flat(str(found.time))}[/]")


def _reasons(console: Console, notes: Sequence[Diagnostic], *, explain: bool = False) -> None:
    """What affects the answer in plain words; with `explain` every reason as it is recorded."""
    told = [str(note) if explain else note.plain for note in notes]
    for line in dict.fromkeys(told):
        if line:
            console.print(f"[yellow]{clean(line)}[/]")


def _sure(belief: Interval, *, explain: bool = False) -> str:
    return f"{belief.mean:.2f}" + (f" ({belief.low:.2f}–{belief.high:.2f})" if explain else "")


def _place(passage: Passage) -> str:
    chunk = passage.chunk
    lines = f"{passage.line}"
    if passage.end_line != passage.line:
        lines += f"–{passage.end_line}"
    return f"{clean(chunk.topic)}@{chunk.version}:{lines}"


def _fact(console: Console, number: int, fact: Fact, *, explain: bool) -> None:
    told = [f"belief {_sure(fact.belief, explain=explain)}"]
    if explain:
        told = [f"score {fact.score:.3f}", _edge(fact), *told]
    console.print(f"[bold]F{number}[/]  {flat(fact.text)}  [dim]{'  '.join(told)}[/]")


def _edge(fact: Fact) -> str:
    """The edge that tells a fact, and why it holds."""
    edge = fact.edge
    if edge.id <= 0 and edge.provenance is not None:
        return clean(edge.provenance.chunk)
    return f"edge {edge.id}" + (f"  {flat(edge.evidence)}" if edge.evidence else "")


def _passage(console: Console, number: int, passage: Passage, *, explain: bool) -> None:
    told = [f"belief {_sure(passage.belief, explain=explain)}", held_days(passage)]
    told += ["superseded"] if passage.superseded else []
    if explain:
        told = [f"score {passage.score:.3f}", " ".join(passage.retrievers), *told]
    console.print(f"[bold]{number}. {_place(passage)}[/]  [dim]{'  '.join(told)}[/]")
    _text(console, passage.chunk)
    if explain and passage.parts:
        parts = (f"{clean(name)} {value:+.3g}" for name, value in passage.parts.items() if value)
        console.print(f"   [dim]{'  '.join(parts)}[/]")
    if explain and passage.strength is not None:
        console.print(f"   [dim]{_strength(passage.strength)}[/]")


def _strength(found: Strength) -> str:
    last = "" if found.last_used is None else f", last used {found.last_used:%Y-%m-%d}"
    return (
        f"strength {found.value:.2f}: importance {found.importance:g}, uses {found.uses:,}{last}, "
        f"decay {found.decay:.2f}, gain {found.gain:+.2f}"
    )


def hits(console: Console, found: Sequence[Hit]) -> None:
    """What a search found: where, how well and by which retriever, then the passage."""
    for number, hit in enumerate(found, start=1):
        retrievers = "  ".join(f"{one} {score:.3g}" for one, score in hit.retrievers.items())
        where = f"{clean(hit.chunk.topic)}:{hit.line}"
        console.print(f"[bold]{number}. {where}[/]  {hit.score:.3f}  [dim]{retrievers}[/]")
        _text(console, hit.chunk)
    if not found:
        console.print("nothing found")


def _text(console: Console, chunk: Chunk) -> None:
    """The heading of a passage and how it begins."""
    if heading := own_heading(chunk.topic, chunk.heading):
        console.print(f"   [cyan]{clean(heading)}[/]")
    text = " ".join(chunk.text.split())
    shown = text[:TEXT_CHARACTERS_SHOWN]
    console.print("   " + clean(shown + (" …" if len(text) > len(shown) else "")))


def paths(console: Console, found: Sequence[Path], *, explain: bool = False) -> None:
    """Paths, best first; with `explain` also why each was chosen and how reliable it is."""
    for number, path in enumerate(found, start=1):
        console.print(f"P{number}  {flat(str(path))}")
        if explain:
            console.print(
                f"    [dim]{clean(path.rationale)}, reliability {path.reliability:.2f}, "
                f"belief {_sure(path.belief, explain=True)}[/]"
            )
    if not found:
        console.print("no paths")


def subgraph(console: Console, found: Subgraph) -> None:
    """The edges of a part of the graph, one a line, then the nodes that have none."""
    for edge in found.edges:
        ends = clean(f"{edge.source} --[{edge.relation}]--> {edge.target}")
        console.print(f"{ends}  [italic]{flat(edge.snippet)}[/]" if edge.snippet else ends)
    joined = {end for edge in found.edges for end in (edge.source, edge.target)}
    for node in found.nodes:
        if Node(node.kind, node.name) not in joined:
            console.print(clean(node.name))
    if found.left_out:
        console.print(f"[yellow]{found.left_out:,} more nodes next to these[/]")


def working_memory(console: Console, found: WorkingMemory) -> None:
    """What to have in mind, as a model reads it, then what had to stay out."""
    console.file.write(printable(found.context) + "\n")
    console.print(f"[dim]{found.tokens:,} tokens of {found.budget:,}[/]")
    _reasons(console, found.reasons)


def budgeted(console: Console, found: BudgetedContext) -> None:
    """A context as a model reads it, then the tokens of its sections and what was cut."""
    console.file.write(printable(found.text))
    parts = [f"{one.name} {one.used:,} of {one.allowed:,}" for one in found.sections]
    whole = f"{found.tokens:,} of {found.max_tokens:,} tokens ({found.family})"
    console.print(f"[dim]{whole}: {', '.join(parts)}, reserve {found.reserve:,}[/]")
    _reasons(console, found.reasons, explain=True)


def answer(console: Console, found: Answer) -> None:
    """The sentences that answer, then the facts they are and the places they stand in."""
    for sentence in found.sentences:
        console.print(f"{flat(unlabelled(sentence.text))} [dim]{escape(sentence.mark)}[/]")
    if found.shortfall:
        console.print(flat(found.shortfall))
    if found.sentences or found.recall.time:
        console.print()
    _time(console, found.recall)
    missing = {Reason.ARCHIVE_LOST}
    if found.recall.level:
        missing.add(Reason.NO_HIERARCHY)  # of some days
    if found.recall.intent is Intent.RELATION:
        missing.add(Reason.BUDGET_EXHAUSTED)
    _reasons(console, [one for one in found.recall.reasons if one.reason in missing])
    for label in sorted({label for one in found.sentences for label in one.labels}, key=_place_of):
        console.print(f"[dim]{escape(label)} {_source(label, found.recall)}[/]")
    if found.fallback:
        console.print(f"[yellow]extracted, since the model did not help: {flat(found.fallback)}[/]")
    if found.unsupported:
        console.print(f"[yellow]unsupported sentences of the model: {found.unsupported}[/]")
    if found.usage is not None:
        would = "would take at most, " if found.kind == "dry_run" else ""
        console.print(f"[dim]{would}{clean(str(found.usage))}[/]")


def _place_of(label: str) -> tuple[bool, int]:
    """Facts first, then passages, by number."""
    return label[1] != "F", int(label.strip("[F]"))


def _source(label: str, found: Recall) -> str:
    """The fact or passage a sentence was read in."""
    is_passage, number = _place_of(label)
    if not is_passage:
        fact = found.facts[number - 1]
        return f"{_edge(fact)}  belief {_sure(fact.belief)}"
    passage = found.passages[number - 1]
    return f"{_place(passage)}  {held_days(passage)}  belief {_sure(passage.belief)}"


def _explain(console: Console, found: Recall) -> None:
    whole = max((stage.begun_ms + stage.ms for stage in found.telemetry), default=0.0) or 1e-9
    width = max((len(stage.stage) for stage in found.telemetry), default=0)
    console.print("[bold]stages[/]")
    for stage in sorted(found.telemetry, key=lambda stage: stage.begun_ms):
        bar = _bar(stage.begun_ms / whole, stage.ms / whole)
        console.print(f"{clean(stage.stage):<{width}} │{bar}│ {stage.ms:7.1f} ms  {_did(stage)}")
    conveyed = found.conveyance
    console.print(
        f"[dim]conveyance {conveyed.value:.3g}: what {conveyed.what:.2f}, where "
        f"{conveyed.where:.2f}, how {conveyed.how:.2f}, {conveyed.seconds:.3f} s, context "
        f"{conveyed.context:.2f}; to the reader {conveyed.pair:.3g}: external "
        f"{conveyed.external:.2f}, compatibility {conveyed.compatibility:.2f}[/]"
    )


def _bar(start: float, share: float) -> str:
    """A stage's part of the time, where it lies; even the shortest has a mark."""
    first = min(int(start * BAR_CHARACTERS), BAR_CHARACTERS - 1)
    length = min(max(round(share * BAR_CHARACTERS), 1), BAR_CHARACTERS - first)
    return (" " * first + "█" * length).ljust(BAR_CHARACTERS)


def _did(stage: StageReport) -> str:
    names = ("found", "added", "cut", "reads")
    told = [f"{name} {count:,}" for name in names if (count := getattr(stage, name))]
    if stage.dedupe_rate:
        told.append(f"doubles {stage.dedupe_rate:.0%}")
    if stage.coverage:
        told.append(f"coverage {stage.coverage:.0%}")
    told += ["capped"] if stage.capped else []
    told += ["stopped early"] if stage.early_stop else []
    return "  ".join(told)
