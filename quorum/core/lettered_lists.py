"""Lettered lists, the form of candidate answers in prompts and replies: (a) one (b) another. At most 26 items."""

from collections.abc import Sequence
from string import ascii_lowercase


def get_letter(rank: int) -> str:
    """'a' for rank 0."""
    return ascii_lowercase[rank]


def format_lettered_list(texts: Sequence[str]) -> str:
    """'(a) one (b) another'."""
    return " ".join(f"({get_letter(rank)}) {text}" for rank, text in enumerate(texts))
