"""Embeddings of a server that speaks OpenAI's protocol."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from quorum.core.cancellation import sleep_unless_stopped
from quorum.core.errors import CallError
from quorum.core.sync import run_sync
from quorum.models.clock import REAL_CLOCK, Clock
from quorum.models.embedding_batches import MOST_TEXTS
from quorum.models.embedding_requests import read_tokens, tell_request
from quorum.models.error_bodies import is_web_page
from quorum.models.failures import classify_error
from quorum.models.http_clients import make_timed_client
from quorum.models.loops import get_loop_cache
from quorum.models.model_spec import hide_login
from quorum.models.requested_waits import choose_wait, is_too_long
from quorum.models.server_troubles import MAX_SERVER_TRIES, ServerTries, compute_wait_for_server, watch_tries

if TYPE_CHECKING:
    import openai

LONGEST_WAIT = 8.0  # seconds before another try, if the server does not ask for a wait
CONNECT_SECONDS = 5.0
# How long a server may take for a request: a model may have to be loaded first, and works on every text.
SECONDS_OF_REQUEST, SECONDS_OF_TEXT = 60.0, 0.5


class OpenAIEmbeddings(Embeddings):
    """Embeddings by OpenAI's own client.

    Texts are sent as they are, because a tokenizer would have to be downloaded. Each vector goes to the text that its
    `index` names: a server may reply in another order, and langchain-openai would take that order for ours.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None,
        api_key: str,
        request_seconds: float = SECONDS_OF_REQUEST,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.name, self.base_url, self.api_key, self.request_seconds = name, base_url, api_key, request_seconds
        self.clock, self.server = clock, hide_login(base_url or "")

    def get_client(self) -> "openai.AsyncOpenAI":
        """The client of the running event loop."""
        import openai

        loop_cache = get_loop_cache()

        def make() -> "openai.AsyncOpenAI":
            return openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=self.api_key,
                http_client=make_timed_client(loop_cache, self.base_url),
                max_retries=0,
            )

        return loop_cache.get_or_make(("embeddings", self.base_url, self.api_key), make)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return run_sync(self.aembed_documents(texts))

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for begin in range(0, len(texts), MOST_TEXTS):
            vectors += await self.request(texts[begin : begin + MOST_TEXTS])
        return vectors

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]

    async def request(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of one request, in the order of its texts."""
        from quorum.models.http_library import OPENAI_HTTP

        subject = f"The embeddings 'openai:{self.name}'"
        timeout = OPENAI_HTTP.Timeout(self.request_seconds + SECONDS_OF_TEXT * len(texts), connect=CONNECT_SECONDS)
        try:
            with (
                tell_request(f"openai:{self.name}", texts) as request,
                watch_tries(
                    self.server, f"The server of the embeddings 'openai:{self.name}' at {self.server}"
                ) as tries,
            ):
                response = await self.send(list(texts), timeout, tries)
                request.tokens = read_tokens(response)
        except UnicodeEncodeError:  # the request cannot be sent
            raise
        except (ValueError, TypeError, AttributeError) as error:  # the client cannot read the reply
            raise CallError(
                f"{subject} failed: the server's reply holds no vectors ({error}); check the base URL."
            ) from error
        return order_vectors(response, len(texts), self.name)

    async def send(self, texts: list[str], timeout: Any, tries: ServerTries) -> Any:
        """The server's response. A request that failed is sent again if that may help; the last failure is raised."""
        from quorum.models.bounded_responses import ReplyTimeoutError

        failed_tries = 0
        while True:
            try:
                return await self.get_client().embeddings.create(model=self.name, input=texts, timeout=timeout)
            except ReplyTimeoutError:
                raise
            except Exception as error:
                failure = classify_error(error, self.clock.unix_time())
                if is_web_page(error):
                    raise make_no_vectors_error(self.name, "a web page") from error
                failed_tries += 1
                is_last = failed_tries >= MAX_SERVER_TRIES or is_too_long(failure.retry_after)
                if failure.kind not in ("retryable", "unreachable") or is_last:
                    raise
                if failure.kind == "unreachable":
                    wait = compute_wait_for_server(failed_tries)
                else:
                    wait = choose_wait(failure.retry_after, failed_tries, self.clock.draw_jitter(), LONGEST_WAIT)
                tries.tell_failed_try(failure, failed_tries, MAX_SERVER_TRIES, wait, self.clock.now())
            await sleep_unless_stopped(wait, self.clock.sleep)


def make_no_vectors_error(name: str, found: str) -> CallError:
    return CallError(
        f"The embeddings 'openai:{name}' failed: the server sent {found} in place of vectors; check the base URL, "
        "which mostly ends in /v1."
    )


def order_vectors(response: Any, count: int, name: str) -> list[list[float]]:
    """The vectors of a response, by their `index`. Raises CallError if it is no list of `count` vectors with the
    indexes from 0 on; vectors without any index keep their order.

    The numbers in the vectors are not checked here (see `quorum.models.vectors`).
    """
    items = getattr(response, "data", None)
    if not isinstance(items, list):
        found = "a text, perhaps a web page," if isinstance(response, str) else "something else"
        raise make_no_vectors_error(name, found)
    indexes = [getattr(item, "index", None) for item in items]
    vectors: list[Any] = [getattr(item, "embedding", None) for item in items]
    if len(items) != count or all(index is None for index in indexes):
        return vectors
    by_index = dict(zip(indexes, vectors, strict=True))
    if by_index.keys() != set(range(count)):
        raise CallError(
            f"The embeddings 'openai:{name}' failed: the server numbered {count} vectors {indexes[:10]}; check the "
            "server."
        )
    return [by_index[index] for index in range(count)]
