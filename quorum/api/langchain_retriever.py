"""The retriever that `quorum.as_retriever` makes."""

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, SkipValidation

from quorum.api.langchain import find_passages
from quorum.core.context import Context
from quorum.core.sync import run_sync
from quorum.retrievers.passages import make_document


class MethodRetriever(BaseRetriever):
    """The passages that a method would read, as documents."""

    method: str
    context: SkipValidation[Context]
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [make_document(passage) for passage in run_sync(find_passages(self.method, query, self.context))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [make_document(passage) for passage in await find_passages(self.method, query, self.context)]
