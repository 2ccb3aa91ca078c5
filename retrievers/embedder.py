"""Creates each embedding model once per process. A spec names the model, for example "openai:NAME"."""

from functools import lru_cache, partial
from pathlib import Path

from langchain_core.embeddings import Embeddings

from quorum.models import embeddings
from quorum.models.embedding_batches import limit_batches
from quorum.models.model_spec import read_spec


def get_embedder(spec: str | Embeddings, batch: int | None = None) -> Embeddings:
    """The embedding model of a spec, created once for each spec and server address; an object is returned as it is.

    batch: from now on, the most texts in a request to its server (the setting embedding_batch). Creating the model
    takes time, so an event loop must call this function on a thread.
    """
    model = create_embedder(spec, read_spec(spec, "embeddings").base_url) if isinstance(spec, str) else spec
    limit_batches(model, batch)
    return model


def get_indexing_embedder(spec: str | Embeddings, name: str, folder: Path, batch: int | None = None) -> Embeddings:
    """The embeddings for passages that are indexed. Vectors that they compute are cached in `folder`.

    name: what `get_embedding_name` gives for `spec`; the cache finds vectors by it. Nothing is cached if `spec` is an
    `Embeddings` object or the folder of a model, because their names do not change when the model's weights change.
    batch: as in `get_embedder`.
    """
    if not isinstance(spec, str):
        return get_embedder(spec, batch)
    parsed_spec = read_spec(spec, "embeddings")
    if Path(parsed_spec.name).is_dir() and parsed_spec.name:
        return get_embedder(spec, batch)
    from quorum.retrievers.embedding_cache import CachedEmbeddings

    # Another server may serve another model under the same name.
    key = name if parsed_spec.base_url is None else f"{name}\0{parsed_spec.base_url}"
    return CachedEmbeddings(partial(get_embedder, spec, batch), key, folder)


@lru_cache(maxsize=16)
def create_embedder(spec: str, base_url: str | None) -> Embeddings:
    """The embedding model of a spec.

    base_url: the server's address. It only makes `lru_cache` create another model for another server; `embeddings`
    reads the address from the environment.
    """
    return embeddings(spec)
