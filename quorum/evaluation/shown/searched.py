"""Says what was searched for an answer, in one sentence that every view shows with the answer unknown."""

import asyncio
from collections.abc import Sequence

from quorum.core.context import Context
from quorum.core.conversation import SEARCHED_START
from quorum.core.errors import QuorumError
from quorum.core.state import Passage, Result
from quorum.core.text import format_count


async def describe_searched(result: Result, context: Context, given: Sequence[Passage] | None = None) -> str:
    """A sentence such as 'Searched: the collection handbook (34 passages).'

    result, context: of the question. given: the passages that the question brought, None if a retriever was asked.
    """
    if given is not None:
        return f"{SEARCHED_START}{format_count(len(given), 'given passage')}."
    if not (result.get("passages") or result.get("retrieved")):
        return f"{SEARCHED_START}nothing; no passage was read."
    if not isinstance(context.retriever, str):
        return f"{SEARCHED_START}what the retriever {type(context.retriever).__name__} finds."
    return f"{SEARCHED_START}{await asyncio.to_thread(describe_collection, context)}."


def describe_collection(context: Context) -> str:
    """The collection that the context asks, with its number of passages. The call blocks."""
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.collection_names import get_located_collection
    from quorum.retrievers.store import open_store

    try:
        located_context = locate_collection(context)
        name = get_located_collection(located_context)
        count = open_store(located_context.store).count_passages(name)
    except QuorumError:  # the collection was removed, or the store stopped, after the search
        return f"the collection {context.collection}" if context.collection else "a collection that is gone now"
    return f"the collection {name} ({format_count(count, 'passage')})"
