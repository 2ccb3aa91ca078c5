"""Spans for OpenTelemetry (extra [otel]): a method, its model calls and its searches, by the GenAI conventions.

Nothing is made or sent, and nothing of opentelemetry is imported here, unless OTEL_EXPORTER_OTLP_ENDPOINT (or
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) is set, or the program around Quorum has set a tracer provider of its own.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs

from quorum.models.telemetry.provider import get_tracer


def add_spans(config: RunnableConfig | None) -> RunnableConfig | None:
    """The config of a run, with a maker of spans if they are asked for and no run around this one has one."""
    tracer = get_tracer()
    if tracer is None:
        return config
    from quorum.models.telemetry.spans import SpanMaker

    callbacks: Any = ensure_config(config).get("callbacks") or ()
    if any(isinstance(handler, SpanMaker) for handler in getattr(callbacks, "handlers", callbacks)):
        return config
    return merge_configs(config, {"callbacks": [SpanMaker(tracer)]})
