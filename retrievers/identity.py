"""What identifies a retriever of the user's, in results and recorded settings."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel

NAMES_OF_CONTENT = ("collection_name", "index_name", "table_name")  # of vector stores, where they have such a name
DEEPEST = 4  # objects inside objects; what lies deeper is described by its class


def identify_retriever(retriever: BaseRetriever) -> str:
    """The name of a retriever's class and a hash of its settings, such as "VectorStoreRetriever-3f9a1c20".

    The settings are the fields of the retriever and of the retrievers in it, among them its `name`, `tags` and
    `metadata`; of a vector store they are its class and NAMES_OF_CONTENT. What it finds is no part of it, because only
    a search shows this: if its documents change, give it another name, or the results another folder.
    """
    description = json.dumps(describe_part(retriever, DEEPEST), sort_keys=True)
    return f"{type(retriever).__name__}-{hashlib.sha256(description.encode()).hexdigest()[:8]}"


def describe_part(value: Any, depth: int) -> Any:
    """A value as JSON data that are the same in every process."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth and isinstance(value, Mapping):
        return {str(key): describe_part(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [describe_part(item, depth - 1) for item in value]
    if depth and isinstance(value, set | frozenset):
        return sorted(json.dumps(describe_part(item, depth - 1), sort_keys=True) for item in value)
    parts: dict[str, Any] = {"class": f"{type(value).__module__}.{type(value).__qualname__}"}
    if depth and isinstance(value, BaseModel):
        parts |= {name: describe_part(getattr(value, name), depth - 1) for name in type(value).model_fields}
    else:
        names = {name: getattr(value, name, None) for name in NAMES_OF_CONTENT}
        parts |= {name: text for name, text in names.items() if isinstance(text, str)}
    return parts
