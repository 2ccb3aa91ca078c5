"""Passages as LangChain documents, their ids, and the text that is indexed."""

import math

from langchain_core.documents import Document

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.records import content_hash as content_hash  # also for those who import it from here


def indexed_text(passage: Passage) -> str:
    """What is embedded and matched: the title and the text."""
    return f"{passage['title']}\n{passage['text']}" if passage["title"] else passage["text"]


def to_document(passage: Passage) -> Document:
    """A passage as LangChain's retrievers return it; title and score are metadata."""
    metadata = {"title": passage["title"]} | ({"score": passage["score"]} if "score" in passage else {})
    return Document(id=passage["id"], page_content=passage["text"], metadata=metadata)


def from_document(document: Document) -> Passage:
    """The passage of a document, also of a retriever that is not ours: a missing id is made from the content."""
    title, text = str(document.metadata.get("title") or ""), document.page_content
    id_ = document.id or document.metadata.get("id") or content_hash(title, text)
    passage = Passage(id=str(id_), title=title, text=text)
    score = document.metadata.get("score")
    if isinstance(score, int | float) and math.isfinite(score):
        passage["score"] = float(score)
    return passage


def scored(passage: Passage, score: float) -> Passage:
    """The same passage with a retriever's score."""
    return Passage(id=passage["id"], title=passage["title"], text=passage["text"], score=float(score))


def check_question(query: str) -> str:
    """The query, if it asks anything."""
    if not query.strip():
        raise SetupError("The question is empty; ask something in words.")
    return query
