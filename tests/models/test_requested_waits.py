"""How long a server asks to wait, in all the ways in which servers say it."""

import pytest
from fake_clock import FakeClock
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.models.call import call
from quorum.models.logprobs_completions import CompletionsScorer
from quorum.models.requested_waits import find_stated_wait, read_wait

NOW = FakeClock().unix_time()
EPOCH = str(int(NOW) + 40)
GEMINI = [
    {
        "error": {
            "code": 429,
            "message": "Quota exceeded, limit: 10 per minute.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "40s"}],
        }
    }
]
# What a response says -> the seconds that follow; None: no wait, so that the usual ones hold.
RESPONSES: dict[str, tuple[Response, float | None]] = {
    "seconds": (make_error(429, "slow", Retry_After="40"), 40),
    "epoch": (make_error(429, "slow", Retry_After=EPOCH), 40),
    "epoch in milliseconds": (make_error(503, "slow", Retry_After=f"{EPOCH}000"), 40),
    "epoch of long ago": (make_error(429, "slow", Retry_After="1700000000"), None),
    "duration": (make_error(429, "slow", Retry_After="40s"), 40),
    "header twice": (make_error(429, "slow", Retry_After="40, 40"), 40),
    "unreadable milliseconds": (make_error(429, "slow", retry_after_ms="soon", Retry_After="40"), 40),
    "a list": (Response(status=429, body=GEMINI), 40),
    "in words": (make_error(429, "Rate limit reached. Please try again in 40s."), 40),
    "in words, past the header": (make_error(429, "Try again in 2 minutes.", Retry_After="40"), 40),
    "loading model": (Response(status=503, body={"error": "Model x is loading", "estimated_time": 40.0}), 40),
    "end of the limit": (make_error(429, "slow", X_RateLimit_Reset=EPOCH), 40),
    "end of the used-up limit": (
        make_error(
            429,
            "slow",
            x_ratelimit_reset_tokens="6m0s",
            x_ratelimit_remaining_tokens="7",
            x_ratelimit_reset_requests="40s",
            x_ratelimit_remaining_requests="0",
        ),
        40,
    ),
}


@pytest.mark.parametrize("case", RESPONSES)
async def test_a_call_waits_as_long_as_the_server_asks(case: str, openai_server: OpenAIServer) -> None:
    response, seconds = RESPONSES[case]
    clock = FakeClock(jitter=0.0)
    openai_server.reply([response, "there"])
    await call("answer", "Which?", context=Context(model="openai:test"), clock=clock)
    assert clock.slept == [pytest.approx(seconds or 0, abs=1)]


async def test_the_scorer_waits_no_hours_either(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(429, "daily quota", Retry_After="7200"))
    clock = FakeClock()
    with pytest.raises(CallError, match=r"after 1 try: .*asks for 7200 seconds"):
        await CompletionsScorer("base", Context(), clock).log_probabilities([("A river", "in Vell")])
    assert not clock.slept


def test_what_is_no_wait_is_passed_over() -> None:
    for text in ("", "soon", "-1", "nan", "inf", "500000000", "1900000000", "9" * 40):
        assert read_wait(text, NOW) is None, text
    for message in ("limit: 10 requests per minute", "retry 3 times", "wait", "resets daily at 0:00"):
        assert find_stated_wait(message) is None, message
