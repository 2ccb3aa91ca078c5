"""Filters the passages that come with a question, by their metadata."""

from collections.abc import Sequence
from typing import Any

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.core.where import NothingMatchesError, describe_filter, format_where, has_right, matches
from quorum.retrievers.collection_filters import find_kinds, read_filter
from quorum.retrievers.where_in_chroma import check_filter, describe_keys


def filter_given(passages: Sequence[Passage], context: Context) -> list[Passage]:
    """The given passages that pass the context's filter, in their order; all without a filter.

    Raises `SetupError` for a filter that does not fit their metadata, and if none of them passes.
    """
    where = format_where(context.where)
    if where is None:
        return list(passages)
    kinds = find_kinds(map(get_metadata, passages))
    check_filter(read_filter(where), kinds, "the given passages")
    passing = select_given(passages, context)
    if not passing:
        part = read_filter(where)
        keys = "" if has_right(part) else f" ({describe_keys(kinds)})"
        raise NothingMatchesError(
            f"None of the {len(passages)} given passages passes where {describe_filter(part)}; widen the filter or "
            f"leave it out{keys}."
        )
    return passing


def select_given(passages: Sequence[Passage], context: Context) -> list[Passage]:
    """The given passages that pass the context's filter, which fits their metadata."""
    where = format_where(context.where)
    return [p for p in passages if where is None or matches(read_filter(where), get_metadata(p))]


def get_metadata(passage: Passage) -> dict[str, Any]:
    """A passage's metadata with its title."""
    title = {"title": passage["title"]} if passage["title"] else {}
    return {**title, **passage.get("metadata", {})}
