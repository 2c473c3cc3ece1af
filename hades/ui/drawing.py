"""Drawing: paths as one small graph, in SVG. All names in it are escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hades.domain.answer import Path
from hades.domain.plain import one_line

PATHS_DRAWN = 6
_WIDTH, _HEIGHT, _COLUMN, _ROW = 168, 34, 288, 58
_CHARACTERS = 24
_LABEL_CHARACTERS = 17

Place = tuple[int, int]
"""The column and the row of a node."""


def drawn_paths(paths: Sequence[Path]) -> str:
    """Return an SVG of paths: one column per step, and each name once in a column."""
    places: dict[tuple[int, str], Place] = {}
    rows: dict[int, int] = {}
    edges: dict[tuple[Place, Place], tuple[str, bool]] = {}

    def place(column: int, name: str) -> Place:
        if (column, name) not in places:
            places[column, name] = (column, rows.get(column, 0))
            rows[column] = rows.get(column, 0) + 1
        return places[column, name]

    for path in paths[:PATHS_DRAWN]:
        before = place(0, path.start.name)
        for column, step in enumerate(path.steps, start=1):
            after = place(column, step.target.name)
            edges.setdefault((before, after), (step.relation, step.forward))
            before = after
    width = max(rows, default=0) * _COLUMN + _WIDTH + 4
    height = max(rows.values(), default=1) * _ROW
    parts = [_edge(ends, *how) for ends, how in edges.items()]
    parts += [_node(at, name) for (_, name), at in places.items()]
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="The paths as a graph"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" '
        'refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">'
        f'<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>{"".join(parts)}</svg>'
    )


def _node(at: Place, name: str) -> str:
    x, y = at[0] * _COLUMN + 2, at[1] * _ROW + 12
    return (
        f'<g><title>{_safe(name, 500)}</title><rect class="node" x="{x}" y="{y}" rx="8" '
        f'width="{_WIDTH}" height="{_HEIGHT}"/><text x="{x + _WIDTH / 2}" y="{y + 21}" '
        f'text-anchor="middle">{_safe(name, _CHARACTERS)}</text></g>'
    )


def _edge(ends: tuple[Place, Place], relation: str, forward: bool) -> str:
    (column, row), (_, other) = ends
    x1, x2 = column * _COLUMN + 2 + _WIDTH, (column + 1) * _COLUMN + 2
    y1, y2 = (line * _ROW + 12 + _HEIGHT / 2 for line in (row, other))
    middle = (x1 + x2) / 2
    tip = "marker-end" if forward else "marker-start"
    return (
        f'<path class="edge" d="M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}" '
        f'{tip}="url(#tip)"/><text class="label" x="{middle}" y="{(y1 + y2) / 2 - 6}" '
        f'text-anchor="middle">{_safe(relation, _LABEL_CHARACTERS)}</text>'
    )


def _safe(words: str, most: int) -> str:
    words = one_line(words)
    return escape(words if len(words) <= most else f"{words[: most - 1]}…")
