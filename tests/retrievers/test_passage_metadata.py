"""The metadata of a user's retriever stay with the passages: in results and in LangChain documents."""

from datetime import date
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

import quorum
from quorum import Context
from quorum.documents.places import describe_place
from quorum.graphs import METHODS

METADATA = {"author": "Ada Korn", "source": "papers/mills.pdf", "page": 4, "total_pages": 9, "made": date(2026, 5, 1)}
PLAIN_METADATA = METADATA | {"made": "2026-05-01"}
QUESTION = "Who built the mill of Orrin?"


class Mills(BaseRetriever):
    """A retriever of the user's."""

    def _get_relevant_documents(self, query: str, **options: Any) -> list[Document]:
        text = "The mill of Orrin was built by Greta Hale."
        return [Document(id="7", page_content=text, metadata={"title": "Mills", "score": 0.5, **METADATA})]


# Whole documents are not read from a retriever of the user's, which says nothing of their order.
@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"no_retrieval", "full_documents", "self_route"}))
async def test_results_keep_it(method: str) -> None:
    result = await quorum.answer(QUESTION, method, Context(retriever=Mills()))
    kept = [passage for passage in result["passages"] if passage["id"] == "7"]
    assert [passage["metadata"] for passage in kept] == [PLAIN_METADATA] * len(kept)
    assert kept or method == "direct"


@pytest.mark.parametrize("settings", [{}, {"context_filter": "embedded"}, {"reranker": "question"}])
def test_documents_of_the_method_keep_it(settings: dict[str, Any]) -> None:
    [document] = quorum.as_retriever("concat", Context(retriever=Mills(), **settings)).invoke(QUESTION)
    assert document.metadata == PLAIN_METADATA | {"title": "Mills", "score": document.metadata["score"]}


async def test_a_passage_says_where_its_metadata_place_it() -> None:
    result = await quorum.answer(QUESTION, "concat", Context(retriever=Mills()))
    assert describe_place(result["passages"][0]) == "papers/mills.pdf, p. 5"
