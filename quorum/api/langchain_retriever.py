"""The retriever that `quorum.as_retriever` makes."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, SkipValidation

from quorum.core.context import Context, get_filter_spec
from quorum.core.state import Passage
from quorum.core.sync import run_sync
from quorum.graphs import answer, find_method
from quorum.graphs.parts.passages_to_read import passages_to_read
from quorum.retrievers.passages import make_document

if TYPE_CHECKING:
    from quorum.graphs import Graph


class MethodRetriever(BaseRetriever):
    """Retrieves the passages that a method would read, as LangChain documents. method: its name, or a graph."""

    method: Any
    context: SkipValidation[Context]
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [make_document(passage) for passage in run_sync(find_passages(self.method, query, self.context))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [make_document(passage) for passage in await find_passages(self.method, query, self.context)]


async def find_passages(method: "str | Graph", question: str, context: Context) -> list[Passage]:
    """The passages that a method would read.

    A method that searches once, for the question, is not run: its search, reranker and filter are enough. Any other
    method, and a graph of the user's own, answers the question, and the passages come from its result. A calibration is
    not applied: it is about answers, not about passages.
    """
    context = replace(context, calibration=None)
    if not isinstance(method, str) or not searches_once(find_method(method).graph):
        return list((await answer(question, method, context)).get("passages") or [])
    if method == "filco":  # it filters even if the setting context_filter is not set
        context = replace(context, context_filter=get_filter_spec(context))
    result: Any = await passages_to_read.ainvoke({"question": question}, context=context)
    return list(result["passages"])


def searches_once(graph: Any) -> bool:
    """Whether a method's graph retrieves once, for the question itself: its node `retrieve` comes straight after
    `begin`, and no other part of it retrieves.

    >>> from quorum.graphs import METHODS
    >>> [searches_once(METHODS[name].graph) for name in ("sure", "hyde", "iter_retgen", "blendfilter", "no_retrieval")]
    [True, False, False, False, False]
    """
    sources = {edge.source for edge in graph.get_graph().edges if edge.target == "retrieve"}
    return sources == {"begin"} and not any(":retrieve" in id_ for id_ in graph.get_graph(xray=True).nodes)
