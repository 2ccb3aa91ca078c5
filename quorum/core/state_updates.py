"""Converts a node's update of the state to plain values."""

from collections.abc import Mapping
from typing import Any


def unwrap_overwrites(update: Mapping[str, Any]) -> dict[str, Any]:
    """The update, with values in place of LangGraph's `Overwrite` objects.

    >>> from langgraph.types import Overwrite
    >>> unwrap_overwrites({"votes": Overwrite([]), "answer": "Paris"})
    {'votes': [], 'answer': 'Paris'}
    """
    from langgraph.types import Overwrite

    return {name: value.value if isinstance(value, Overwrite) else value for name, value in update.items()}
