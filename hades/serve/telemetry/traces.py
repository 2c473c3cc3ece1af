"""Traces: requests and stages of recall as OpenTelemetry spans.

Traces are on if an endpoint is set; otherwise OpenTelemetry is not imported. Its ASGI middleware
traces requests. Recall measures its own stages, whose spans are created afterwards with those
times. Spans contain questions, texts and paths only with `contents`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

import hades
from hades.domain.answer import Recall, StageReport

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
TRACE_HEADERS = frozenset({b"traceparent", b"tracestate"})
FLUSH_TIMEOUT_S = 2.0
"""How long a stopping server waits for the last spans to be sent."""
NS_PER_MS = 1_000_000


def open_traces(
    endpoint: str | None = None,
    *,
    contents: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Traces | None:
    """Open traces to an OTLP/HTTP endpoint, given or from the environment; None if off.

    Headers, such as keys of the receiver, come only from OTEL_EXPORTER_OTLP_HEADERS.
    """
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if not endpoint and not any(environment.get(name) for name in ENDPOINTS):
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = environment.get("OTEL_SERVICE_NAME", "hades")
    about = {"service.name": name, "service.version": hades.__version__}
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Traces(provider, exporter, contents=contents)


class Traces:
    """Creates spans. They are sent in the background; if that is too slow, they are dropped."""

    def __init__(
        self, provider: TracerProvider, exporter: SpanExporter, *, contents: bool = False
    ) -> None:
        self._provider = provider
        self._exporter = exporter
        self._tracer = provider.get_tracer("hades", hades.__version__)
        self.contents = contents

    def around(self, app: ASGIApp) -> ASGIApp:
        """Wrap the app in a span per request, whose parent is that of `traceparent`.

        The span has the name of the route, because a path contains names of topics. Without
        `contents` OpenTelemetry sees no path, query, other headers or error message.
        """
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.metrics import NoOpMeterProvider
        from opentelemetry.trace import StatusCode, get_current_span

        async def inside(shown: Scope, receive: Receive, send: Send) -> None:
            scope = shown["hades.scope"]
            span = get_current_span()

            async def named(message: Message) -> None:
                route = getattr(scope.get("route"), "path", None)
                if message["type"] == "http.response.start" and route:
                    span.update_name(f"{scope['method']} {route}")
                    span.set_attribute("http.route", route)
                await send(message)

            try:
                await app(scope, receive, named)
            except Exception as error:  # noqa: BLE001 - raised again outside of the span
                span.set_status(StatusCode.ERROR)
                shown["hades.errors"].append(error)

        traced = OpenTelemetryMiddleware(
            inside,
            default_span_details=lambda scope: (scope["method"], {}),
            tracer_provider=self._provider,
            meter_provider=NoOpMeterProvider(),
            exclude_spans=["receive", "send"],
        )

        async def outside(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            errors: list[Exception] = []
            shown = {**scope, "hades.scope": scope, "hades.errors": errors}
            if not self.contents:
                headers = [header for header in scope["headers"] if header[0] in TRACE_HEADERS]
                shown |= {"path": "", "raw_path": b"", "query_string": b"", "headers": headers}
            await traced(shown, receive, send)
            if errors:
                raise errors[0]

        return outside

    def recall(self, recall: Recall, space: str, *, ended_ns: int | None = None) -> None:
        """Create a span for a recall that just ended, and one for each of its stages."""
        from opentelemetry.trace import set_span_in_context

        ended = time.time_ns() if ended_ns is None else ended_ns
        started = ended - round(recall.ms * NS_PER_MS)
        about = self._attributes(recall, space)
        whole = self._tracer.start_span("recall", start_time=started, attributes=about)
        below = set_span_in_context(whole)
        for stage in recall.telemetry:
            at = started + round(stage.begun_ms * NS_PER_MS)
            about = self._stage_attributes(recall, stage)
            name = f"recall {stage.stage}"
            span = self._tracer.start_span(name, below, start_time=at, attributes=about)
            span.end(at + round(stage.ms * NS_PER_MS))
        whole.end(ended)

    def close(self) -> None:
        """Send the last spans, for at most `FLUSH_TIMEOUT_S`, and stop."""
        # The provider's own timeout is ignored while its exporter retries.
        flushing = threading.Thread(target=self._provider.force_flush, daemon=True)
        flushing.start()
        flushing.join(FLUSH_TIMEOUT_S)
        self._exporter.shutdown()
        self._provider.shutdown()

    def _attributes(self, recall: Recall, space: str) -> dict[str, Any]:
        about: dict[str, Any] = {
            "hades.space": space,
            "hades.intent": recall.intent.value,
            "hades.mode": recall.mode.value,
            "hades.ms": recall.ms,
            "hades.reads": sum(stage.reads for stage in recall.telemetry),
            "hades.facts": len(recall.facts),
            "hades.passages": len(recall.passages),
            "hades.paths": len(recall.paths),
            "hades.tokens": recall.tokens,
            "hades.belief": recall.belief.mean,
            "hades.conveyance": recall.conveyance.value,
            "hades.reasons": [f"{note.stage}: {note.reason.value}" for note in recall.reasons],
        }
        if self.contents:
            # Attributes of OpenInference, which Langfuse and Phoenix show.
            about |= {
                "openinference.span.kind": "RETRIEVER",
                "input.value": recall.question,
                "output.value": recall.context,
            }
        return about

    def _stage_attributes(self, recall: Recall, stage: StageReport) -> dict[str, Any]:
        notes = [note for note in recall.reasons if note.stage == stage.stage]
        about: dict[str, Any] = {f"hades.{name}": value for name, value in asdict(stage).items()}
        about["hades.reasons"] = [note.reason.value for note in notes]
        if self.contents:
            about["hades.reason_details"] = [note.detail for note in notes]
        return about
