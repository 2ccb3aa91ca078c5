"""The spans of a served question: the request, the method below it, its search and its calls."""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra [otel] is not installed")
pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from api_server import Serve
from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from otel_collector import Collector, run_collector
from run_client import ask_run, read_run

from quorum.models.telemetry.provider import TELEMETRY
from quorum.serving.mcp_server import make_mcp_app

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"  # traceparent: version, trace, span, sampled
QUESTION = {"model": "concat", "messages": [{"role": "user", "content": "When was the Lumen Tower finished?"}]}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with run_collector() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{running.url}/v1/traces")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")  # milliseconds
        yield running
        TELEMETRY.stop()


def test_a_question_is_a_span_in_its_callers_trace(
    collector: Collector, serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    assert serve().post(QUESTION, traceparent=CALLER).status_code == 200
    request = collector.wait_for("POST")
    method, search, call = (collector.wait_for(name) for name in ("invoke_workflow concat", "retrieval", "chat"))
    assert (request.name, request.kind) == ("POST /v1/chat/completions", "SERVER")
    _, trace, caller, _ = CALLER.split("-")
    assert [span.trace for span in (request, method, search, call)] == [trace] * 4
    assert [span.parent for span in (request, method, search, call)] == [caller, request.id, method.id, method.id]
    assert request.attributes == {
        "http.request.method": "POST",
        "url.path": "/v1/chat/completions",
        "url.scheme": "http",
        "http.route": "/v1/chat/completions",
        "http.response.status_code": 200,
        "quorum.client": "local",
    }
    assert search.attributes["quorum.passages"] == 1
    assert "Lumen" not in str(collector.spans)


def test_a_stream_that_fails_midway_is_an_error(
    collector: Collector, serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply(make_error(500, "broken"))
    serve().post({**QUESTION, "stream": True})
    request = collector.wait_for("POST")
    assert request.is_error
    assert (request.attributes["http.response.status_code"], request.attributes["error.type"]) == (
        200,
        "model_call_failed",
    )


def test_each_method_of_a_run_is_below_the_request_that_began_it(
    collector: Collector, serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    api = serve()
    run = ask_run(api.url, "When was the Lumen Tower finished?", "concat", "no_retrieval")
    read_run(api.url, run)
    begun = collector.wait_for("POST /v1/runs")
    for name in ("concat", "no_retrieval"):
        assert collector.wait_for(f"invoke_workflow {name}").parent == begun.id
    followed = collector.wait_for("GET /v1/runs/{id}/events")
    assert followed.attributes["url.path"] == f"/v1/runs/{run}/events"


def test_a_method_that_is_stopped_has_a_span_with_an_end(
    collector: Collector, serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("1931", hold=True))
    api = serve()
    run = ask_run(api.url, "When was the Lumen Tower finished?", "concat")
    openai_server.wait_for_requests(1)
    httpx.post(f"{api.url}/v1/runs/{run}/stop", timeout=60)
    method, call = collector.wait_for("invoke_workflow concat"), collector.wait_for("chat")
    assert method.is_error
    assert call.parent == method.id
    assert call.attributes["error.type"] in ("CancelledError", "cancelled")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_an_agent_asks_is_below_its_own_request(
    mode: str, collector: Collector, serve: Serve, openai_server: OpenAIServer
) -> None:
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    openai_server.reply("1931")
    api = serve(make_other_app=make_mcp_app)
    async with Client(streamable_http_client(f"{api.url}/mcp"), mode=mode) as client:  # type: ignore[arg-type]
        await client.call_tool("methods")
        await client.call_tool("ask", {"question": "When was the Lumen Tower finished?", "method": "concat"})
    method = await asyncio.to_thread(collector.wait_for, "invoke_workflow concat")
    asked = await asyncio.to_thread(collector.wait_for, "POST /mcp", method.parent)
    assert asked.trace == method.trace


def test_a_span_names_the_route_and_a_known_verb(collector: Collector, serve: Serve) -> None:
    api = serve()
    api.get("/v1/collections/c/documents")  # the value of the parameter begins another part of the path
    httpx.request("PROPFIND", f"{api.url}/v1/models/concat", timeout=60)
    route = "/v1/collections/{collection}/documents"
    assert collector.wait_for("GET").attributes["http.route"] == route
    other = collector.wait_for("HTTP")
    assert (other.name, other.attributes["http.request.method"]) == ("HTTP /v1/models/{model}", "_OTHER")
    assert collector.wait_for(f"GET {route}")


def test_a_span_holds_no_filter_of_a_cascade(collector: Collector, serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    filter_ = "[where=title!=who told Anna]"
    assert serve().post({**QUESTION, "model": f"concat{filter_}>post_fusion{filter_}"}).status_code == 200
    method = collector.wait_for("invoke_workflow")
    assert method.name == "invoke_workflow concat>post_fusion"
    assert method.attributes["gen_ai.workflow.name"] == "concat>post_fusion"
    collector.wait_for("POST")
    assert "Anna" not in str(collector.spans)
