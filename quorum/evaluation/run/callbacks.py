"""Reads LangChain's callback events: which node a run executes; a reply's message and tokens, and whether the reply is
reused.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.outputs import LLMResult

from quorum.models.messages import write_message


def get_node_name(run_name: object, parent_run_id: UUID | None, metadata: Mapping[str, Any] | None) -> str | None:
    """The name of the node that a LangChain run executes. The arguments come from the callback for the run's start.

    None if the run executes no node: it is the graph itself, a router between nodes, or a run that LangGraph adds.
    """
    node = str(run_name or "")
    if parent_run_id is None or node == "__start__" or node != (metadata or {}).get("langgraph_node"):
        return None
    return node


def read_message(response: LLMResult) -> Any:
    """The message of a reply; None if the model returns plain text."""
    return getattr(response.generations[0][0], "message", None)


def read_reply_text(response: LLMResult) -> str:
    """What the model wrote, with the calls of tools in it: search({"query": "..."})."""
    message = read_message(response)
    return response.generations[0][0].text if message is None else write_message(message)


def read_usage(response: LLMResult) -> Mapping[str, Any]:
    """The token counts of a reply by kind, such as "input_tokens"; empty if the model does not report them."""
    return getattr(read_message(response), "usage_metadata", None) or {}


def is_reused(response: LLMResult) -> bool:
    """Whether the reply took no request to a server.

    It came from the journal, from an identical call in flight, or from the same call of an earlier stage of a cascade.
    """
    response_metadata = getattr(read_message(response), "response_metadata", None) or {}
    return bool(response_metadata.get("reused"))
