"""Creates the embedding model of a spec once per process."""

from functools import lru_cache

from langchain_core.embeddings import Embeddings

from quorum.models import embeddings
from quorum.models.model_spec import read_spec


def get_embedder(spec: str | Embeddings) -> Embeddings:
    """Like `quorum.models.embeddings`, but the same object for the same spec and server. The first call blocks."""
    return create_embedder(spec, read_spec(spec, "embeddings").base_url) if isinstance(spec, str) else spec


@lru_cache(maxsize=16)
def create_embedder(spec: str, base_url: str | None) -> Embeddings:
    return embeddings(spec)
