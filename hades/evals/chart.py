"""Charts of a ladder as one SVG picture: a panel for each metric, a bar for each rung.

The rungs are told apart by colour, with a legend at the top, so that no label needs to be turned or
shortened.
"""

from __future__ import annotations

from html import escape

from hades.evals.ladder import COLUMNS, Ladder, shown

PANEL_WIDTH = 210
PANEL_HEIGHT = 170
PANELS_A_ROW = 4
MARGIN = 16
TOP = 64
LEGEND_ITEM_WIDTH = 150
BAR_GAP = 6
BARS_TOP = 42
BARS_HEIGHT = 104
COLOURS = ("#9aa5b1", "#4e79a7", "#59a14f", "#f28e2b", "#b07aa1")
"""One colour for each rung; they can be told apart on white and dark pages and by colour-blind
readers."""
_FONT = 'font-family="system-ui, sans-serif"'


def to_svg(ladder: Ladder) -> str:
    """Return the picture of a ladder."""
    metrics = [
        metric
        for metric in COLUMNS
        if any(values[metric] is not None for values in ladder.rungs.values())
    ]
    rows = -(-len(metrics) // PANELS_A_ROW)
    width = 2 * MARGIN + PANELS_A_ROW * PANEL_WIDTH
    height = TOP + rows * PANEL_HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {_FONT} font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(MARGIN, 24, f"{ladder.dataset}: {ladder.questions:,} questions", size=15),
    ]
    for number, name in enumerate(ladder.rungs):
        x = MARGIN + number * LEGEND_ITEM_WIDTH
        parts.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{COLOURS[number]}"/>')
        parts.append(_text(x + 18, 47, name))
    for number, metric in enumerate(metrics):
        x = MARGIN + number % PANELS_A_ROW * PANEL_WIDTH
        y = TOP + number // PANELS_A_ROW * PANEL_HEIGHT
        parts += _panel(ladder, metric, x, y)
    return "\n".join([*parts, "</svg>\n"])


def _panel(ladder: Ladder, metric: str, left: int, top: int) -> list[str]:
    """Return the bars of one metric, each with its value above it."""
    values = [rung[metric] for rung in ladder.rungs.values()]
    highest = max((value for value in values if value is not None), default=0.0) or 1.0
    room = PANEL_WIDTH - 2 * BAR_GAP
    bar = min(room / len(values) - BAR_GAP, 40)
    base = top + BARS_TOP + BARS_HEIGHT
    parts = [_text(left + BAR_GAP, top + 22, COLUMNS[metric], size=13)]
    for number, value in enumerate(values):
        x = left + BAR_GAP + number * (bar + BAR_GAP)
        tall = BARS_HEIGHT * max(value or 0.0, 0.0) / highest
        parts.append(
            f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" '
            f'fill="{COLOURS[number]}"/>'
        )
        parts.append(
            _text(x + bar / 2, base - tall - 4, shown(metric, value), size=10, middle=True)
        )
    end = left + BAR_GAP + len(values) * (bar + BAR_GAP) - BAR_GAP
    parts.append(
        f'<line x1="{left + BAR_GAP}" y1="{base}" x2="{end:.1f}" y2="{base}" stroke="#52606d"/>'
    )
    return parts


def _text(x: float, y: float, words: str, *, size: int = 12, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="#1f2933"{anchor}>'
        f"{escape(words)}</text>"
    )
