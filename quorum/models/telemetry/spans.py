"""Makes spans of LangChain's events, with the attributes of OpenTelemetry's conventions for generative AI.

Only `quorum.models.telemetry.add_spans` imports this module, and only if spans are asked for.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from opentelemetry import context as otel_context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from quorum.cascades.written_cascade import drop_settings
from quorum.models.failures import get_status, iterate_causes
from quorum.models.token_counts import get_cached_tokens
from quorum.models.tracing import copy_without_secrets, hides_passages

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CONTENT_VALUES = ("true", "span_only", "span_and_event")
EMBEDDED = "embeddedreader"  # LangChain's name for the provider of the built-in reader


class SpanMaker(BaseCallbackHandler):
    """The spans of one run of a graph, or of one call outside a graph.

    The run's span is a child of the span around the caller. Spans that are still open when the run ends, because the
    run was stopped, end with it.
    """

    run_inline = True  # in the event loop: an event takes microseconds

    def __init__(self, tracer: Tracer) -> None:
        self.tracer, self.surroundings = tracer, otel_context.get_current()
        self.root: UUID | None = None
        self.spans: dict[UUID, Span] = {}
        self.with_content = os.environ.get(CONTENT_VARIABLE, "").strip().lower() in CONTENT_VALUES

    def begin(self, run_id: UUID, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Span:
        """Begin a span below the method's."""
        root = None if self.root is None else self.spans.get(self.root)
        context = self.surroundings if root is None else set_span_in_context(root, self.surroundings)
        span = self.tracer.start_span(
            name, context, kind, {key: value for key, value in attributes.items() if value is not None}
        )
        self.spans[run_id] = span
        if self.root is None:
            self.root = run_id
        return span

    def end(self, run_id: UUID, error: BaseException | None = None) -> None:
        """End a span. With the root's end all others that are open, because they were stopped."""
        span = self.spans.pop(run_id, None)
        if span is None:
            return
        if error is not None:
            span.set_status(Status(StatusCode.ERROR))  # no message: it may hold text of a prompt
            span.set_attribute("error.type", find_error_type(error))
        if run_id == self.root:
            for open_span in self.spans.values():
                open_span.set_attribute("error.type", "cancelled")
                open_span.end()
            self.spans.clear()
            self.root = None
        span.end()

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if self.root is not None:
            return
        name = drop_settings(str((metadata or {}).get("method") or kwargs.get("name") or "graph"))
        attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": name}
        self.begin(run_id, f"invoke_workflow {name}", SpanKind.INTERNAL, attributes)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.end(run_id, error)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        described = metadata or {}
        is_reused, provider = bool(described.get("reused")), described.get("ls_provider")
        model, parameters = described.get("ls_model_name"), kwargs.get("invocation_params") or {}
        is_local = is_reused or provider == EMBEDDED
        span = self.begin(
            run_id,
            f"chat {model}" if model else "chat",
            SpanKind.INTERNAL if is_local else SpanKind.CLIENT,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "quorum" if provider == EMBEDDED else provider,
                "gen_ai.request.model": model,
                "gen_ai.request.temperature": described.get("ls_temperature"),
                "gen_ai.request.max_tokens": described.get("ls_max_tokens"),
                "gen_ai.request.seed": parameters.get("seed"),
                "gen_ai.request.top_p": parameters.get("top_p"),
                "gen_ai.prompt.name": described.get("prompt"),
                "quorum.reused": True if is_reused else None,  # no request was sent
            },
        )
        if self.with_content and span.is_recording():
            span.set_attribute(
                "gen_ai.input.messages", format_messages(message for batch in messages for message in batch)
            )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        span = self.spans.get(run_id)
        message = getattr(response.generations[0][0], "message", None) if response.generations else None
        if span is not None and message is not None:
            described = message.response_metadata or {}
            finish = described.get("finish_reason")
            for name, value in {
                "gen_ai.response.id": described.get("id"),
                "gen_ai.response.model": described.get("model_name"),
                "gen_ai.response.finish_reasons": None if finish is None else [str(finish)],
            }.items():
                if value:
                    span.set_attribute(name, value)
            counts = message.usage_metadata or {}
            if counts and not described.get("reused"):
                span.set_attribute("gen_ai.usage.input_tokens", counts.get("input_tokens", 0))
                span.set_attribute("gen_ai.usage.output_tokens", counts.get("output_tokens", 0))
                if cached := get_cached_tokens(counts):
                    span.set_attribute("gen_ai.usage.cache_read.input_tokens", cached)
            if self.with_content and span.is_recording():
                span.set_attribute("gen_ai.output.messages", format_messages([message], finish))
        self.end(run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.end(run_id, error)

    def on_retriever_start(self, serialized: dict[str, Any], query: str, *, run_id: UUID, **kwargs: Any) -> None:
        span = self.begin(run_id, "retrieval", SpanKind.INTERNAL, {"gen_ai.operation.name": "retrieval"})
        if self.with_content and span.is_recording():
            span.set_attribute("gen_ai.retrieval.query.text", str(copy_without_secrets(query, hide_passages=False)))

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **kwargs: Any) -> None:
        if run_id in self.spans:
            self.spans[run_id].set_attribute("quorum.passages", len(documents))
        self.end(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.end(run_id, error)


def find_error_type(error: BaseException) -> str:
    """The HTTP status with which a server refused, or else the name of the error's class."""
    statuses = (get_status(cause) for cause in iterate_causes(error))
    return next((str(status) for status in statuses if status), type(error).__name__)


def format_messages(messages: Any, finish: object = None) -> str:
    """Messages in the JSON of the conventions, without secrets and, on request, without passages."""
    roles = {"human": "user", "ai": "assistant"}
    written: list[dict[str, Any]] = []
    for message in messages:
        content = copy_without_secrets(str(message.text), hides_passages())
        item: dict[str, Any] = {"role": roles.get(message.type, message.type)}
        item["parts"] = [{"type": "text", "content": content}]
        written.append(item | ({} if finish is None else {"finish_reason": str(finish)}))
    return json.dumps(written, ensure_ascii=False)
