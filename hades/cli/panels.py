"""The headings of `hades --help`, and the commands under each."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

PANELS = {
    "Everyday": "remember get topics search ask recall chat ingest relate change-fact forget mcp "
    "hooks",
    "Questions": "about brief sessions context working-memory paths query-paths neighbours "
    "subgraph mentions",
    "Versions": "history diff chunks log purge",
    "Facts and entities": "edges edge unrelate when-changed inverses set-inverse prune entities "
    "alias kind rename merge split resolve import-triples",
    "Looking after knowledge": "propose review distil extract promote suggest quality consolidate "
    "summaries drill organise refresh-bridges hierarchy clusters core",
    "Learning": "feedback query-log weights",
    "Indexes and storage": "index reembed warm archive tiers",
    "The memory as a whole": "stats check spaces backup restore copy export import mirror settings "
    "models",
    "Server and database": "ui serve keys db library",
    "Evaluation": "eval train-ranker",
    "Help": "demo docs",
}
"""Commands by heading, in the order in which the help shows them."""


class PanelGroup(TyperGroup):
    """The commands of the program, listed under headings.

    Typer's own panels need rich, which takes as long to import as the rest of the help.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per heading, with the names in one column."""
        width = max(map(len, self.commands))
        for heading, names in PANELS.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(formatter.width))
                for name in names.split()
                if name in self.commands
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
