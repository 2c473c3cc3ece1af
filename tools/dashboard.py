"""Write the Grafana dashboard from a short list of panels.

Run it after a change of the list; a test fails when the file is not what this writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FILE = ROOT / "deploy" / "grafana" / "hades.json"
COLUMNS, WIDTH, HEIGHT = 24, 8, 7
SOURCE = {"type": "prometheus", "uid": "${source}"}

Queries = list[tuple[str, str]]
"""Of each line: the query and what it is called."""


def _quantiles(family: str, by: str = "") -> Queries:
    inside = f"le, {by}" if by else "le"
    name = f"{{{{{by}}}}} p" if by else "p"
    counted = f"sum by ({inside}) (rate({family}_bucket[$__rate_interval]))"
    return [
        (f"histogram_quantile({q}, {counted})", f"{name}{round(q * 100)}")
        for q in (0.5, 0.95, 0.99)
    ]


def _mean(family: str, by: str = "") -> Queries:
    group = f" by ({by})" if by else ""
    query = (
        f"sum{group} (rate({family}_sum[$__rate_interval]))"
        f" / sum{group} (rate({family}_count[$__rate_interval]))"
    )
    return [(query, f"{{{{{by}}}}}" if by else "mean")]


def _rate(family: str, *by: str) -> Queries:
    group = f" by ({', '.join(by)})" if by else ""
    return [
        (
            f"sum{group} (rate({family}[$__rate_interval]))",
            " ".join(f"{{{{{name}}}}}" for name in by) or "all",
        )
    ]


def _now(family: str, *by: str) -> Queries:
    group = f" by ({', '.join(by)})" if by else ""
    return [(f"sum{group} ({family})", " ".join(f"{{{{{name}}}}}" for name in by) or family)]


SECTIONS: list[tuple[str, list[tuple[str, str, Queries]]]] = [
    (
        "Calls",
        [
            ("Calls a second, by status", "reqps", _rate("hades_calls_total", "status")),
            ("Calls a second, by name", "reqps", _rate("hades_calls_total", "call", "mode")),
            ("Time of calls", "s", _quantiles("hades_call_seconds")),
            ("Waiting and running", "short",
             [*_now("hades_pool_waiting", "pool"), *_now("hades_pool_running", "pool")]),
            ("Turned away a second", "reqps", _rate("hades_refused_total", "pool")),
            ("Jobs", "short", _now("hades_jobs", "status")),
            ("Scheduled tasks: runs a second", "ops",
             _rate("hades_schedule_runs_total", "task", "outcome")),
            ("Scheduled tasks: seconds of the last run", "s",
             _now("hades_schedule_last_seconds", "task")),
            ("Scheduled tasks: when the last run ended", "dateTimeAsIso",
             _now("hades_schedule_last_ended_at", "task")),
            ("Language models: calls and failures a second", "reqps",
             [*_rate("hades_model_calls_total", "model"),
              *_rate("hades_model_failures_total", "model")]),
            ("Language models: tokens a second", "short",
             [*_rate("hades_model_prompt_tokens_total", "model"),
              *_rate("hades_model_completion_tokens_total", "model")]),
            ("Language models: cost a second", "short", _rate("hades_model_cost_total", "model")),
            ("Servers that failed too often", "short", _now("hades_breaker_open", "server")),
            ("Tiers: bytes, and at most", "bytes",
             [*_now("hades_tier_bytes", "tier"), *_now("hades_tier_bound_bytes", "tier")]),
            ("Tiers: items", "short", _now("hades_tier_items", "tier")),
            ("What is kept: look-ups a second", "ops",
             _rate("hades_cache_uses_total", "cache", "outcome")),
        ],
    ),
    (
        "Questions",
        [
            ("Questions a second, by intent", "reqps", _rate("hades_recalls_total", "intent")),
            ("Questions a second, by space and mode", "reqps",
             _rate("hades_recalls_total", "space", "mode")),
            ("Time of a question", "s", _quantiles("hades_recall_seconds")),
            ("Stages, p95", "s", [_quantiles("hades_stage_seconds", "stage")[1]]),
            ("Stages, mean", "s", _mean("hades_stage_seconds", "stage")),
            ("Documents read first, by stage", "short", _rate("hades_stage_reads_total", "stage")),
            ("Documents a question", "short", _quantiles("hades_recall_documents")),
            ("Coverage so far, mean", "percentunit", _mean("hades_stage_coverage", "stage")),
            ("Doubles, mean", "percentunit", _mean("hades_stage_dedupe_rate", "stage")),
            ("Reasons a second", "short", _rate("hades_reasons_total", "stage", "reason")),
            ("Stages a cap cut, a second", "short", _rate("hades_stage_capped_total", "stage")),
            ("Stages that ended early, a second", "short",
             _rate("hades_stage_stopped_total", "stage")),
            ("Tokens of a context", "short", _quantiles("hades_recall_tokens")),
            ("Belief, mean", "percentunit", _mean("hades_recall_belief")),
            ("Conveyance, mean", "short", _mean("hades_conveyance")),
            ("Parts of Conveyance, mean", "percentunit", _mean("hades_conveyance_part", "part")),
        ],
    ),
    (
        "Memory",
        [
            ("Topics", "short", _now("hades_memory_topics", "space")),
            ("States", "short", _now("hades_memory_states", "space")),
            ("Chunks and vectors", "short",
             [*_now("hades_memory_chunks"), *_now("hades_memory_vectors")]),
            ("Entities and edges", "short",
             [*_now("hades_memory_entities"), *_now("hades_memory_edges")]),
            ("Waiting to be indexed", "short", _now("hades_memory_pending", "space")),
            ("Size of the file", "bytes", _now("hades_memory_file_bytes")),
            ("Writes a second", "short", [("deriv(hades_memory_change[5m])", "changes")]),
            ("Caches: share found as kept", "percentunit",
             [('sum by (cache) (rate(hades_cache_uses_total{outcome="kept"}[$__rate_interval]))'
               " / sum by (cache) (rate(hades_cache_uses_total[$__rate_interval]))", "{{cache}}")]),
        ],
    ),
    (
        "Process",
        [
            ("Processor", "percentunit", _rate("process_cpu_seconds_total")),
            ("Resident memory", "bytes", _now("process_resident_memory_bytes")),
            ("Open files", "short", _now("process_open_fds")),
            ("Collections of garbage a second", "short",
             _rate("python_gc_collections_total", "generation")),
            ("Version", "short", _now("hades_info", "version")),
        ],
    ),
]  # fmt: skip


def dashboard() -> str:
    """The file."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, section in SECTIONS:
        at = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        panels.append({"type": "row", "id": len(panels) + 1, "title": title, "gridPos": at})
        y += 1
        for number, one in enumerate(section):
            x = number % (COLUMNS // WIDTH) * WIDTH
            panels.append(_panel(len(panels) + 1, x, y + number * WIDTH // COLUMNS * HEIGHT, *one))
        y += -(-len(section) * WIDTH // COLUMNS) * HEIGHT
    whole = {
        "uid": "hades",
        "title": "HADES",
        "schemaVersion": 39,
        "tags": ["hades"],
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "15s",
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus"}]},
        "panels": panels,
    }
    return json.dumps(whole, indent=1) + "\n"


def _panel(number: int, x: int, y: int, title: str, unit: str, queries: Queries) -> dict[str, Any]:
    targets = [
        {"refId": chr(65 + n), "datasource": SOURCE, "expr": query, "legendFormat": name}
        for n, (query, name) in enumerate(queries)
    ]
    return {
        "type": "timeseries",
        "id": number,
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


if __name__ == "__main__":
    FILE.write_text(dashboard(), encoding="utf-8")
