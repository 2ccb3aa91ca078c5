"""Shares searches in a run: if several methods send the same query to the same retriever, it searches once."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from quorum.core.context import count_passages_to_find
from quorum.core.where import format_where
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.watch import SEARCH_SECONDS


class CachingRetriever(BaseRetriever):
    """Sends queries to the retriever `inner`, and caches the results of the `size` queries that were used last.

    A query that equals one in progress waits for the result of that one. Failures are not cached, nor are the results
    of synchronous calls.
    """

    inner: BaseRetriever
    size: int = 256
    _searches: "OrderedDict[str, asyncio.Task[tuple[list[Document], float]]]" = PrivateAttr(default_factory=OrderedDict)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if query not in self._searches:
            self._searches[query] = asyncio.create_task(self.search(query))
            if len(self._searches) > self.size:
                self._searches.popitem(last=False)
        self._searches.move_to_end(query)
        task = self._searches[query]
        try:
            # If this caller is cancelled, the search goes on, because other callers may wait for it.
            documents, seconds = await asyncio.shield(task)
        except BaseException:
            if task.done() and self._searches.get(query) is task:  # the search itself has failed: forget it
                del self._searches[query]
            raise
        if (search_seconds := SEARCH_SECONDS.get()) is not None:  # None: the current answer is not watched
            search_seconds[query] = seconds
        return list(documents)

    @property
    def where(self) -> str | None:
        """The filter of the retriever inside; None if it has none."""
        return getattr(self.inner, "where", None)

    async def search(self, query: str) -> tuple[list[Document], float]:
        """The documents, and the seconds that the search took."""
        started_at = time.perf_counter()
        documents = await self.inner.ainvoke(query)
        return documents, time.perf_counter() - started_at

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self.inner.invoke(query)


def share_retrieval(columns: Sequence[Column]) -> list[Column]:
    """The columns, changed so that their retrievers cache the searches. Cascades are not changed.

    Columns that ask the same retriever for the same number of passages share one cache.
    """
    from quorum.retrievers import get_retriever

    shared_retrievers: dict[tuple[Any, ...], CachingRetriever] = {}
    shared_columns = []
    for column in columns:
        context = replace(column.context, k=count_passages_to_find(column.context))
        if column.cascade is not None:  # a cascade has a cache of its own
            shared_columns.append(column)
            continue
        parts = (
            *(context.retriever, context.collection, context.store, context.embeddings, context.title_key),
            *(context.k, context.language),
        )
        key = (format_where(context.where), *(part if isinstance(part, str | int) else id(part) for part in parts))
        if key not in shared_retrievers:
            shared_retrievers[key] = CachingRetriever(inner=get_retriever(context))
        shared_columns.append(replace(column, context=replace(column.context, retriever=shared_retrievers[key])))
    return shared_columns
