"""Makes an embedding model from its spec, the text that the setting `embeddings` holds."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from time import time
from typing import Any

from langchain_core.embeddings import Embeddings

from quorum.core.cancellation import run_on_daemon_thread
from quorum.core.errors import CallError, QuorumError, SetupError
from quorum.models.embedding_batches import embed_in_batches, find_sizes
from quorum.models.embedding_requests import tell_request
from quorum.models.failures import classify_error
from quorum.models.model_spec import Spec, get_openai_access, hide_login, make_client_or_explain, read_spec
from quorum.models.openai_embeddings import OpenAIEmbeddings
from quorum.models.requested_waits import describe_long_wait
from quorum.models.server_troubles import MAX_SERVER_TRIES, describe_server_tries
from quorum.models.vectors import check_vectors

CREATION_LOCK = threading.Lock()  # else two threads that call at once would both load the embedded model


def embeddings(spec: str | Embeddings) -> Embeddings:
    """The embedding model of a spec: "embedded", "huggingface:NAME_OR_FOLDER" (see `quorum.models.embeddings_spec`),
    "openai:NAME" or "PROVIDER:NAME" of any LangChain provider. An object in place of a spec is returned unchanged.

    Raises a `SetupError` for a spec that cannot be used. The model's calls raise a `SetupError` if the server cannot be
    reached or refuses the key, and a `CallError` if they fail otherwise.
    """
    if not isinstance(spec, str):
        return spec
    parsed_spec = read_spec(spec, "embeddings")
    if parsed_spec.provider == "embedded":
        with CREATION_LOCK:
            return get_embedded_embeddings()
    if parsed_spec.provider == "huggingface":
        from quorum.models.embeddings_huggingface import HuggingFaceEmbeddings

        return HuggingFaceEmbeddings(parsed_spec)
    return CheckedEmbeddings(parsed_spec)


def get_embedding_name(spec: str | Embeddings) -> str:
    """The embedding model's name, which a collection stores: "embedded:ENCODER_NAME", the text of any other spec, or an
    object's class, with its model's name if it has one.
    """
    if not isinstance(spec, str):
        name = getattr(spec, "model", None) or getattr(spec, "model_name", None)
        class_name = f"{type(spec).__module__}.{type(spec).__qualname__}"
        return f"{class_name}:{name}" if isinstance(name, str) else class_name
    parsed_spec = read_spec(spec, "embeddings")
    if parsed_spec.provider != "embedded":
        return parsed_spec.text
    from quorum.models.embedded import get_encoder_name

    return f"embedded:{get_encoder_name()}"


@lru_cache(1)
def get_embedded_embeddings() -> Embeddings:
    """The embedded model, one per process."""
    from quorum.models.embedded.embeddings import EmbeddedEmbeddings

    return EmbeddedEmbeddings()


def make_embeddings_client(spec: Spec) -> Embeddings:
    """A provider's client."""
    if spec.provider == "openai":
        return OpenAIEmbeddings(spec.name, **get_openai_access(spec))

    def make() -> Embeddings:
        from langchain.embeddings import init_embeddings

        return init_embeddings(spec.name, provider=spec.provider)

    return make_client_or_explain(spec, make)


class CheckedEmbeddings(Embeddings):
    """A provider's embeddings. A failure that `classify_error` recognises becomes a `SetupError` or `CallError`; any
    other exception is raised unchanged. A request that holds too much is sent in parts (see
    `quorum.models.embedding_batches`).

    Its asynchronous methods run the synchronous ones on a thread, so one client serves every event loop. Ctrl-C does
    not wait for these threads.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.model = spec.text
        self.client = make_embeddings_client(spec)
        self.size: int | None = None  # of the vectors so far

    @property
    def server_and_model(self) -> tuple[str, str | None]:
        """What decides how much a request may hold."""
        return self.spec.text, self.spec.base_url

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed(texts, self.client.embed_documents)

    def embed_query(self, text: str) -> list[float]:
        # Texts in place of the question are its pieces, if it is too long.
        return self.embed([text], lambda texts: [self.client.embed_query(one) for one in texts])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await run_on_daemon_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        return await run_on_daemon_thread(self.embed_query, text)

    def embed(self, texts: list[str], send: Callable[[list[str]], Any]) -> list[list[float]]:
        """Vectors, one per text. send: sends one request."""
        subject = f"The embeddings {self.spec.text!r}"

        def embed_batch(batch: list[str]) -> list[list[float]]:
            # OpenAI's client tells its requests itself, with the tokens that the server counts.
            is_told = isinstance(self.client, OpenAIEmbeddings)
            with nullcontext() if is_told else tell_request(self.model, batch):
                vectors = check_vectors(send(batch), len(batch), subject, self.size)
            self.size = len(vectors[0])
            return vectors

        try:
            return embed_in_batches(embed_batch, texts, find_sizes(self), subject)
        except QuorumError:
            raise
        except Exception as error:
            if (explained := self.explain(error)) is None:
                raise
            raise explained from (error if type(explained) is CallError else None)

    def explain(self, error: Exception) -> QuorumError | None:
        """What an exception of the client means; None if it is a bug."""
        failure = classify_error(error, time())
        address = f" at {hide_login(self.spec.base_url)}" if self.spec.base_url else ""
        subject = f"The embeddings {self.spec.text!r}{address}"
        if failure.kind == "denied":
            if failure.status is None:  # an untrusted certificate, a proxy, a request that cannot be sent
                check = failure.check or "the base URL and its certificate"
                return SetupError(f"{subject} cannot be used ({failure.message}); check {check}.")
            return SetupError(f"{subject} were refused ({failure.status}: {failure.message}); check the key.")
        if failure.kind == "unreachable":
            tries = MAX_SERVER_TRIES if self.spec.provider == "openai" else 1
            return SetupError(
                f"The server of the embeddings {self.spec.text!r}{address} does not answer ({failure.message}), after "
                f"{describe_server_tries(tries)}; start the server or correct its address, then run the command again."
            )
        if failure.kind == "other":
            return None
        wait = describe_long_wait(failure.retry_after)
        return CallError(f"{subject} failed ({failure.message}{wait}).", failure.status)
