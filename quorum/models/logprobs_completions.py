"""Log-probabilities from an OpenAI-compatible server whose /v1/completions returns those of the prompt's tokens."""

import asyncio
from collections.abc import Sequence
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.models.clock import REAL_CLOCK, Clock
from quorum.models.failures import Failure, classify_error, describe_failure
from quorum.models.http_clients import make_http_clients
from quorum.models.limits import wait_for_limits
from quorum.models.loops import get_loop_cache
from quorum.models.model_spec import Spec, get_openai_access, get_openai_url, hide_login
from quorum.models.requested_waits import choose_wait, describe_long_wait, is_too_long
from quorum.models.server_troubles import (
    ServerTries,
    compute_wait_for_server,
    count_server_tries,
    describe_server_tries,
    watch_tries,
)
from quorum.models.token_estimate import estimate_tokens

PROMPTS_PER_REQUEST = 32
LONGEST_WAIT = 30.0  # seconds before another try, if the server does not ask for a wait


class CompletionsScorer:
    """Scores continuations with a server. Base URL and key are those of openai:MODEL.

    A request asks for no new token after the prompt. If the server refuses that, the request is sent again and asks for
    one new token, which is ignored; so do all later requests.
    """

    def __init__(self, model: str, context: Context, clock: Clock = REAL_CLOCK) -> None:
        self.model, self.context, self.clock = model, context, clock
        self.spec = Spec("completions", model, get_openai_url())
        self.access = get_openai_access(self.spec)
        self.new_tokens = 0  # tokens asked for beyond the prompt

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (prompt, continuation) the summed log-probabilities of the continuation's tokens, in nats.

        A space joins the prompt and the continuation. Raises CallError if the last try fails, and SetupError if no try
        can succeed or no server answers.
        """
        parts = [pairs[start : start + PROMPTS_PER_REQUEST] for start in range(0, len(pairs), PROMPTS_PER_REQUEST)]
        scores_of_parts = await asyncio.gather(*(self.score_request(part) for part in parts))
        return [score for scores in scores_of_parts for score in scores]

    async def score_request(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The scores of the pairs, by one request. A request that fails is sent again if that can help, up to
        `Context.attempts` tries in all.
        """
        with watch_tries(hide_login(self.spec.base_url or ""), self.subject) as tries:
            return await self.score_until_answered(pairs, tries)

    async def score_until_answered(self, pairs: Sequence[tuple[str, str]], tries: ServerTries) -> list[float]:
        """See `score_request`. tries: logs the tries that failed."""
        limits_name = f"{self.model} at {hide_login(self.spec.base_url or '')}"
        texts, attempt = [f"{prompt} {continuation}" for prompt, continuation in pairs], 0
        estimate = sum(map(estimate_tokens, texts))
        new_tokens_sent = self.new_tokens
        while True:
            try:
                async with wait_for_limits(self.context, limits_name, estimate, self.clock):
                    new_tokens_sent = self.new_tokens  # another request may change it while this one is in flight
                    reply = await self.get_client().completions.create(
                        model=self.model,
                        prompt=texts,
                        max_tokens=new_tokens_sent,
                        echo=True,
                        logprobs=1,
                        temperature=0,
                    )
                return self.read_scores(reply, pairs)
            except SetupError:
                raise
            except Exception as error:
                failure = classify_error(error, self.clock.unix_time(), "openai")
                if failure.kind == "other":
                    raise
                if failure.kind == "refused" and "max_tokens" in failure.message and not new_tokens_sent:
                    self.new_tokens = 1
                    continue
                attempt += 1
                wait = self.compute_wait_before_retry(failure, attempt, error)
                tries.tell_failed_try(failure, attempt, self.count_tries(failure), wait, self.clock.now())
            await self.clock.sleep(wait)

    @property
    def subject(self) -> str:
        """The scorer in messages."""
        return f"The scorer {self.spec.text!r} at {hide_login(self.spec.base_url or '')}"

    def count_tries(self, failure: Failure) -> int:
        """How many times a request is tried at most that fails in this way."""
        attempts = self.context.attempts
        return count_server_tries(attempts) if failure.kind == "unreachable" else attempts

    def get_client(self) -> Any:
        """The client of the running event loop, closed with it."""
        import openai

        def make() -> Any:
            http_client = make_http_clients(self.context.timeout, None, self.spec.base_url)["http_async_client"]
            client = openai.AsyncOpenAI(
                **self.access, timeout=self.context.timeout, max_retries=0, http_client=http_client
            )
            get_loop_cache().closers.append(client.close)
            return client

        return get_loop_cache().get_or_make(
            ("completions client", self.spec, self.access["api_key"], self.context.timeout), make
        )

    def compute_wait_before_retry(self, failure: Failure, attempt: int, error: Exception) -> float:
        """Seconds before the next try: what the server asks for, else exponential with jitter.

        Raises SetupError or CallError if there is no next try.
        """
        message, subject = describe_failure(failure), self.subject
        if failure.kind == "denied":
            check = failure.check or ("OPENAI_API_KEY" if failure.status else "the base URL and its certificate")
            raise SetupError(f"{subject} refused the call ({message}); check {check}.") from error
        if failure.kind == "too_long":
            raise SetupError(
                f"A text does not fit the scorer {self.spec.text!r} ({message}); split the passages, or choose a "
                "scorer with a longer window."
            ) from error
        if failure.kind == "refused":
            hint = "; the server must offer /v1/completions with echo and logprobs, as vLLM does"
            raise SetupError(f"{subject} refused the call ({message}){hint}.") from error
        if attempt >= self.count_tries(failure) or is_too_long(failure.retry_after):
            if failure.kind == "unreachable":
                raise SetupError(
                    f"{subject} does not answer ({message}), after {describe_server_tries(attempt)}; start the server "
                    "or correct its address, then run the command again."
                ) from error
            tries = f"{attempt} {'try' if attempt == 1 else 'tries'}"
            message += describe_long_wait(failure.retry_after)
            raise CallError(f"{subject} failed after {tries}: {message}", failure.status) from error
        if failure.kind == "unreachable":
            return compute_wait_for_server(attempt)
        return choose_wait(failure.retry_after, attempt, self.clock.draw_jitter(), LONGEST_WAIT)

    def read_scores(self, reply: Any, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The scores in a reply, in the order of the pairs."""
        choices = {choice.index: choice.logprobs for choice in reply.choices or ()}
        scores = []
        for index, (prompt, continuation) in enumerate(pairs):
            score = read_score(choices.get(index), prompt, f"{prompt} {continuation}")
            if score is None:
                raise SetupError(
                    f"The scorer {self.spec.text!r} at {hide_login(self.spec.base_url or '')} does not echo the "
                    "log-probabilities of the prompt; cxmi needs a server that does (vLLM), or transformers:PATH."
                )
            scores.append(score)
        return scores


def read_score(logprobs: Any, prompt: str, text: str) -> float | None:
    """The summed log-probabilities of the tokens that end after the prompt and begin within the text.

    text: the prompt, a space and the continuation. Returns None if there is no such token, or if the server did not
    send a log-probability for each of them. A first token that does not begin the text is the model's begin-of-text
    token; the text starts after it.
    """
    tokens, scores, starts = (getattr(logprobs, name, None) for name in ("tokens", "token_logprobs", "text_offset"))
    if not tokens or not scores or not starts or len(tokens) != len(scores) or len(tokens) != len(starts):
        return None
    text_start = starts[0] if text.startswith(tokens[0]) or len(starts) == 1 else starts[1]
    ends = [*starts[1:], starts[-1] + len(tokens[-1])]
    continuation_scores = [
        score
        for score, start, end in zip(scores, starts, ends, strict=True)
        if end - text_start > len(prompt) and start - text_start < len(text)
    ]
    if not continuation_scores or any(score is None for score in continuation_scores):
        return None
    return float(sum(continuation_scores))
