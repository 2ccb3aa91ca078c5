"""Tests of `OpenAIServer`, the loopback server that other tests use as a model, through a plain HTTP client."""

import json

import httpx
import pytest
from openai_bodies import Response, make_error, make_too_long_error
from openai_server import OpenAIServer

CHAT_BODY = {"model": "test", "messages": [{"role": "user", "content": "Who wrote it?"}]}


def test_the_server_gives_its_replies_in_order_and_records_the_requests(openai_server: OpenAIServer) -> None:
    openai_server.reply(["one", make_error(429, "slow down", Retry_After="2"), Response("cut", truncate=True)])
    with httpx.Client(base_url=openai_server.url, headers={"X-Test": "yes"}) as client:
        response = client.post("/chat/completions", json=CHAT_BODY)
        assert response.json()["choices"][0]["message"]["content"] == "one"
        assert response.json()["usage"]["prompt_tokens"] == 3  # 13 bytes // 4: the server counts 4 bytes as a token
        error_response = client.post("/chat/completions", json=CHAT_BODY)
        assert (error_response.status_code, error_response.headers["Retry-After"]) == (429, "2")
        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/chat/completions", json=CHAT_BODY)
        # No reply is left.
        assert client.post("/chat/completions", json=CHAT_BODY).status_code == 418
        assert client.get("/models").json()["data"][0]["id"] == "test"
    assert [request.text for request in openai_server.chats()] == ["Who wrote it?"] * 4
    assert openai_server.requests[0].headers["x-test"] == "yes"


def test_the_server_drops_connections_and_sends_streams_and_embeddings(openai_server: OpenAIServer) -> None:
    openai_server.reply([Response(drop=True), "two words", make_too_long_error()])
    with httpx.Client(base_url=openai_server.url) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/chat/completions", json=CHAT_BODY)
        streamed_response = client.post(
            "/chat/completions", json=CHAT_BODY | {"stream": True, "stream_options": {"include_usage": True}}
        )
        events = [
            json.loads(line[6:])
            for line in streamed_response.text.split("\n\n")
            if line and not line.endswith("[DONE]")
        ]
        assert "".join(event["choices"][0]["delta"].get("content", "") for event in events[:-1]) == "two words"
        assert events[-1]["usage"]["completion_tokens"] == 3  # 9 bytes // 4 + 1
        assert client.post("/chat/completions", json=CHAT_BODY).json()["error"]["code"] == "context_length_exceeded"
        vectors = client.post("/embeddings", json={"model": "e", "input": ["a b", "b a"]}).json()["data"]
        assert vectors[0]["embedding"] == vectors[1]["embedding"]  # the order of the words does not matter


def test_no_test_can_reach_another_machine() -> None:
    """See `refuse_network` in conftest.py."""
    with pytest.raises(RuntimeError, match="this machine only"):
        httpx.get("http://192.0.2.1/")
