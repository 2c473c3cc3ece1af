"""Charts: lines over time, in the colours of the theme. Pages show the numbers as text, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from nicegui import ui

from hades.domain.times import iso

_TONES = ("var(--accent)", "var(--warn)")


def lines(label: str, series: Mapping[str, Sequence[tuple[datetime, float]]]) -> None:
    """Draw at most two lines over time until now; `label` says to screen readers what they show."""
    now = iso(datetime.now(UTC))
    rule = {"lineStyle": {"color": "var(--line)"}}
    axis = {
        "axisLabel": {"color": "var(--muted)", "hideOverlap": True},
        "axisLine": rule,
        "splitLine": rule,
    }
    options = {
        "animation": False,
        "grid": {"left": 4, "right": 16, "top": 34, "bottom": 4, "containLabel": True},
        "legend": {"top": 0, "left": 0, "textStyle": {"color": "var(--text)"}},
        "tooltip": {"trigger": "axis"},
        "xAxis": {
            "type": "time",
            "max": now,
            **axis,
            "splitLine": {"show": False},
        },
        "yAxis": {"type": "value", **axis},
        "series": [
            {
                "name": name,
                "type": "line",
                "symbolSize": 5,
                "showSymbol": len(points) < 20,
                "emphasis": {"disabled": True},
                "lineStyle": {"color": tone},
                "itemStyle": {"color": tone},
                "data": [[iso(at), round(value, 2)] for at, value in points],
            }
            for tone, (name, points) in zip(_TONES, series.items(), strict=False)
        ],
    }
    chart = ui.echart(options, renderer="svg").classes("chart")
    chart.props.update({"role": "img", "aria-label": label})
