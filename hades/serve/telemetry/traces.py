"""Traces: every request and every stage of recall as OpenTelemetry spans.

Off unless an endpoint is set; then nothing of OpenTelemetry is even imported. Requests are
traced by OpenTelemetry's own ASGI middleware. Recall measures its stages itself; their spans
are made afterwards, with the times the stages really had. Spans say how long, how many and
why; questions, texts and paths only when asked for.
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
"""How long a server that stops waits for the last spans to be sent."""
NS_PER_MS = 1_000_000


def open_traces(
    endpoint: str | None = None,
    *,
    contents: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Traces | None:
    """Traces to an OTLP/HTTP endpoint, ours or the environment's; None when there is none.

    Headers (keys of the receiver) come from OTEL_EXPORTER_OTLP_HEADERS alone.
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
    """Makes spans; they are sent in the background, and dropped rather than waited for."""

    def __init__(
        self, provider: TracerProvider, exporter: SpanExporter, *, contents: bool = False
    ) -> None:
        self._provider = provider
        self._exporter = exporter
        self._tracer = provider.get_tracer("hades", hades.__version__)
        self.contents = contents

    def around(self, app: ASGIApp) -> ASGIApp:
        """The app with a span for every request, below the one its `traceparent` names.

        The span is named by its route: a path has names of topics in it. Without `contents`
        the middleware gets neither path, query nor headers, and no error's sentence.
        """
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.metrics import NoOpMeterProvider
        from opentelemetry.trace import StatusCode, get_current_span

        async def inside(shown: Scope, receive: Receive, send: Send) -> None:
            scope, span = shown["hades.scope"], get_current_span()

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
                headers = [one for one in scope["headers"] if one[0] in TRACE_HEADERS]
                shown |= {"path": "", "raw_path": b"", "query_string": b"", "headers": headers}
            await traced(shown, receive, send)
            if errors:
                raise errors[0]

        return outside

    def recall(self, recall: Recall, space: str, *, ended_ns: int | None = None) -> None:
        """A span for an answer and one for each of its stages, of the time that has passed."""
        from opentelemetry.trace import set_span_in_context

        ended = time.time_ns() if ended_ns is None else ended_ns
        started = ended - round(recall.ms * NS_PER_MS)
        about = self._about(recall, space)
        whole = self._tracer.start_span("recall", start_time=started, attributes=about)
        below = set_span_in_context(whole)
        for stage in recall.telemetry:
            at = started + round(stage.begun_ms * NS_PER_MS)
            about = self._about_stage(recall, stage)
            name = f"recall {stage.stage}"
            span = self._tracer.start_span(name, below, start_time=at, attributes=about)
            span.end(at + round(stage.ms * NS_PER_MS))
        whole.end(ended)

    def close(self) -> None:
        """Send what is left, for a moment, and stop."""
        # The provider's own time limit is not kept while its exporter tries again.
        flushing = threading.Thread(target=self._provider.force_flush, daemon=True)
        flushing.start()
        flushing.join(FLUSH_TIMEOUT_S)
        self._exporter.shutdown()
        self._provider.shutdown()

    def _about(self, recall: Recall, space: str) -> dict[str, Any]:
        about: dict[str, Any] = {
            "hades.space": space,
            "hades.intent": recall.intent.value,
            "hades.mode": recall.mode.value,
            "hades.ms": recall.ms,
            "hades.reads": sum(one.reads for one in recall.telemetry),
            "hades.facts": len(recall.facts),
            "hades.passages": len(recall.passages),
            "hades.paths": len(recall.paths),
            "hades.tokens": recall.tokens,
            "hades.belief": recall.belief.mean,
            "hades.conveyance": recall.conveyance.value,
            "hades.reasons": [f"{one.stage}: {one.reason.value}" for one in recall.reasons],
        }
        if self.contents:
            # The names OpenInference uses, which Langfuse and Phoenix show.
            about |= {
                "openinference.span.kind": "RETRIEVER",
                "input.value": recall.question,
                "output.value": recall.context,
            }
        return about

    def _about_stage(self, recall: Recall, stage: StageReport) -> dict[str, Any]:
        said = [one for one in recall.reasons if one.stage == stage.stage]
        about: dict[str, Any] = {f"hades.{name}": value for name, value in asdict(stage).items()}
        about["hades.reasons"] = [one.reason.value for one in said]
        if self.contents:
            about["hades.reason_details"] = [one.detail for one in said]
        return about
