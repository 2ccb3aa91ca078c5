"""Retrieves the k best passages for a query, from a collection or from given passages.

Begin with `search`. This package imports only documents, models, datasets and core.
"""

import asyncio
from collections.abc import Hashable
from typing import TYPE_CHECKING

from quorum.cascades.cascade_cache import CASCADE_CACHE
from quorum.core.errors import CallError, QuorumError, SetupError
from quorum.core.redaction import redact_secrets
from quorum.core.state import Passage
from quorum.core.where import format_where
from quorum.retrievers.given_filter import select_given
from quorum.retrievers.passages import check_question, read_document
from quorum.retrievers.registry import find_retriever

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableConfig

    from quorum.core.context import Context

LONGEST_REASON = 300  # characters of another program's error message

__all__ = ["find_retriever", "get_retriever", "search"]


def get_retriever(context: "Context") -> "BaseRetriever":
    """The retriever that the context names, over the context's collection.

    The name is looked up in `quorum.retrievers.registry`. If the context holds a retriever object in place of a name,
    this object is returned unchanged; with a filter, it must be one that filters (see `check_filtered`). A context
    without a collection means the store's only one (see `quorum.retrievers.choose_collection`). If it is the sample,
    and is missing or outdated, this function creates it first. The call blocks.
    """
    if not isinstance(context.retriever, str):
        return check_filtered(context.retriever, context)
    from quorum.retrievers.choose_collection import locate_collection

    kind, argument = find_retriever(context.retriever)
    return check_filtered(kind.make(locate_collection(context), argument), context)


def check_filtered(retriever: "BaseRetriever", context: "Context") -> "BaseRetriever":
    """The retriever. Raises `SetupError` if the context has a filter that the retriever does not have: a retriever that
    filters has it as its attribute `where`.
    """
    where, own = format_where(context.where), getattr(retriever, "where", None)
    if where is not None and own not in (where, context.where):
        raise SetupError(
            f"The setting where filters collections and given passages, but not what the retriever "
            f"{type(retriever).__name__} finds; filter in the retriever itself (a vector store's takes "
            "search_kwargs={'filter': ...}), and leave where out."
        )
    return retriever


async def search(
    query: str, context: "Context", given: list[Passage] | None = None, *, config: "RunnableConfig | None" = None
) -> list[Passage]:
    """The best `context.k` passages for a query, best first, with scores; fewer if the collection has fewer.

    given: passages to rank by BM25. If it is None, the context's retriever searches the context's collection.
    In a cascade, a search that an earlier stage has made is not made again (`quorum.cascades.cascade_cache`). Raises
    CallError if a retriever that is not Quorum's fails.
    """
    check_question(query)
    cache = CASCADE_CACHE.get()
    key = None if cache is None else make_search_key(query, context, given)
    if cache is not None and key in cache.searches:
        return list(cache.searches[key])
    chosen_retriever = await asyncio.to_thread(choose_retriever, context, given)
    try:
        documents = await chosen_retriever.ainvoke(query, config=config)
    except Exception as error:
        if isinstance(error, QuorumError) or is_built_in(chosen_retriever):
            raise
        raise make_failure(chosen_retriever, error) from error
    passages = [read_document(document) for document in documents[: context.k]]
    if cache is not None:
        cache.searches[key] = list(passages)
    return passages


def is_built_in(retriever: "BaseRetriever") -> bool:
    """Whether a retriever, or the one that it wraps in an evaluation, is one of Quorum's."""
    from quorum.retrievers.langchain_retrievers import Retriever

    return isinstance(getattr(retriever, "inner", retriever), Retriever)


def make_failure(retriever: "BaseRetriever", error: Exception) -> CallError:
    """The error of a retriever that the user, or a package, has written: it fails one question, not a whole run."""
    name = type(getattr(retriever, "inner", retriever)).__name__
    reason = redact_secrets(" ".join(f"{type(error).__name__}: {error}".split()))[:LONGEST_REASON]
    return CallError(f"The retriever {name} failed ({reason}).")


def make_search_key(query: str, context: "Context", given: list[Passage] | None) -> tuple[Hashable, ...]:
    """The key of a search in a cascade's cache: the query, the number of passages, the settings that choose the
    retriever and the collection, and the ids of the given passages.
    """
    where = format_where(context.where) or ""
    names = (context.retriever, context.collection, context.store, context.embeddings, context.title_key or "")
    parts = (*names, where, context.language)
    store_key = tuple(part if isinstance(part, str) else id(part) for part in parts)
    return query, context.k, store_key, None if given is None else tuple(passage["id"] for passage in given)


def choose_retriever(context: "Context", given: list[Passage] | None) -> "BaseRetriever":
    """BM25 over the given passages, or the context's retriever if `given` is None."""
    if given is None:
        return get_retriever(context)
    from quorum.retrievers.langchain_retrievers import GivenRetriever

    return GivenRetriever(k=context.k, passages=select_given(given, context), language=context.language)
