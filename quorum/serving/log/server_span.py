"""The span of an HTTP request, for OpenTelemetry; the spans of methods are below it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quorum.models.telemetry.provider import get_tracer
from quorum.serving.access_control import Scope
from quorum.serving.log.record import OTHER_VERB, RequestRecord

TRACED_PATHS = ("/v1/", "/mcp")  # not the page's files, and not what monitoring asks


@contextmanager
def trace_request(scope: Scope, record: RequestRecord) -> Iterator[None]:
    """A span as long as the request, if spans are asked for. It continues the trace that the client's header
    `traceparent` names.
    """
    tracer = get_tracer() if scope["path"].startswith(TRACED_PATHS) else None
    if tracer is None:
        yield
        return
    from opentelemetry.context import get_current
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind, Status, StatusCode

    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    attributes = {
        "http.request.method": "_OTHER" if record.http == OTHER_VERB else record.http,
        "url.path": record.path,
        "url.scheme": scope["scheme"],
    }
    with tracer.start_as_current_span(
        record.http,
        extract(headers),
        SpanKind.SERVER,
        attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        record.trace = get_current()
        try:
            yield
        finally:
            if route := find_route(scope):
                span.update_name(f"{record.http} {route}")
                span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", record.sent or record.final_status)
            span.set_attribute("quorum.client", record.client)
            if record.final_status >= 500 or record.status:
                span.set_attribute("error.type", record.code or str(record.final_status))
                span.set_status(Status(StatusCode.ERROR))


@contextmanager
def continue_trace(trace: Any) -> Iterator[None]:
    """Code that answers a request, but runs in the context of another one. trace: of its record."""
    if trace is None:
        yield
        return
    from opentelemetry.context import attach, detach

    token = attach(trace)
    try:
        yield
    finally:
        detach(token)


def find_route(scope: Scope) -> str:
    """The path of a request with the names of its parameters in place of their values; empty for an unknown path."""
    if "endpoint" not in scope:
        return ""
    # A later route may fit the verb, too, so that the best match counts, and of equal ones the first.
    matched = max(scope["router"].routes, key=lambda route: route.matches(scope)[0].value)
    return str(getattr(matched, "path", ""))
