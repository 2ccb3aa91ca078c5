"""Which failures a call survives, tested with an OpenAI server's replies and with exceptions of other providers'
clients.
"""

import asyncio
import email.utils
import socket
from typing import Any

import httpx
import pytest
from fake_clock import FakeClock
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from openai_bodies import Response, make_error, make_too_long_error
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError, TooLong
from quorum.models.call import call
from quorum.models.failures import classify_error
from quorum.models.scripted import ScriptedModel

SERVED_CONTEXT = Context(model="openai:test")


async def ask(context: Context = SERVED_CONTEXT, clock: FakeClock | None = None) -> str:
    (reply,) = await call("answer", "Which?", context=context, clock=clock or FakeClock())
    return reply.text


@pytest.mark.parametrize(
    "failure",
    [
        make_error(408, "timeout"),
        make_error(409, "conflict"),
        make_error(429, "slow down"),
        make_error(500, "broken"),
        make_error(503, "loading"),
        Response(drop=True),
        Response("x" * 200, truncate=True),
        Response(body=b'{"id": "chatcmpl-1", "choices": [{"mess'),
        Response(body=b"<html>gateway</html>", headers={"Content-Type": "text/html"}),
        Response(body={}),
        Response(body={"error": {"message": "overloaded", "code": 502}}),
    ],
    ids=lambda failure: f"{failure.status}{'-drop' * failure.drop}{'-cut' * failure.truncate}{failure.body!r:.20}",
)
async def test_temporary_failures_are_tried_again(openai_server: OpenAIServer, failure: Response) -> None:
    openai_server.reply([failure, failure, "there"])
    clock = FakeClock()
    assert await ask(clock=clock) == "there"
    assert len(openai_server.chats()) == 3
    assert clock.slept == [1.0, 2.0]


async def test_a_call_in_a_runnable_that_is_no_graph_is_sent_again(openai_server: OpenAIServer) -> None:
    """Judges and writers of questions call models so; there is no stream that could be told of the failed try."""
    openai_server.reply([make_error(500, "broken"), "there"])

    async def judge(_: str) -> str:
        return await ask()

    assert await RunnableLambda(judge).ainvoke("a row") == "there"


async def test_waits_grow_to_a_limit_and_are_jittered(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, "out of order"))
    longest_waits, half_waits = FakeClock(jitter=1.0), FakeClock(jitter=0.5)
    for clock in (longest_waits, half_waits):
        with pytest.raises(CallError, match=r"'answer' after 8 tries: 500: out of order") as caught:
            await ask(clock=clock)
        assert caught.value.status == 500
    assert longest_waits.slept == [1, 2, 4, 8, 16, 30, 30]
    assert half_waits.slept == [0.5, 1, 2, 4, 8, 15, 15]
    assert len(openai_server.chats()) == 16


async def test_the_setting_attempts_limits_the_tries(openai_server: OpenAIServer) -> None:
    openai_server.reply(Response(drop=True))
    with pytest.raises(CallError, match="after 2 tries: the connection broke"):
        await ask(Context(model="openai:test", attempts=2))
    assert len(openai_server.chats()) == 2


async def test_retry_after_is_honoured(openai_server: OpenAIServer) -> None:
    clock = FakeClock(jitter=0.0)
    date = email.utils.formatdate(clock.unix_time() + 7.0, usegmt=True)
    openai_server.reply(
        [
            make_error(429, "slow", Retry_After="3"),
            make_error(503, "later", Retry_After=date),
            make_error(429, "odd", Retry_After="soon"),
            make_error(429, "brief", retry_after_ms="1500"),
            "there",
        ]
    )
    assert await ask(clock=clock) == "there"
    # The date is 7 seconds after the start, and 3 of them have passed. "soon" is ignored; with jitter=0.0, the usual
    # wait is then 0.
    assert clock.slept == [3.0, 4.0, 0.0, 1.5]


async def test_a_wait_of_hours_is_an_error(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(429, "daily quota", Retry_After="7200"))
    with pytest.raises(CallError, match="asks for 7200 seconds"):
        await ask()
    assert len(openai_server.chats()) == 1


async def test_a_reply_that_takes_too_long_is_a_failure(openai_server: OpenAIServer) -> None:
    openai_server.reply(Response(hold=True))
    with pytest.raises(CallError, match=r"after 1 try: (it took too long|Request timed out)"):
        await ask(Context(model="openai:test", timeout=0.1, attempts=1))


@pytest.mark.parametrize("status", [400, 402, 404, 422])
async def test_a_refused_request_fails_at_once_with_the_servers_message(
    openai_server: OpenAIServer, status: int
) -> None:
    openai_server.reply(make_error(status, "no such thing"))
    with pytest.raises(CallError, match=f"{status}: no such thing") as caught:
        await ask()
    assert (caught.value.status, type(caught.value)) == (status, CallError)
    assert len(openai_server.chats()) == 1


@pytest.mark.parametrize(
    "denial",
    [
        make_error(401, "bad key sk-secret"),
        make_error(403, "not yours"),
        make_error(429, "none left", "insufficient_quota"),
    ],
)
async def test_a_refused_key_stops_the_run(
    openai_server: OpenAIServer, denial: Response, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    openai_server.reply(denial)
    with pytest.raises(SetupError, match=r"refused the call .* check OPENAI_API_KEY") as caught:
        await ask()
    assert "sk-secret" not in str(caught.value)
    assert [request.headers["authorization"] for request in openai_server.chats()] == ["Bearer sk-secret"]


@pytest.mark.parametrize("status", [400, 401, 404, 418, 500])
async def test_no_error_repeats_the_login_of_a_servers_address(
    openai_server: OpenAIServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login in the address is sent as the Authorization header; the server repeats the header and the address."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    address = openai_server.url.replace("http://", "http://alice:hunter22@")
    monkeypatch.setenv("OPENAI_BASE_URL", address)

    def echo(request: Request) -> Response:
        return make_error(status, f"{address} got {request.headers['authorization']} {request.headers}")

    openai_server.reply(echo)
    with pytest.raises((CallError, SetupError)) as caught:
        await ask(Context(model="openai:test", attempts=1))
    encoded_login = openai_server.chats()[0].headers["authorization"].split()[-1]
    assert encoded_login not in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert str(status) in str(caught.value)


async def test_no_error_repeats_the_key_of_a_model_object(openai_server: OpenAIServer) -> None:
    model: Any = ChatOpenAI(model="test", base_url=openai_server.url, api_key="quite-secret", max_retries=0)  # type: ignore[arg-type]
    openai_server.reply(make_error(400, "quite-secret is no key"))
    with pytest.raises(CallError, match=r"400: \*\*\* is no key"):
        await ask(Context(model=model))


async def test_a_prompt_that_does_not_fit_is_an_error_of_its_own(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_too_long_error())
    with pytest.raises(TooLong, match="maximum context length is 8192") as caught:
        await ask()
    assert caught.value.status == 400
    assert len(openai_server.chats()) == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Shorten your request.", "context_length_exceeded"),
        ("litellm.BadRequestError: litellm.ContextWindowExceededError: it was refused", None),
    ],
)
async def test_a_prompt_that_does_not_fit_is_recognised_by_the_error_code_or_a_proxys_name_for_it(
    openai_server: OpenAIServer, message: str, code: str | None
) -> None:
    openai_server.reply(make_error(400, message, code))
    with pytest.raises(TooLong):
        await ask()
    assert len(openai_server.chats()) == 1


async def test_a_server_that_does_not_answer_is_told_after_the_first_try_and_waited_for(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.close()
    clock, started_servers = FakeClock(), []

    def start_server_later() -> None:
        if clock.time > 1030 and not started_servers:  # the clock begins at 1000
            started_servers.append(OpenAIServer(openai_server.port))

    clock.on_sleep = start_server_later
    try:
        # "unknown" is what the new server replies by default.
        assert await ask(clock=clock) == "unknown"
    finally:
        started_servers[0].close()
    assert clock.slept == [3, 6, 12, 24]
    subject = f"The model 'openai:test' at {openai_server.url} does not answer (connection refused: no program listens"
    assert [message.startswith(subject) for message in caplog.messages] == [True] * 4
    assert [message.partition("; ")[2] for message in caplog.messages[:2]] == [
        "try 2 of 8 in 3 s; Ctrl-C stops",
        "try 3 of 8 in 6 s; Ctrl-C stops",
    ]


async def test_calls_that_fail_together_tell_each_try_once(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.close()
    calls = [
        call("answer", f"Question {number}", context=SERVED_CONTEXT, clock=FakeClock(), model=model)
        for number, model in enumerate(["openai:test", "openai:test", "openai:judge"])
    ]
    errors = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(error) for error in errors] == [SetupError] * 3
    assert [message.split("; ")[1] for message in caplog.messages] == [
        f"try {number + 1} of 8 in {wait} s" for number, wait in enumerate([3, 6, 12, 24, 48, 96, 111], start=1)
    ]
    caplog.clear()
    with pytest.raises(SetupError):  # a new question, as in a chat: the trouble is news again
        await ask()
    assert "try 2 of 8" in caplog.messages[0]


async def test_questions_that_fail_one_after_the_other_do_not_repeat_the_servers_failure(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply(make_error(500, "out of order"))
    clock, few_attempts = FakeClock(), Context(model="openai:test", attempts=3)
    for _ in range(5):
        with pytest.raises(CallError, match="after 3 tries"):
            await ask(few_attempts, clock)
    assert [message.split(" failed ")[1] for message in caplog.messages] == [
        "(500: out of order); try 2 of 3 in 1 s; Ctrl-C stops",
        "(500: out of order); try 3 of 3 in 2 s; Ctrl-C stops",
    ]
    clock.time += 60
    with pytest.raises(CallError):
        await ask(few_attempts, clock)
    assert len(caplog.messages) == 3
    openai_server.reply(["there", make_error(500, "again"), "there"])
    assert [await ask(few_attempts, clock) for _ in range(2)] == ["there", "there"]
    assert caplog.messages[3].endswith("(500: again); try 2 of 3 in 1 s; Ctrl-C stops")


async def test_a_server_that_asks_for_fewer_requests_is_told_once(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply([make_error(429, "slow"), "a", make_error(429, "slow"), make_error(429, "slow"), "b"])
    assert [await ask() for _ in range(2)] == ["a", "b"]
    assert len(caplog.messages) == 1


async def test_a_server_that_stays_away_stops_the_run(openai_server: OpenAIServer) -> None:
    openai_server.close()
    clock = FakeClock()
    with pytest.raises(
        SetupError, match=r"does not answer \(connection refused.*\), after 8 tries in 5 minutes; start"
    ):
        await ask(clock=clock)
    assert clock.time == 1000 + 300  # the clock begins at 1000


async def test_a_machine_name_that_does_not_exist_is_named_as_the_cause() -> None:
    unknown_name = httpx.ConnectError("nothing")
    unknown_name.__cause__ = socket.gaierror(-2, "Name or service not known")
    assert classify_error(unknown_name, 0).message == "no machine of this name is known"


async def test_one_attempt_is_one_try_of_a_server_that_is_gone(openai_server: OpenAIServer) -> None:
    openai_server.close()
    clock = FakeClock()
    with pytest.raises(SetupError, match="after one try"):
        await ask(Context(model="openai:test", attempts=1), clock)
    assert clock.slept == []


class StatusError(Exception):
    """Like the exceptions of many providers' clients, which state the HTTP status in `status_code`."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


class BotocoreError(Exception):
    """Like the exceptions of Amazon's client, which state the HTTP status in `response`."""

    response: dict[str, Any] = {"ResponseMetadata": {"HTTPStatusCode": 429}}


HTTP_REQUEST = httpx.Request("POST", "http://localhost/")


@pytest.mark.parametrize(
    "failure",
    [
        TimeoutError(),
        StatusError(503, "busy"),
        BotocoreError("throttled"),
        httpx.ReadTimeout("slow", request=HTTP_REQUEST),
        httpx.ReadError("reset", request=HTTP_REQUEST),
        httpx.HTTPStatusError("busy", request=HTTP_REQUEST, response=httpx.Response(500, request=HTTP_REQUEST)),
        ConnectionResetError("reset"),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_other_providers_failures_are_tried_again(failure: Exception) -> None:
    clock = FakeClock()
    assert await ask(Context(model=ScriptedModel().enqueue(failure, "there")), clock) == "there"
    assert clock.slept == [1.0]


async def test_other_providers_refusals_and_unreachable_servers_are_recognised() -> None:
    model = ScriptedModel().enqueue(
        StatusError(401, "no"), StatusError(418, "teapot"), httpx.ConnectError("refused"), "there"
    )
    with pytest.raises(SetupError, match="401: no"):
        await ask(Context(model=model))
    with pytest.raises(CallError, match="418: teapot"):
        await ask(Context(model=model))
    assert await ask(Context(model=model)) == "there"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
        (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
        (400, "the request exceeds the available context size, try increasing it"),
        (
            500,
            "the request exceeds the available context size. try increasing the context size or enable context shift",
        ),
        (400, "input length exceeds the context length"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768)."),
        (413, "Please reduce the length of the messages or completion."),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
    ],
)
def test_a_prompt_that_is_too_long_is_recognised_by_the_servers_words(status: int, message: str) -> None:
    assert classify_error(StatusError(status, message), unix_time=0).kind == "too_long"


@pytest.mark.parametrize("message", ["max_tokens is too large", "invalid length of field", "no such model"])
def test_refusals_for_other_reasons_do_not_count_as_too_long(message: str) -> None:
    assert classify_error(StatusError(400, message), unix_time=0).kind == "refused"
