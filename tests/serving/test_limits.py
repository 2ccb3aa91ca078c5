"""The server's keys, its limits per client, its refusal of requests from other sites, and its metrics."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast
from uuid import uuid4

import httpx
import openai
import pytest
from api_server import Api, Serve
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum import index
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Usage
from quorum.evaluation.metrics.prices import Prices
from quorum.serving.errors import BudgetSpentError, Refusal, hide_paths
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
    contents = [api.ask(key=key).choices[0].message.content for key in KEYS]
    assert [content.partition("\n\nPassages read:")[0] for content in contents] == [unknown, unknown]


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


def test_a_request_reserves_what_it_may_cost_and_releases_what_it_did_not_need() -> None:
    limits = Limits(dollars_per_day=1.0, clock=Clock())
    first = limits.begin("a", bound=0.6)
    with pytest.raises(Refusal, match=r"0\.6 kept for requests in progress"):
        limits.begin("a", bound=0.6)
    limits.begin("b", bound=0.6)  # another client has its own limit
    first.correct(first.charge(0.3), 0.1)
    first.close()
    assert limits.accounts["a"].dollars == pytest.approx(0.1)
    assert limits.accounts["a"].reserved == pytest.approx(0.0)
    limits.begin("a", bound=0.6)


def test_every_call_is_checked_again() -> None:
    limits = Limits(dollars_per_day=1.0, clock=Clock())
    reservation = limits.begin("a", bound=0.2)
    for _ in range(3):
        reservation.charge(0.3)  # more calls than its bound allowed for
    with pytest.raises(BudgetSpentError, match=r"may cost 0\.3, more than is left"):
        reservation.charge(0.3)
    reservation.close()
    assert limits.accounts["a"].dollars == pytest.approx(0.9)


def test_a_day_begins_anew_but_never_comes_back() -> None:
    clock = Clock()
    limits = Limits(dollars_per_day=1.0, clock=clock)
    limits.begin("a", bound=1.0).charge(1.0)
    for change in (-86_400, -5 * 86_400, 6 * 86_400):  # the clock is set back, and forward again to the same day
        clock.now += change
        with pytest.raises(Refusal, match="tomorrow"):
            limits.begin("a")
    clock.now += 86_400
    limits.begin("a")


def test_a_call_over_midnight_counts_on_the_day_on_which_it_was_sent() -> None:
    clock = Clock()
    clock.now -= 1  # a second before midnight
    limits = Limits(dollars_per_day=1.0, clock=clock)
    request = limits.begin("a", bound=0.9)
    calls = [request.charge(0.3), request.charge(0.3)]
    clock.now += 2
    request.correct(calls[0], 0.1)
    assert limits.find_account("a").dollars == 0.0  # neither less than nothing nor yesterday's dime
    request.correct(request.charge(0.3), 0.2)
    request.correct(calls[1], 0.3)
    request.close()
    account = limits.find_account("a")
    assert (account.dollars, account.reserved, request.charged) == pytest.approx((0.2, 0.0, 0.6))


@pytest.fixture
def priced_server(serve: Serve, tmp_path: Path) -> Callable[..., Api]:
    """A server with a limit of a tenth of a dollar a day; a call of the test model costs about half a cent."""
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 10\noutput = 2\n')
    return lambda **options: serve(prices=prices, dollars_per_day=0.1, journal="off", **options)


def read_dollars(api: Api) -> float:
    lines = api.get("/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("quorum_dollars_total{"))


@pytest.mark.parametrize("method", ["concat", "post_fusion", "react"])
async def test_a_hundred_questions_at_once_stay_within_the_limit(
    method: str, priced_server: Callable[..., Api], openai_server: OpenAIServer
) -> None:
    api = priced_server(samples=3, temperature=1, k=1, max_steps=1)
    usage = {"prompt_tokens": 400, "completion_tokens": 300, "total_tokens": 700}
    openai_server.reply(Response("1931", usage=usage))
    statuses = await asyncio.gather(*(ask_once(api, method) for _ in range(100)))
    dollars_of_call = (400 * 10 + 300 * 2) / 1_000_000
    assert 0 < len(openai_server.chats()) * dollars_of_call <= 0.1
    assert await asyncio.to_thread(read_dollars, api) <= 0.1 + 1e-9
    assert set(statuses) == {200, 429}


async def ask_once(api: Api, method: str) -> int:
    body = {"model": method, "messages": [{"role": "user", "content": "When was it finished?"}]}
    async with httpx.AsyncClient(timeout=120) as client:
        return (await client.post(f"{api.url}/v1/chat/completions", json=body)).status_code


async def test_a_call_whose_client_hangs_up_is_charged(
    priced_server: Callable[..., Api], openai_server: OpenAIServer
) -> None:
    api = priced_server()
    openai_server.reply(Response("1931", hold=True))
    asked = asyncio.create_task(ask_once(api, "concat"))
    await asyncio.to_thread(openai_server.wait_for_requests, 1)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    openai_server.release_held_replies()
    async with asyncio.timeout(30):
        while await asyncio.to_thread(read_dollars, api) == 0.0:
            pass


def test_a_call_that_the_server_refuses_costs_nothing(
    priced_server: Callable[..., Api], openai_server: OpenAIServer
) -> None:
    api = priced_server(attempts=1)
    openai_server.reply(make_error(400, "no"))
    for _ in range(20):  # each may cost more than half a cent
        with pytest.raises(openai.APIStatusError) as failure:
            api.ask()
        assert failure.value.status_code == 502
    assert read_dollars(api) == 0.0


def test_a_client_that_has_spent_its_dollars_for_the_day_gets_a_quota_error(
    priced_server: Callable[..., Api], openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("1931", usage={"prompt_tokens": 9_800, "completion_tokens": 1, "total_tokens": 9_801}))
    api = priced_server()
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
        ("at http://10.0.0.1:80/v1: and/or 1/2", "at [hidden]: and/or 1/2"),
        ("The model 'openai:a' at http://me:pw@10.0.0.1:80/v1 is busy", "The model 'openai:a' is busy"),
        ("The model ChatOpenAI (gpt-4o) at https://x.example/v1: no, wait", "The model ChatOpenAI (gpt-4o): no, wait"),
        ("OPENAI_BASE_URL=http://10.0.0.1:80/v1; start it", "OPENAI_BASE_URL=[hidden]; start it"),
        ("C:\\data\\x and ~/keys and ../up/x", "[hidden] and [hidden] and [hidden]"),
        ("the store .own-store has", "the store [hidden] has"),
    ],
)
def test_paths_of_the_server_are_hidden(message: str, expected: str) -> None:
    assert hide_paths(message, Context(store=".own-store")) == expected


def test_metrics_tell_a_key_only_of_its_own_requests(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    api = serve(access_tokens=KEYS)
    api.ask(key=KEYS[1])
    api.ask(key=KEYS[0])

    def count_questions(key: str) -> int:
        text = api.get("/metrics", authorization=f"Bearer {key}").text
        line = next(line for line in text.splitlines() if line.startswith("quorum_questions_total"))
        return int(line.rsplit(" ", 1)[1])

    assert [count_questions(key) for key in KEYS] == [2, 1]


def test_the_embeddings_of_a_question_are_charged_and_limited(
    serve: Serve, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    """The server's embeddings count each text of four bytes as a token."""
    (tmp_path / "towers.txt").write_text("The Lumen Tower was finished in 1931, and it stands in the harbour of Vell.")
    store, prices = str(tmp_path / "store"), tmp_path / "prices.toml"
    index(tmp_path / "towers.txt", collection="towers", context=Context(store=store, embeddings="openai:embedding"))
    openai_server.reply(Response("1931", usage={"prompt_tokens": 400, "completion_tokens": 0, "total_tokens": 400}))
    settings = {"store": store, "retriever": "chroma", "embeddings": "openai:embedding", "journal": "off"}
    options = {"prices": prices, "dollars_per_day": 1.0}
    with pytest.raises(SetupError, match="but the embeddings 'openai:embedding' have no price"):
        check_prices(Context(embeddings="openai:embedding"), (), Prices())

    prices.write_text('["openai:test"]\ninput = 10\noutput = 2\n["openai:embedding"]\ninput = 1000\noutput = 0\n')
    question = "When was the tower finished?"
    api = serve(**settings, **options)
    api.ask(question)
    assert read_dollars(api) == pytest.approx(400 * 10 / 1e6 + len(question) // 4 * 1000 / 1e6)

    prices.write_text('["openai:test"]\ninput = 0\noutput = 0\n["openai:embedding"]\ninput = 1e6\noutput = 0\n')
    count, refused = len(openai_server.requests), serve(**settings, **options)
    with pytest.raises(
        openai.RateLimitError, match="may spend 1 dollars a day, and the next call may cost 10"
    ) as error:
        refused.ask(question)
    assert (error.value.code, len(openai_server.requests), read_dollars(refused)) == ("insufficient_quota", count, 0)
