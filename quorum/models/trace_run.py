"""Prepares the config of a run for all traces that are asked for."""

from langchain_core.runnables import RunnableConfig

from quorum.models.telemetry import add_spans
from quorum.models.tracing import clean_trace


def trace_run(config: RunnableConfig | None) -> RunnableConfig | None:
    """The config of a run, with what LangSmith's and OpenTelemetry's traces need, if they are asked for."""
    return add_spans(clean_trace(config))
