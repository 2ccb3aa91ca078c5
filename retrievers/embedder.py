"""Creates the embedding model of a spec once per process."""

from functools import lru_cache, partial
from pathlib import Path

from langchain_core.embeddings import Embeddings

from quorum.models import embeddings
from quorum.models.model_spec import read_spec


def get_embedder(spec: str | Embeddings) -> Embeddings:
    """Like `quorum.models.embeddings`, but the same object for the same spec and server. The first call blocks."""
    return create_embedder(spec, read_spec(spec, "embeddings").base_url) if isinstance(spec, str) else spec


def get_indexing_embedder(spec: str | Embeddings, name: str, folder: Path) -> Embeddings:
    """The embeddings for passages that are indexed; if `spec` is a text, their vectors are cached in `folder`.

    Nothing is cached if `spec` is an `Embeddings` object or a model's folder, because neither name identifies the
    model.
    """
    if not isinstance(spec, str):
        return spec
    parsed_spec = read_spec(spec, "embeddings")
    if Path(parsed_spec.name).is_dir() and parsed_spec.name:
        return get_embedder(spec)
    from quorum.retrievers.embedding_cache import CachedEmbeddings

    # Another server may serve another model under the same name.
    key = name if parsed_spec.base_url is None else f"{name}\0{parsed_spec.base_url}"
    return CachedEmbeddings(partial(get_embedder, spec), key, folder)


@lru_cache(maxsize=16)
def create_embedder(spec: str, base_url: str | None) -> Embeddings:
    return embeddings(spec)
