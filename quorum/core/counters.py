"""The counts in a graph's state (calls, tokens, malformed replies), and the reducers that merge a node's update into
the state.
"""

from typing import Annotated, TypeVar

from typing_extensions import TypedDict  # as in `state`

T = TypeVar("T")


class Usage(TypedDict):
    """How many calls were made under one prompt name, and how many tokens they took."""

    calls: int
    """Model calls, whether sent or from the journal."""
    input_tokens: int
    """Tokens of the prompts."""
    output_tokens: int
    """Tokens of the replies."""
    cached_tokens: int
    """The input tokens that the server's prefix cache held; `input_tokens` counts them, too."""


class CountedReplies(TypedDict):
    """How many replies to one prompt had the same fault, and the replies themselves.

    A result has such counts under two keys. Under `malformed`: the reply lacks the form that the prompt asks for, and
    the parser's default took its place. Under `wordy_answers`: the prompt asks for a short answer, and the answer in
    the reply has too many words.
    """

    count: int
    """How many."""
    replies: list[str]
    """The replies as the model wrote them."""


def append_items(left: list[T] | None, right: list[T] | None) -> list[T] | None:
    """Reducer: append the items on the right; None stands for no items."""
    return left if right is None else [*(left or []), *right]


def add_counts(left: int | None, right: int | None) -> int:
    """Reducer: add; None counts as 0."""
    return (left or 0) + (right or 0)


def is_either_true(left: bool | None, right: bool | None) -> bool:
    """Reducer: whether one of the two values is true."""
    return bool(left) or bool(right)


def merge_usage(left: dict[str, Usage] | None, right: dict[str, Usage] | None) -> dict[str, Usage]:
    """Reducer: add up calls and tokens, by prompt name."""
    merged_usage = dict(left or {})
    for name, usage in (right or {}).items():
        before = merged_usage.get(name)
        merged_usage[name] = (
            usage
            if before is None
            else Usage(
                calls=before["calls"] + usage["calls"],
                input_tokens=before["input_tokens"] + usage["input_tokens"],
                output_tokens=before["output_tokens"] + usage["output_tokens"],
                cached_tokens=before["cached_tokens"] + usage["cached_tokens"],
            )
        )
    return merged_usage


def merge_counted_replies(
    left: dict[str, CountedReplies] | None, right: dict[str, CountedReplies] | None
) -> dict[str, CountedReplies]:
    """Reducer: add up the counts and collect the raw replies, by prompt name."""
    merged_replies = dict(left or {})
    for name, new in (right or {}).items():
        before = merged_replies.get(name, CountedReplies(count=0, replies=[]))
        merged_replies[name] = CountedReplies(
            count=before["count"] + new["count"], replies=[*before["replies"], *new["replies"]]
        )
    return merged_replies


class Counters(TypedDict, total=False):
    """The counters of a run or a part of it. `usage`, `malformed` and `wordy_answers` have one entry per prompt name.

    A subgraph returns counters but does not take them as input; otherwise they would be added twice.
    """

    usage: Annotated[dict[str, Usage], merge_usage]
    """Calls and tokens, by prompt name."""
    malformed: Annotated[dict[str, CountedReplies], merge_counted_replies]
    """Replies without the form that the prompt asks for, by prompt name."""
    wordy_answers: Annotated[dict[str, CountedReplies], merge_counted_replies]
    """Answers with too many words where the prompt asks for a short one, by prompt name."""
    temperature_refused: Annotated[bool, is_either_true]
    """Whether a model refused temperature 0; if so, the same question may get another answer the next time."""
    dropped: Annotated[int, add_counts]
    """How many passages were left out of prompts because they did not fit into the model's window."""
