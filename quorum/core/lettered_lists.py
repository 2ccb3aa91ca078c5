"""Lettered lists, as candidate answers stand in prompts and replies: (a) one (b) another. At most 26."""

from collections.abc import Sequence
from string import ascii_lowercase


def letter(rank: int) -> str:
    """'a' for rank 0."""
    return ascii_lowercase[rank]


def lettered(texts: Sequence[str]) -> str:
    """'(a) one (b) another'."""
    return " ".join(f"({letter(rank)}) {text}" for rank, text in enumerate(texts))
