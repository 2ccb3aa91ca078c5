"""The server's keys, its limits per client, its refusal of requests from other sites, and its metrics."""

from pathlib import Path
from typing import cast
from uuid import uuid4

import openai
import pytest
from api_server import Serve
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Usage
from quorum.evaluation.compare.prices import Prices
from quorum.serving.errors import Refusal, hide_paths
from quorum.serving.limits import SIDE_TASKS_PER_QUESTION, Limits
from quorum.serving.serve import check_collections, check_prices
from quorum.serving.spending import Spending

KEYS = ("the-first-key-of-this-server", "the-second-key-of-this-server")


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 86_400.0 * 20_000

    def __call__(self) -> float:
        return self.now


def test_a_key_is_demanded_of_everything_but_health(serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve(access_tokens=KEYS)
    for path in ("/v1/models", "/metrics", "/openapi.json", "/v1/nothing"):
        assert api.get(path).status_code == 401
    assert api.get("/health").json() == {"status": "ok"}
    for key in ("none", KEYS[0][:-1], KEYS[0] + "x"):
        with pytest.raises(openai.AuthenticationError) as refusal:
            api.ask(key=key)
        assert refusal.value.code == "invalid_api_key"
    assert openai_server.requests == []
    unknown = "unknown\n\nSearched: the collection towers (1 passage)."
    assert [api.ask(key=key).choices[0].message.content for key in KEYS] == [unknown, unknown]


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}, {"host": "["}]
)
def test_a_server_without_keys_refuses_requests_from_other_sites(headers: dict[str, str], serve: Serve) -> None:
    response = serve().get("/v1/models", **headers)
    assert response.status_code == 403
    assert response.json()["error"]["code"].startswith("forbidden")


def test_a_request_keeps_its_id_or_gets_one(serve: Serve) -> None:
    api = serve()
    assert api.get("/health", **{"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert api.get("/health", **{"x-request-id": "a b"}).headers["x-request-id"].startswith("req_")


def test_questions_a_minute_are_counted_by_key(serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve(access_tokens=KEYS, questions_per_minute=2)
    api.ask(key=KEYS[0])
    api.ask(key=KEYS[0])
    with pytest.raises(openai.RateLimitError) as refusal:
        api.ask(key=KEYS[0])
    assert refusal.value.code == "rate_limit_exceeded"
    assert 1 <= int(refusal.value.response.headers["retry-after"]) <= 60
    api.ask(key=KEYS[1])
    assert len(openai_server.chats()) == 3


def test_a_minute_later_there_is_room_again() -> None:
    clock = Clock()
    limits = Limits(questions_per_minute=1, clock=clock)
    limits.begin("a")
    with pytest.raises(Refusal):
        limits.begin("a")
    # a side task is a request that a chat client adds to a question, for example for a title
    for _ in range(SIDE_TASKS_PER_QUESTION):
        limits.begin("a", is_side_task=True)
    with pytest.raises(Refusal):
        limits.begin("a", is_side_task=True)
    clock.now += 60
    limits.begin("a")


def test_a_refused_client_is_not_told_to_come_back_too_early() -> None:
    clock = Clock()
    limits = Limits(questions_per_minute=1, clock=clock)
    limits.begin("a")
    clock.now += 56.75
    with pytest.raises(Refusal, match="ask again in 4 s") as refusal:
        limits.begin("a")
    assert refusal.value.headers["retry-after"] == "4"
    clock.now += 4
    limits.begin("a")


def test_a_refusal_names_the_key_or_all_clients_of_a_server_without_keys() -> None:
    for client, subject in (("a", "This key"), ("local", "All clients together")):
        with pytest.raises(Refusal, match=f"{subject} may spend 0 dollars a day"):
            Limits(dollars_per_day=0.0).begin(client)
        limits = Limits(questions_per_minute=1)
        limits.begin(client)
        with pytest.raises(Refusal, match=f"{subject} may ask 1 time a minute"):
            limits.begin(client)


def test_the_dollar_limit_counts_what_questions_under_way_may_cost() -> None:
    clock = Clock()
    limits = Limits(dollars_per_day=1.0, clock=clock)
    limits.begin("a")
    limits.end("a", 0.6)
    limits.begin("a")
    with pytest.raises(Refusal, match="tomorrow"):  # 0.6 spent, and the question in progress may cost 0.6, too
        limits.begin("a")
    limits.end("a", None)  # its cost is unknown, so nothing is added to the 0.6
    limits.begin("a")
    limits.end("a", 0.6)
    with pytest.raises(Refusal):
        limits.begin("a")
    limits.begin("b")  # another client has its own limit
    clock.now += 86_400
    limits.begin("a")


def test_a_client_that_has_spent_its_dollars_for_the_day_gets_a_quota_error(
    serve: Serve, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 100000\noutput = 100000\n')
    api = serve(prices=prices, dollars_per_day=0.5)
    api.ask()
    with pytest.raises(openai.RateLimitError) as refusal:
        api.ask()
    assert refusal.value.code == "insufficient_quota"
    assert 'quorum_dollars_total{method="concat"}' in api.get("/metrics").text


def test_a_limit_in_dollars_needs_prices(store: Path) -> None:
    context = Context(model="openai:nobody-knows", store=str(store))
    with pytest.raises(SetupError, match=r"openai:nobody-knows.*has no price"):
        check_prices(context, (), Prices())
    check_prices(Context(store=str(store)), (), Prices())  # the embedded model is free


def test_allowed_collections_must_exist(store: Path) -> None:
    context = Context(store=str(store), collection="towers")
    check_collections(context, ("private",))
    with pytest.raises(SetupError, match="'nowhere'"):
        check_collections(context, ("nowhere",))


async def test_the_calls_of_a_stopped_run_are_counted_with_their_cached_tokens() -> None:
    """A stopped run returns no result with its usage, so `Spending` counts each call when the call ends."""
    tokens = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": {"cache_read": 8}}
    message = AIMessage("1931", usage_metadata=cast("UsageMetadata", tokens))
    spending, run_id = Spending(), uuid4()
    await spending.on_chat_model_start({}, [], run_id=run_id, metadata={"prompt": "answer"})
    await spending.on_llm_end(LLMResult(generations=[[ChatGeneration(message=message)]]), run_id=run_id)
    assert spending.usage == {"answer": Usage(calls=1, input_tokens=10, output_tokens=2, cached_tokens=8)}


def test_metrics_are_counted_by_method(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    api = serve()
    completion = api.ask()
    text = api.get("/metrics").text
    assert 'quorum_questions_total{method="concat",outcome="answered"} 1' in text
    assert 'quorum_calls_total{method="concat"} 1' in text
    assert f'quorum_tokens_total{{method="concat",direction="input"}} {completion.usage.prompt_tokens}' in text
    assert 'quorum_seconds_bucket{method="concat",le="+Inf"} 1' in text
    assert "quorum_under_way 0" in text


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no file /srv/x/y.txt here", "no file [hidden] here"),
        ("at http://10.0.0.1:80/v1: and/or 1/2", "at [hidden] and/or 1/2"),
        ("C:\\data\\x and ~/keys and ../up/x", "[hidden] and [hidden] and [hidden]"),
        ("the store .own-store has", "the store [hidden] has"),
    ],
)
def test_paths_of_the_server_are_hidden(message: str, expected: str) -> None:
    assert hide_paths(message, Context(store=".own-store")) == expected
