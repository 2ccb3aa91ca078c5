"""OpenTelemetry's spans of methods, model calls and searches, received by a collector on loopback."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra [otel] is not installed")

from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from otel_collector import Collector, run_collector

import quorum
from quorum import Context
from quorum.models.scripted import ScriptedModel
from quorum.models.telemetry.provider import TELEMETRY, get_tracer, wants_spans

QUESTION = "When was the Lumen Tower finished?"
PASSAGES = [{"id": id_, "title": "Tower", "text": f"The Lumen Tower was finished in 193{id_}."} for id_ in "12"]
CONTENT_KEYS = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.retrieval.query.text"}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector to which the environment variables point."""
    with run_collector() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=orchid")
        yield running
        TELEMETRY.stop()


def make_context(**settings: Any) -> Context:
    return Context(**{"model": "openai:test", "attempts": 1, "journal": "off", **settings})


def test_a_method_and_its_calls_are_spans_by_the_genai_conventions(
    collector: Collector, openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("1931", usage={"prompt_tokens": 90, "completion_tokens": 3, "total_tokens": 93}))
    quorum.answer_sync(QUESTION, "post_fusion", make_context(), given=PASSAGES)
    TELEMETRY.stop()
    method = collector.find("invoke_workflow")
    assert (method.name, method.kind, method.parent) == ("invoke_workflow post_fusion", "INTERNAL", "")
    assert method.attributes == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "post_fusion",
    }
    calls = [span for span in collector.spans if span.name.startswith("chat")]
    assert len(calls) == 2
    for call in calls:
        assert (call.name, call.kind, call.parent, call.trace) == ("chat test", "CLIENT", method.id, method.trace)
        assert (
            call.attributes.items()
            >= {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "test",
                "gen_ai.request.temperature": 0.0,
                "gen_ai.response.model": "test",
                "gen_ai.prompt.name": "answer",
                "gen_ai.usage.input_tokens": 90,
                "gen_ai.usage.output_tokens": 3,
            }.items()
        )
        assert call.attributes["gen_ai.response.finish_reasons"] == ["stop"]
        assert not CONTENT_KEYS & call.attributes.keys()
        assert not call.is_error
    assert (method.resource["service.name"], method.resource["service.version"]) == ("quorum", quorum.__version__)
    assert {headers["x-api-key"] for headers in collector.headers} == {"orchid"}
    assert "Lumen" not in str(collector.spans)


@pytest.mark.parametrize(("value", "is_shown"), [("true", True), ("SPAN_ONLY", True), ("no_content", False)])
async def test_prompts_are_shown_only_if_the_conventions_setting_asks_for_it(
    value: str, is_shown: bool, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    context = make_context(model=ScriptedModel().on("answer", "1931"))
    await quorum.answer(QUESTION, "concat", context, given=PASSAGES)
    TELEMETRY.stop()
    call = collector.find("chat")
    assert (call.attributes.keys() >= {"gen_ai.input.messages", "gen_ai.output.messages"}) == is_shown
    if is_shown:
        [sent], [received] = (json.loads(call.attributes[f"gen_ai.{way}.messages"]) for way in ("input", "output"))
        assert sent["role"] == "user"
        assert QUESTION in sent["parts"][0]["content"]
        assert received.items() >= {"role": "assistant", "parts": [{"type": "text", "content": "1931"}]}.items()


async def test_a_failed_call_is_an_error_with_its_status_and_without_its_text(
    collector: Collector, openai_server: OpenAIServer
) -> None:
    openai_server.reply(make_error(500, f"cannot answer: {QUESTION}"))
    with pytest.raises(quorum.CallError):
        await quorum.answer(QUESTION, "concat", make_context(), given=PASSAGES)
    TELEMETRY.stop()
    for name, kind in (("chat", "500"), ("invoke_workflow", "CallError")):
        span = collector.find(name)
        assert span.is_error
        assert span.attributes["error.type"] in (kind, "500")
    assert "Lumen" not in str(collector.spans)


async def test_a_reply_of_the_journal_has_a_span_that_counts_no_tokens(
    collector: Collector, openai_server: OpenAIServer, tmp_path: Any
) -> None:
    openai_server.reply("1931")
    context = make_context(journal=str(tmp_path / "j.sqlite"))
    for _ in range(2):
        await quorum.answer(QUESTION, "concat", context, given=PASSAGES)
    TELEMETRY.stop()
    sent, reused = [span for span in collector.spans if span.name.startswith("chat")]
    assert (sent.kind, reused.kind, reused.attributes["quorum.reused"]) == ("CLIENT", "INTERNAL", True)
    assert "gen_ai.usage.input_tokens" in sent.attributes
    assert "gen_ai.usage.input_tokens" not in reused.attributes


@pytest.mark.long
def test_spans_below_the_programs_own_span_go_to_its_own_provider() -> None:
    """In a process of its own, because a program sets its provider once."""
    script = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
import quorum
from quorum.models.scripted import ScriptedModel
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
passages = [{"id": "1", "title": "Tower", "text": "The Lumen Tower was finished in 1931."}]
context = quorum.Context(model=ScriptedModel().on("answer", "1931"), journal="off")
with provider.get_tracer("mine").start_as_current_span("mine"):
    quorum.answer_sync("When?", "concat", context, given=passages)
spans = {span.name: span for span in exporter.get_finished_spans()}
assert spans["invoke_workflow concat"].parent.span_id == spans["mine"].context.span_id, spans
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.long
def test_without_an_endpoint_nothing_is_started_or_imported() -> None:
    """LangSmith imports the API and the SDK by itself; the exporter and Quorum's own module only spans need."""
    script = f"import sys, quorum; quorum.answer_sync('When?', 'concat', given={PASSAGES})\n"
    script += (
        "sys.exit(str([name for name in sys.modules if 'opentelemetry.exporter' in name or 'telemetry.spans' in name]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "environment",
    [
        {"OTEL_TRACES_EXPORTER": "otlp"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
    ],
)
def test_the_standard_variables_turn_spans_off(environment: dict[str, str]) -> None:
    assert not wants_spans(environment)


def test_what_is_wrong_is_said_once_and_stops_no_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon")
    assert [get_tracer(), get_tracer()] == [None, None]
    TELEMETRY.stop()
    [record] = caplog.records
    assert "the protocol 'pigeon' is not known; set OTEL_EXPORTER_OTLP_PROTOCOL to" in record.getMessage()
