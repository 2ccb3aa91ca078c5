"""Quorum's embeddings as an embedding function of Chroma, which Quorum's collections record.

So a client of Chroma alone, in a program that imports quorum, can search them by texts (`query_texts`). This module is
imported once the program has imported chromadb, and makes the function known to Chroma by its name.
"""

from typing import Any

from chromadb.api.types import Documents, EmbeddingFunction, Embeddings, Space
from chromadb.utils.embedding_functions import register_embedding_function

NAME = "quorum"


class QuorumEmbeddingFunction(EmbeddingFunction[Documents]):
    """The embeddings of a collection. embeddings: their name, as the collection's metadata have it."""

    def __init__(self, embeddings: str) -> None:
        self.embeddings = embeddings

    def __call__(self, input: Documents) -> Embeddings:
        from quorum.models.vectors import embed_texts

        return make_arrays(embed_texts(self.get_model(), input))

    def embed_query(self, input: Documents) -> Embeddings:
        from quorum.models.vectors import embed_question

        model = self.get_model()
        return make_arrays([embed_question(model, text) for text in input])

    def get_model(self) -> Any:
        """The embedding model. Raises `SetupError` if its name alone does not say which it is."""
        from quorum.core.errors import SetupError
        from quorum.models import get_embedding_name
        from quorum.retrievers.embedder import get_embedder

        if self.embeddings == get_embedding_name("embedded"):
            return get_embedder("embedded")
        if self.embeddings.startswith("embedded:") or not is_spec(self.embeddings):
            raise SetupError(
                f"The collection was made with the embeddings {self.embeddings!r}, which their name alone cannot give; "
                "embed the texts with them, and give the vectors as query_embeddings."
            )
        return get_embedder(self.embeddings)

    @staticmethod
    def name() -> str:
        return NAME

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> "QuorumEmbeddingFunction":
        return QuorumEmbeddingFunction(str(config["embeddings"]))

    def get_config(self) -> dict[str, Any]:
        return {"embeddings": self.embeddings}

    def default_space(self) -> Space:
        return "cosine"


def is_spec(name: str) -> bool:
    """Whether the name of embeddings is a setting that makes them, such as "openai:NAME"."""
    from quorum.core.errors import SetupError
    from quorum.models import get_embedding_name

    try:
        return get_embedding_name(name) == name
    except SetupError:
        return False


def make_arrays(vectors: list[list[float]]) -> Embeddings:
    """The vectors as Chroma has them."""
    import numpy as np

    return [np.asarray(vector, dtype=np.float32) for vector in vectors]


register_embedding_function(QuorumEmbeddingFunction)  # type: ignore[no-untyped-call]
