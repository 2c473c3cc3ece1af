"""The ladder as a picture: a bar a system, ours beside those published, the best on top.

It needs matplotlib (the extra `eval`). A report without it is whole but for the picture.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from hades.evals.measure import Measured
from hades.evals.published import headline, published

OURS, THEIRS = "#1f6f8b", "#c9ccd1"
BAR_INCHES, WIDTH_INCHES, MARGIN_INCHES = 0.32, 7.0, 1.1
DOTS_PER_INCH = 160


def can_draw() -> bool:
    """Whether matplotlib is there."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        return False
    return True


def draw_ladder(measured: Measured, folder: Path) -> list[Path]:
    """Write `NAME.svg` and `NAME.png`; nothing without matplotlib."""
    if not can_draw():
        return []
    # The object interface: no window system, no state shared with the caller's own plots.
    figure_of: Any = importlib.import_module("matplotlib.figure").Figure
    rungs = ladder(measured)
    height = MARGIN_INCHES + BAR_INCHES * len(rungs)
    figure = figure_of(figsize=(WIDTH_INCHES, height), layout="constrained")
    axes = figure.subplots()
    values = [100 * value for _, value, _ in rungs]
    colours = [OURS if is_ours else THEIRS for _, _, is_ours in rungs]
    bars = axes.barh(range(len(rungs)), values, color=colours, height=0.72)
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    names = [f"HADES {name}" if is_ours else name for name, _, is_ours in rungs]
    axes.set_yticks(range(len(rungs)), names, fontsize=9)
    axes.set_xlim(0, 105)
    axes.margins(y=0.01)
    grey = "" if all(is_ours for _, _, is_ours in rungs) else " (grey: published by others)"
    axes.set_xlabel(f"{headline(measured.dataset)}, per cent{grey}", fontsize=9)
    axes.set_title(f"{measured.dataset}: {measured.questions:,} questions", fontsize=10, loc="left")
    axes.tick_params(axis="both", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    paths = [folder / f"{measured.dataset}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        figure.savefig(path, dpi=DOTS_PER_INCH)
    return paths


def ladder(measured: Measured) -> list[tuple[str, float, bool]]:
    """Systems by the set's headline metric, (name, value, is ours), the best last."""
    metric = headline(measured.dataset)
    ours = [(name, scores.values[metric], True) for name, scores in measured.systems.items()]
    theirs = [
        (one.system, one.values[metric], False)
        for one in published(measured.dataset)
        if metric in one.values
    ]
    return sorted([*theirs, *ours], key=lambda rung: (rung[1], rung[0]))
