"""Says what was searched for an answer, in one sentence that every view shows with the answer unknown."""

import asyncio
from collections.abc import Sequence

from quorum.core.context import Context
from quorum.core.conversation import SEARCHED_START
from quorum.core.errors import QuorumError
from quorum.core.state import Passage, Result
from quorum.core.text import format_count
from quorum.core.where import describe_filter, format_where, parse_where


async def describe_searched(result: Result, context: Context, given: Sequence[Passage] | None = None) -> str:
    """A sentence such as 'Searched: the collection handbook (34 passages).'

    result, context: of the question. given: the passages that the question brought, None if a retriever was asked.
    """
    if given is not None:
        condition = "" if (part := parse_where(context.where)) is None else f", where {describe_filter(part)}"
        return f"{SEARCHED_START}{format_count(len(given), 'given passage')}{condition}."
    if not (result.get("passages") or result.get("retrieved")):
        return f"{SEARCHED_START}nothing; no passage was read."
    if not isinstance(context.retriever, str):
        return f"{SEARCHED_START}what the retriever {type(context.retriever).__name__} finds."
    return f"{SEARCHED_START}{await asyncio.to_thread(describe_collection, context)}."


def describe_collection(context: Context) -> str:
    """The collection that the context asks, with its number of passages. The call blocks."""
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.collection_filters import read_filter
    from quorum.retrievers.collection_names import get_located_collection
    from quorum.retrievers.store import open_store

    try:
        located_context = locate_collection(context)
        name = get_located_collection(located_context)
        store, where = open_store(located_context.store), format_where(context.where)
        if where is not None:
            passing = len(store.fetch_matching_ids(name, where))
            condition = describe_filter(read_filter(where))
            return f"{format_count(passing, 'passage')} of the collection {name}, where {condition}"
        count = store.count_passages(name)
    except QuorumError:  # the collection was removed, or the store stopped, after the search
        return f"the collection {context.collection}" if context.collection else "a collection that is gone now"
    return f"the collection {name} ({format_count(count, 'passage')})"
