"""A collector of OpenTelemetry on loopback: receives spans over OTLP/HTTP, as a real one does."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from loopback_server import LoopbackServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class ReceivedSpan:
    """A span. kind: such as "SERVER"; parent: its parent's id, or empty; resource: the attributes of who sent it."""

    name: str
    kind: str
    id: str
    parent: str
    trace: str
    is_error: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """The spans received so far, in the order in which they ended. url: what OTEL_EXPORTER_OTLP_ENDPOINT is set to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[ReceivedSpan] = []
        self.headers: list[dict[str, str]] = []
        self.received = threading.Condition()

    def add(self, headers: dict[str, str], spans: list[ReceivedSpan]) -> None:
        with self.received:
            self.headers.append(headers)
            self.spans += spans
            self.received.notify_all()

    def wait_for(self, name: str, id_: str = "") -> ReceivedSpan:
        """The first span whose name and id begin so; waits until it has come, for 60 seconds at most."""

        def list_matching() -> list[ReceivedSpan]:
            return [span for span in self.spans if span.name.startswith(name) and span.id.startswith(id_)]

        with self.received:
            found = self.received.wait_for(list_matching, 60)
        assert found, f"no span {name!r} has come, only {self.spans}"
        return found[0]

    def find(self, name: str) -> ReceivedSpan:
        """The only span whose name begins so."""
        [span] = [span for span in self.spans if span.name.startswith(name)]
        return span


@contextmanager
def run_collector() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            headers = {name.lower(): value for name, value in self.headers.items()}
            collector.add(headers, list(read_spans(ExportTraceServiceRequest.FromString(body))))
            reply = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: Any) -> None:
            pass

    server = LoopbackServer(Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    try:
        yield collector
    finally:
        server.stop()


def read_spans(request: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    for resource_spans in request.resource_spans:
        resource = read_attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield ReceivedSpan(
                    name=span.name,
                    kind=type(span).SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    trace=span.trace_id.hex(),
                    is_error=span.status.code == 2,
                    attributes=read_attributes(span.attributes),
                    resource=resource,
                )


def read_attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: read_value(pair.value) for pair in pairs}


def read_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [read_value(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)
