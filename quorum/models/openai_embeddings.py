"""Embeddings of a server that speaks OpenAI's protocol."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from quorum.core.errors import CallError

if TYPE_CHECKING:
    import openai

MAX_RETRIES = 7
TEXTS_PER_REQUEST = 1000


class OpenAIEmbeddings(Embeddings):
    """Embeddings by OpenAI's own client.

    Texts are sent as they are, because a tokenizer would have to be downloaded. Each vector goes to the text that its
    `index` names: a server may reply in another order, and langchain-openai would take that order for ours.
    """

    def __init__(self, name: str, base_url: str | None, api_key: str, http_client: Any) -> None:
        self.name, self.base_url, self.api_key, self.http_client = name, base_url, api_key, http_client

    @cached_property
    def client(self) -> "openai.OpenAI":
        import openai

        return openai.OpenAI(
            base_url=self.base_url, api_key=self.api_key, http_client=self.http_client, max_retries=MAX_RETRIES
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [vector for begin in range(0, len(texts), TEXTS_PER_REQUEST) for vector in self.request(texts, begin)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def request(self, texts: Sequence[str], begin: int) -> Iterator[list[float]]:
        """Yield the vectors of one request, in the order of its texts."""
        batch = list(texts[begin : begin + TEXTS_PER_REQUEST])
        subject = f"The embeddings 'openai:{self.name}'"
        try:
            response: Any = self.client.embeddings.create(model=self.name, input=batch)
        except (ValueError, TypeError, AttributeError) as error:  # the client cannot read the reply
            raise CallError(
                f"{subject} failed: the server's reply holds no vectors ({error}); check the base URL."
            ) from error
        yield from order_vectors(response, len(batch), subject)


def order_vectors(response: Any, count: int, subject: str) -> list[list[float]]:
    """The vectors of a response, by their `index`. Raises CallError if it is no list of `count` vectors with the
    indexes from 0 on; vectors without any index keep their order.

    The numbers in the vectors are not checked here (see `quorum.models.vectors`).
    """
    items = getattr(response, "data", None)
    if not isinstance(items, list):
        kind = "a text, perhaps a web page" if isinstance(response, str) else "something else"
        raise CallError(f"{subject} failed: the server sent {kind} in place of vectors; check the base URL.")
    indexes = [getattr(item, "index", None) for item in items]
    vectors: list[Any] = [getattr(item, "embedding", None) for item in items]
    if len(items) != count or all(index is None for index in indexes):
        return vectors
    by_index = dict(zip(indexes, vectors, strict=True))
    if by_index.keys() != set(range(count)):
        raise CallError(f"{subject} failed: the server numbered {count} vectors {indexes[:10]}; check the server.")
    return [by_index[index] for index in range(count)]
