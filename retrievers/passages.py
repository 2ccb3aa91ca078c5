"""Converts passages from and to LangChain documents, makes the text that is indexed, and checks a query."""

import math
from typing import Any

from langchain_core.documents import Document

from quorum.core.errors import SetupError
from quorum.core.json_text import make_plain as make_plain  # re-exported
from quorum.core.state import Passage
from quorum.datasets.records import hash_content as hash_content  # re-exported
from quorum.documents.pieces import get_headings

PASSAGE_KEYS = ("title", "score", "places")  # of a document's metadata: these are the passage's own fields


def make_indexed_text(passage: Passage) -> str:
    """The text that is embedded and matched: the title, the headings above the passage, its context if the collection
    was indexed with one, and its text.
    """
    parts = [passage["title"], " > ".join(get_headings(passage)), passage.get("context", ""), passage["text"]]
    return "\n".join(part for part in parts if part)


def hide_context(passage: Passage) -> Passage:
    """The passage without the context that only an index uses."""
    return {key: value for key, value in passage.items() if key != "context"}  # type: ignore[return-value]


def make_document(passage: Passage) -> Document:
    """A passage as LangChain's retrievers return it; title, score and places are metadata, beside its own."""
    metadata: dict[str, Any] = passage.get("metadata", {}) | {"title": passage["title"]}
    if "score" in passage:
        metadata["score"] = passage["score"]
    if "places" in passage:
        metadata["places"] = passage["places"]
    return Document(id=passage["id"], page_content=passage["text"], metadata=metadata)


def read_document(document: Document) -> Passage:
    """Convert a document, which may come from any LangChain retriever, to a passage.

    A missing id is made from the content. The score is left out if it is not a finite number, and the places are left
    out unless they are a list of objects with the key "file". All other metadata are the passage's.
    """
    title, text = str(document.metadata.get("title") or ""), document.page_content
    id_ = document.id or document.metadata.get("id") or hash_content(title, text)
    passage = Passage(id=str(id_), title=title, text=text)
    score = document.metadata.get("score")
    if isinstance(score, int | float) and math.isfinite(score):
        passage["score"] = float(score)
    places = document.metadata.get("places")
    if isinstance(places, list) and all(isinstance(place, dict) and "file" in place for place in places):
        passage["places"] = places
    own_metadata = {name: value for name, value in document.metadata.items() if name not in PASSAGE_KEYS}
    if own_metadata:
        passage["metadata"] = make_plain(own_metadata)
    return passage


def copy_with_score(passage: Passage, score: float) -> Passage:
    """A copy of the passage whose score is the one that a retriever gave."""
    return {**passage, "score": float(score)}


def check_question(query: str) -> str:
    """The query. Raises `SetupError` if it is empty."""
    if not query.strip():
        raise SetupError("The question is empty; ask something in words.")
    return query
