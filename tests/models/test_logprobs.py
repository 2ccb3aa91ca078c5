"""Log-probabilities from a completions server; model specs that give none are refused."""

from importlib.util import find_spec

import pytest
from fake_clock import FakeClock
from openai_bodies import Response, make_echo, make_error, make_too_long_error
from openai_server import COMPLETIONS_PATH, OpenAIServer, Request

from quorum.algorithms.filco_measures import choose_silver_pieces
from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.models.failures import Failure
from quorum.models.logprobs import make_scorer
from quorum.models.logprobs_completions import CompletionsScorer, read_score

# Each prompt with its continuation. The fake server gives a word -2.0 if it is new, and -0.1 if it occurred before.
PAIRS = [("Question: who?\nAnswer:", "Ada Byron"), ("It was Ada Byron.\n\nQuestion: who?\nAnswer:", "Ada Lovelace")]


async def test_only_the_continuation_is_scored(openai_server: OpenAIServer) -> None:
    scores = await make_scorer("completions:base").log_probabilities(PAIRS)
    assert scores == [pytest.approx(-4.0), pytest.approx(-2.1)]
    (request,) = openai_server.requests
    assert request.path == COMPLETIONS_PATH
    assert request.body["prompt"] == [f"{prompt} {text}" for prompt, text in PAIRS]
    assert (request.body["echo"], request.body["logprobs"], request.body["max_tokens"]) == (True, 1, 0)
    assert request.headers["authorization"] == "Bearer none"


async def test_many_pairs_are_sent_in_batches_and_come_back_in_order(openai_server: OpenAIServer) -> None:
    pairs = [("Answer:", "new " * (number % 7) + "word") for number in range(70)]
    scores = await make_scorer("completions:base").log_probabilities(pairs)
    assert scores == [pytest.approx(-2.0 - (2.0 + 0.1 * (n % 7 - 1) if n % 7 else 0.0)) for n in range(70)]
    assert sorted(len(request.body["prompt"]) for request in openai_server.requests) == [6, 32, 32]
    assert await make_scorer("completions:base").log_probabilities([]) == []


async def test_cxmi_chooses_sentences_by_a_servers_log_probabilities(openai_server: OpenAIServer) -> None:
    text = "The tower is old. Eiffel designed it. It is tall."
    passages = [Passage(id="p", title="", text=text)]
    chosen_pieces = await choose_silver_pieces(
        "Who designed it?", ["Eiffel"], passages, "cxmi", scorer=make_scorer("completions:base")
    )
    assert [piece.text for piece in chosen_pieces] == ["Eiffel designed it."]


async def test_a_server_that_must_generate_generates_one_token(openai_server: OpenAIServer) -> None:
    def refuse_zero_tokens(request: Request) -> str | Response:
        return "" if request.body["max_tokens"] else make_error(400, "max_tokens must be at least 1, got 0.")

    openai_server.reply(refuse_zero_tokens)
    scorer = make_scorer("completions:base")
    assert await scorer.log_probabilities(PAIRS) == [pytest.approx(-4.0), pytest.approx(-2.1)]
    await scorer.log_probabilities(PAIRS)
    assert [request.body["max_tokens"] for request in openai_server.requests] == [0, 1, 1]


async def test_requests_that_are_refused_together_all_generate_one_token(openai_server: OpenAIServer) -> None:
    def refuse_zero_tokens(request: Request) -> str | Response:
        return "" if request.body["max_tokens"] else make_error(400, "max_tokens must be at least 1, got 0.")

    openai_server.reply(refuse_zero_tokens)
    scores = await make_scorer("completions:base").log_probabilities(PAIRS * 40)
    assert scores == [pytest.approx(-4.0), pytest.approx(-2.1)] * 40
    assert sorted(request.body["max_tokens"] for request in openai_server.requests) == [0, 0, 0, 1, 1, 1]


async def test_temporary_failures_of_the_server_are_tried_again(openai_server: OpenAIServer) -> None:
    clock = FakeClock()
    openai_server.reply(
        [make_error(503, "busy"), make_error(429, "slow", Retry_After="7"), Response(drop=True), "", ""]
    )
    scorer = CompletionsScorer("base", Context(), clock)
    assert await scorer.log_probabilities(PAIRS[:1]) == [pytest.approx(-4.0)]
    assert len(openai_server.requests) == 4
    assert clock.slept[1] == pytest.approx(7.7)  # and up to a tenth more


async def test_lasting_failures_of_the_server_are_reported_at_once(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(404, "The model `nobody` does not exist"))
    with pytest.raises(
        SetupError, match=r"refused the call \(404: The model `nobody` does not exist\).*echo and logpr"
    ):
        await make_scorer("completions:nobody").log_probabilities(PAIRS)
    openai_server.reply(make_error(401, "Wrong key"))
    with pytest.raises(SetupError, match=r"refused the call \(401: Wrong key\); check OPENAI_API_KEY"):
        await make_scorer("completions:base").log_probabilities(PAIRS)
    assert len(openai_server.requests) == 2


def test_an_untrusted_certificate_is_reported_as_such_and_not_as_a_wrong_key(openai_server: OpenAIServer) -> None:
    failure = Failure("denied", "certificate verify failed")
    with pytest.raises(SetupError, match=r"\(certificate verify failed\); check the base URL and its certificate"):
        CompletionsScorer("base", Context()).compute_wait_before_retry(failure, 1, OSError())


async def test_a_text_that_does_not_fit_the_servers_window_is_reported_as_too_long(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_too_long_error())
    with pytest.raises(SetupError, match=r"does not fit the scorer .*context length.*; split the passages"):
        await make_scorer("completions:base").log_probabilities(PAIRS)
    assert len(openai_server.requests) == 1


async def test_the_last_attempt_raises(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, "broken"))
    scorer = CompletionsScorer("base", Context(attempts=3), FakeClock())
    with pytest.raises(CallError, match="failed after 3 tries: 500: broken"):
        await scorer.log_probabilities(PAIRS)
    assert len(openai_server.requests) == 3


async def test_an_unreachable_scoring_server_is_reported(
    openai_server: OpenAIServer,
) -> None:
    openai_server.close()
    scorer = CompletionsScorer("base", Context(attempts=2), FakeClock())
    with pytest.raises(
        SetupError,
        match=r"does not answer \(connection refused.*\), after 2 tries in 3 seconds; start the server or correct",
    ):
        await scorer.log_probabilities(PAIRS)


@pytest.mark.parametrize("logprobs", [None, {"tokens": ["x"], "token_logprobs": [-1.0], "text_offset": None}])
async def test_a_server_that_does_not_echo_is_refused(openai_server: OpenAIServer, logprobs: object) -> None:
    choice = {"index": 0, "text": "Paris", "finish_reason": "stop", "logprobs": logprobs}
    openai_server.reply(Response(body=make_echo({"prompt": [], "model": "base"}) | {"choices": [choice]}))
    with pytest.raises(SetupError, match="does not echo the log-probabilities of the prompt"):
        await make_scorer("completions:base").log_probabilities(PAIRS[:1])


class Echo:
    """The tokens in a server's response, each as (text, log-probability, offset)."""

    def __init__(self, *tokens: tuple[str, float | None, int]) -> None:
        self.tokens, self.token_logprobs, self.text_offset = (list(column) for column in zip(*tokens, strict=True))


@pytest.mark.parametrize(
    ("echo", "expected"),
    [
        (Echo(("Answer", None, 0), (":", -1, 6), (" A", -2, 7), ("da", -4, 9)), -6.0),
        (Echo(("<s>", None, 0), ("Answer:", -1, 3), (" Ada", -2, 10)), -2.0),  # the begin-of-text token has a length
        (Echo(("<s>", None, 0), ("Answer:", -1, 0), (" Ada", -2, 7)), -2.0),  # the begin-of-text token has no length
        (Echo(("Answer", None, 0), (": A", -2, 6), ("da", -4, 9)), -6.0),  # a token that begins in the prompt counts
        (Echo(("Answer:", None, 0), (" Ada", -2, 7), (" end", -9, 11)), -2.0),  # a generated token does not count
        (Echo(("Answer: Ada", None, 0)), None),  # the only token of the continuation has no log-probability
        (Echo(("Answer:", None, 0)), None),  # no token of the continuation
    ],
)
def test_tokens_are_matched_by_their_offsets(echo: Echo, expected: float | None) -> None:
    assert read_score(echo, "Answer:", "Answer: Ada") == expected


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("embedded", "the embedded model finds answers in passages and cannot say how likely a text is"),
        ("openai:gpt-4o-mini", "a chat endpoint returns no log-probabilities of a given text"),
        ("gpt2", "it names no model that gives log-probabilities"),
        ("transformers:", "it names no model"),
        ("completions:", "it names no model"),
    ],
)
def test_specs_that_give_no_log_probabilities_are_refused(spec: str, why: str) -> None:
    with pytest.raises(SetupError, match=why) as caught:
        make_scorer(spec)
    assert "transformers:PATH" in str(caught.value)
    assert "completions:MODEL" in str(caught.value)


def test_openai_itself_needs_a_key() -> None:
    with pytest.raises(SetupError, match="'completions:davinci-002' needs OPENAI_API_KEY"):
        make_scorer("completions:davinci-002")


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed")
async def test_a_model_folder_without_pytorch_is_an_error_that_says_what_to_install() -> None:
    with pytest.raises(SetupError, match=r"which is not installed; run: pip install 'quorum-rag"):
        await make_scorer("transformers:nowhere").log_probabilities([("a", "b")])
