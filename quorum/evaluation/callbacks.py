"""Reads LangChain's callback events: which node an event begins, and the message and tokens of a reply."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.outputs import LLMResult


def get_node_name(name: object, parent: UUID | None, metadata: Mapping[str, Any] | None) -> str | None:
    """The node that begins with this event; None for the graph itself, a branch, and LangGraph's own runs."""
    node = str(name or "")
    if parent is None or node == "__start__" or node != (metadata or {}).get("langgraph_node"):
        return None
    return node


def read_message(response: LLMResult) -> Any:
    """The message of a reply; None if the model returns plain text."""
    return getattr(response.generations[0][0], "message", None)


def read_usage(response: LLMResult) -> Mapping[str, Any]:
    """The tokens of a reply by kind; empty if the model does not report them."""
    return getattr(read_message(response), "usage_metadata", None) or {}


def is_reused(response: LLMResult) -> bool:
    """Whether the reply caused no call.

    It came from the journal, from an identical call in flight, or from the same call of an earlier stage of a cascade.
    """
    response_metadata = getattr(read_message(response), "response_metadata", None) or {}
    return bool(response_metadata.get("reused"))
