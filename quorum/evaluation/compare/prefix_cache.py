"""Estimates which tokens a server's prefix cache holds: those of a long beginning that all prompts of a column share.

With documents=all every prompt begins with all documents, so the first question fills the cache for all others.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Protocol

from quorum.core.context import Context

FEWEST_CACHED_TOKENS = 1024  # providers cache no shorter beginnings


class PricedCall(Protocol):
    """A rehearsed call (`quorum.evaluation.compare.rehearsal.RehearsedCall`)."""

    prompt_name: str
    input_tokens: float
    cached_tokens: float
    repeated_text: str


def reads_all_documents(contexts: Sequence[Context]) -> bool:
    """Whether a method with one of these contexts puts all documents before each question."""
    return any(context.documents == "all" for context in contexts)


def note_cached_prefixes(calls_by_question: Sequence[Sequence[PricedCall]], question_count: int) -> None:
    """Set `cached_tokens` of a column's rehearsed calls whose prompts begin alike: on average over the run, in which
    the first call of each prompt finds nothing in the cache.

    question_count: how many questions the run asks, rehearsed or not.
    """
    calls_by_prompt: dict[str, list[PricedCall]] = {}
    for call in (call for calls in calls_by_question for call in calls if call.repeated_text):
        calls_by_prompt.setdefault(call.prompt_name, []).append(call)
    for calls in calls_by_prompt.values():
        expected_calls = len(calls) * question_count / len(calls_by_question)
        shared_length = count_shared_characters([call.repeated_text for call in calls]) if len(calls) > 1 else 0
        for call in calls:
            shared = call.input_tokens * shared_length / len(call.repeated_text)
            if shared >= FEWEST_CACHED_TOKENS:
                call.cached_tokens = shared * (1 - 1 / expected_calls)
            call.repeated_text = ""


def count_shared_characters(texts: Sequence[str]) -> int:
    """How many characters all texts begin with.

    >>> count_shared_characters(["tea", "tears", "tent"])
    2
    """
    first, last = min(texts), max(texts)  # in alphabetical order, what these two share all share
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
