"""The embedding model of a spec, one per process."""

from functools import lru_cache

from langchain_core.embeddings import Embeddings

from quorum.models import embeddings
from quorum.models.model_spec import read_spec


def embedder(spec: str | Embeddings) -> Embeddings:
    """Like `quorum.models.embeddings`, but the same object for the same spec and server. Blocks the first time."""
    return made(spec, read_spec(spec, "embeddings").base_url) if isinstance(spec, str) else spec


@lru_cache(maxsize=16)
def made(spec: str, base_url: str | None) -> Embeddings:
    return embeddings(spec)
