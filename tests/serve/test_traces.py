"""Traces: spans of requests and stages, as a real receiver gets them."""

from __future__ import annotations

import asyncio
import gzip
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from making import recall as made_recall
from making import remember_story
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import hades
from hades.serve.telemetry import Telemetry
from hades.serve.telemetry.traces import Traces, open_traces

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Receiver:
    """An OTLP/HTTP receiver: keeps what comes, decoded."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                outer.take(self.path, dict(self.headers), body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        assert path == "/v1/traces"
        self.headers.append({name.lower(): value for name, value in headers.items()})
        for one in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(one.resource)
            self.spans += [span for part in one.scope_spans for span in part.spans]

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def named(self, name: str) -> Any:
        (span,) = [span for span in self.spans if span.name == name]
        return span


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def about(span: Any) -> dict[str, Any]:
    """A span's attributes as Python values."""

    def plain(value: Any) -> Any:
        kind = value.WhichOneof("value")
        if kind == "array_value":
            return [plain(one) for one in value.array_value.values]
        return getattr(value, kind)

    return {one.key: plain(one.value) for one in span.attributes}


class Route:
    path = "/v1/spaces/{space}/recall"


def serve(telemetry: Telemetry, headers: dict[str, str], status: int = 200) -> httpx.Response:
    """A request to an app that answers a question, as the server would."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["route"] = Route()
        assert scope["path"] == "/v1/spaces/secret/recall", "the app sees what was asked"
        telemetry.observe_recall(made_recall("What is secret?"), "default")
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def asking() -> httpx.Response:
        transport = httpx.ASGITransport(telemetry.around(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://hades") as client:
            return await client.post(
                "/v1/spaces/secret/recall?topic=secret", headers={"x": "secret", **headers}
            )

    return asyncio.run(asking())


def traced(receiver: Receiver, **options: Any) -> Traces:
    traces = open_traces(receiver.endpoint, **options)
    assert traces is not None
    return traces


def test_a_request_its_answer_and_its_stages_are_one_trace(receiver: Receiver) -> None:
    telemetry = Telemetry(traced(receiver))
    serve(telemetry, {"traceparent": PARENT})
    telemetry.close()
    request = receiver.named("POST /v1/spaces/{space}/recall")
    answer, seeds = receiver.named("recall"), receiver.named("recall seeds")
    assert request.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert request.parent_span_id.hex() == "b7ad6b7169203331"
    assert answer.parent_span_id == request.span_id
    assert seeds.parent_span_id == answer.span_id
    assert {span.trace_id for span in receiver.spans} == {request.trace_id}
    assert about(request)["http.status_code"] == 200
    assert about(receiver.named("recall paths"))["hades.capped"] is True
    assert about(seeds)["hades.reads"] == 12
    assert about(answer)["hades.reasons"] == ["pack: evicted"]


def test_stages_have_the_times_they_really_had(receiver: Receiver, path: Path) -> None:
    traces = traced(receiver)
    with hades.open(path) as memory:
        remember_story(memory)
        answer = memory.recall("Why was approach X rejected?")
    traces.recall(answer, "default", ended_ns=10**18)
    traces.close()
    whole = receiver.named("recall")
    assert whole.end_time_unix_nano == 10**18
    assert whole.end_time_unix_nano - whole.start_time_unix_nano == round(answer.ms * 1e6)
    for stage in answer.telemetry:
        span = receiver.named(f"recall {stage.stage}")
        begun = span.start_time_unix_nano - whole.start_time_unix_nano
        assert begun == round(stage.begun_ms * 1e6)
        assert span.end_time_unix_nano - span.start_time_unix_nano == round(stage.ms * 1e6)
        assert span.end_time_unix_nano <= whole.end_time_unix_nano + 2_000  # rounded


def test_no_contents_unless_asked(receiver: Receiver) -> None:
    telemetry = Telemetry(traced(receiver))
    serve(telemetry, {})
    telemetry.close()
    assert not [span for span in receiver.spans if b"secret" in span.SerializeToString()]
    asked = Telemetry(traced(receiver, contents=True))
    serve(asked, {})
    asked.close()
    told = about([span for span in receiver.spans if span.name == "recall"][-1])
    assert told["input.value"] == "What is secret?"


def test_an_error_is_raised_again_and_its_sentence_stays_here(receiver: Receiver) -> None:
    async def broken(_scope: Any, _receive: Any, _send: Any) -> None:
        raise RuntimeError("no topic secret")

    traces = traced(receiver)
    app = traces.around(broken)
    scope = {"type": "http", "method": "GET", "path": "/secret", "headers": [], "query_string": b""}
    with pytest.raises(RuntimeError, match="no topic secret"):
        asyncio.run(app(scope, None, None))  # type: ignore[arg-type,func-returns-value]
    traces.close()
    (span,) = receiver.spans
    assert (span.name, span.status.code) == ("GET", 2)
    assert b"secret" not in span.SerializeToString()


def test_a_failure_is_marked(receiver: Receiver) -> None:
    telemetry = Telemetry(traced(receiver))
    serve(telemetry, {}, status=503)
    telemetry.close()
    assert receiver.named("POST /v1/spaces/{space}/recall").status.code == 2


def test_the_endpoint_and_its_key_may_come_from_the_environment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic cGs6c2s=")
    traces = open_traces()
    assert traces is not None
    traces.recall(made_recall("Why?"), "default")
    traces.close()
    assert receiver.headers[0]["authorization"] == "Basic cGs6c2s="
    service = {one.key: one.value.string_value for one in receiver.resources[0].attributes}
    assert service["service.name"] == "hades"
    assert service["service.version"] == hades.__version__


def test_a_receiver_that_is_not_there_stops_nobody(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.serve.telemetry.traces.FLUSH_TIMEOUT_S", 0.05)
    with caplog.at_level(logging.CRITICAL):
        traces = open_traces("http://127.0.0.1:9")
        assert traces is not None
        telemetry = Telemetry(traces)
        assert serve(telemetry, {}).status_code == 200
        telemetry.close()


def test_without_an_endpoint_nothing_is_imported_or_sent() -> None:
    code = (
        "import sys, hades\n"
        "from hades.serve.telemetry import Telemetry\n"
        "from hades.serve.telemetry.traces import open_traces\n"
        "assert open_traces(environment={}) is None\n"
        "on = {'OTEL_SDK_DISABLED': 'true', 'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://x'}\n"
        "assert open_traces(environment=on) is None\n"
        "assert Telemetry().traces is None\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith("opentelemetry")]
