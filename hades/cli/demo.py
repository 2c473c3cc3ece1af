"""The command `hades demo`: a small story that changes, a document and code, and questions."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command, console
from hades.errors import Conflict

if TYPE_CHECKING:
    from rich.console import Console

    from hades.memory import Memory

REJECTED = "2024-01-10"
BETWEEN = "2024-01-31"
FIXED = "2024-02-20"
RUNBOOK = """# Orders runbook

Mira Novak is on call for the orders service. Before a shard restarts, she drains its queue with
`ordersctl drain`.

## Backups

The orders table is backed up to Leipzig every night at 02:00.
"""
CODE = Path(__file__).parent.parent / "graph" / "ppr.py"
WHY = "Why was sharding the orders table rejected?"
QUESTIONS = (
    ("What holds now", "Can we shard the orders table?", None),
    ("Why, and what became of it", WHY, None),
    ("The same question, as of an earlier time", WHY, BETWEEN),
    ("From a document", "Who is on call for orders?", None),
    ("From code", "What does walk_many call?", None),
)
PATHS_SHOWN = 2
NEXT = """Next, with a memory of your own:
  hades remember team/lead "Dana leads the platform team."
  hades ingest .               take in a folder of documents and code
  hades ask "Who leads the platform team?"
  hades hooks install          give it to a coding agent, or `hades mcp` to any other
  hades docs                   read the documentation, offline"""


@command(app, "demo", of_memory=False)
def demo(
    invocation: Invocation,
    keep: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Keep the memory, in this new file.")
    ] = None,
) -> None:
    """Show what HADES does, in a temporary memory, offline.

    It remembers a decision that changes, takes in a document and a source file, and asks about
    them: what holds now, why, and what held earlier. Each answer shows its sources and paths.
    """
    import hades

    if keep is not None and keep.exists():
        raise Conflict(f"{keep} exists already: name a new file for the demo.")
    out = console()
    out.quiet = invocation.json
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        memory = stack.enter_context(hades.open(keep or folder / "demo.hades"))
        out.print("Remembering a decision, its reason, and what changed it …")
        _remember(memory)
        out.print("Reading a runbook and a source file of HADES, and embedding both …")
        _ingest(memory, folder)
        answers = [_ask(memory, out, *question) for question in QUESTIONS]
    if keep is not None:
        out.print(f'\nThe memory is kept: hades ask "{WHY}" --memory {keep}', markup=False)
    invocation.show(answers, lambda out: out.print(f"\n{NEXT}"))


def _remember(memory: Memory) -> None:
    memory.remember(
        "design/sharding",
        "Sharding the orders table was rejected because it triggers Bug 412.",
        tags=["decision"],
        valid_from=REJECTED,
    )
    memory.remember("bugs/412", "Bug 412 corrupts rows when a shard restarts.", valid_from=REJECTED)
    memory.relate(
        "design/sharding",
        "rejected_because",
        "bugs/412",
        evidence="It triggers Bug 412",
        valid_from=REJECTED,
    )
    memory.remember(
        "refactoring/storage", "The new storage layer makes Bug 412 impossible.", valid_from=FIXED
    )
    memory.change_fact(
        "design/sharding",
        "rejected_because",
        to="refactoring/storage",
        content="Sharding the orders table is viable since the storage layer was refactored.",
        at=FIXED,
    )


def _ingest(memory: Memory, folder: Path) -> None:
    documents = folder / "docs"
    documents.mkdir()
    (documents / "runbook.md").write_text(RUNBOOK, encoding="utf-8")
    memory.ingest(documents)
    memory.ingest(CODE)


def _ask(memory: Memory, out: Console, what: str, question: str, at: str | None) -> dict[str, Any]:
    """Ask, and print the answer with its sources, the paths to it, and what it cost."""
    from hades.cli.render import render
    from hades.operations.declare import OPERATIONS

    answer = (memory if at is None else memory.at(at)).ask(question)
    recall = answer.recall
    out.print(f"\n{what}", style="bold")
    out.print(f'$ hades ask "{question}"' + ("" if at is None else f" --at {at}"))
    if not out.quiet:  # long texts are written past the console
        render(out, answer, OPERATIONS["ask"].returns)
    for line in (*(f"path: {path}" for path in recall.paths[:PATHS_SHOWN]), *recall.reasons):
        out.print(str(line), markup=False, style="dim")
    out.print(f"{recall.tokens} tokens for a model, {recall.ms:.0f} ms", style="dim")
    return {"question": question, "at": at, "answer": answer}
