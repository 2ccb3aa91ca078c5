"""Reads the token counts that servers report. An invalid count is treated as missing."""

from collections.abc import Mapping
from typing import Any

MAX_TOKENS = 10**9  # of one call; a greater count is invalid
COUNT_FIELDS = ("prompt_tokens", "completion_tokens", "total_tokens")
DETAIL_FIELDS = ("prompt_tokens_details", "completion_tokens_details")


def is_count(value: object) -> bool:
    """Whether a value is a number of tokens: a whole number that is neither negative nor absurdly large.

    >>> [is_count(value) for value in (12, 0, -1, 3.5, "12", None, True, 10**30)]
    [True, True, False, False, False, False, False, False]
    """
    return type(value) is int and 0 <= value <= MAX_TOKENS


def clean_usage(usage: Any) -> dict[str, Any] | None:
    """The `usage` of an OpenAI reply, with its valid counts only. None if the count of prompt tokens or of completion
    tokens is missing or invalid; then both are estimated.
    """
    if not isinstance(usage, Mapping) or not all(is_count(usage.get(name)) for name in COUNT_FIELDS[:2]):
        return None
    valid_counts = {name: usage[name] for name in COUNT_FIELDS if is_count(usage.get(name))}
    for name in DETAIL_FIELDS:
        if isinstance(details := usage.get(name), Mapping):
            valid_counts[name] = {key: value for key, value in details.items() if is_count(value)}
    return valid_counts


def get_cached_tokens(usage: Mapping[str, Any]) -> int:
    """The tokens that LangChain's `usage_metadata` says came from the provider's cache."""
    details = usage.get("input_token_details")
    cached_count = details.get("cache_read") if isinstance(details, Mapping) else None
    return cached_count if type(cached_count) is int and is_count(cached_count) else 0
