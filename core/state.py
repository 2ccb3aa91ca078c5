"""State: plain, serialisable data that flows through every graph, with explicit reducers."""

from typing import Annotated, NotRequired, TypeVar

from typing_extensions import TypedDict  # before Python 3.12 a JSON schema, Studio's form, can be made of this one only

T = TypeVar("T")


class Passage(TypedDict):
    """A piece of a document. `score` is the retriever's, higher is better."""

    id: str
    title: str
    text: str
    score: NotRequired[float]


class Vote(TypedDict):
    """One answer to the question from one passage. `rank` is the passage's, from 0."""

    rank: int
    passage: str
    answer: str
    unknown: bool
    weight: NotRequired[float]


class Evidence(TypedDict):
    """A passage that supports the answer; `start` and `end` mark the span in its text, null without a verbatim one."""

    passage: str
    start: int | None
    end: int | None


class Usage(TypedDict):
    """What the calls under one prompt name took: counts of calls and tokens."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class Malformed(TypedDict):
    """Replies that did not meet their prompt's contract; each was given the stated default."""

    count: int
    replies: list[str]


def extend(left: list[T] | None, right: list[T] | None) -> list[T] | None:
    """Reducer: append; None is nothing."""
    return left if right is None else [*(left or []), *right]


def add(left: int | None, right: int | None) -> int:
    """Reducer: sum."""
    return (left or 0) + (right or 0)


def merge_usage(left: dict[str, Usage] | None, right: dict[str, Usage] | None) -> dict[str, Usage]:
    """Reducer: sum per prompt name."""
    merged = dict(left or {})
    for name, usage in (right or {}).items():
        before = merged.get(name)
        merged[name] = (
            usage
            if before is None
            else Usage(
                calls=before["calls"] + usage["calls"],
                input_tokens=before["input_tokens"] + usage["input_tokens"],
                output_tokens=before["output_tokens"] + usage["output_tokens"],
                cached_tokens=before["cached_tokens"] + usage["cached_tokens"],
            )
        )
    return merged


def merge_malformed(left: dict[str, Malformed] | None, right: dict[str, Malformed] | None) -> dict[str, Malformed]:
    """Reducer: counts add up and raw replies are kept, per prompt name."""
    merged = dict(left or {})
    for name, new in (right or {}).items():
        old = merged.get(name, Malformed(count=0, replies=[]))
        merged[name] = Malformed(count=old["count"] + new["count"], replies=[*old["replies"], *new["replies"]])
    return merged


class Question(TypedDict, total=False):
    """A graph's input. `given`: passages to answer from instead of retrieval; `gold_answers`: no model sees them."""

    question: str
    given: list[Passage] | None
    gold_answers: list[str] | None


class Result(TypedDict, total=False):
    """A graph's output: the same keys for every method, null where it has none."""

    answer: str
    unknown: bool
    confidence: float | None
    rationale: str | None
    evidence: list[Evidence]
    votes: Annotated[list[Vote], extend]  # null where the method has none: `begin` sets it, the type cannot say it
    candidates: list[str] | None
    summaries: list[str] | None
    passages: list[Passage]
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]


class State(Question, Result, total=False):
    """Everything a node may read or write. `rank` travels with one passage in a fan-out.

    `provided`: the question's own passages, null when passages are retrieved. `begin` takes them out of `given`, which
    as an input that a second question on the thread may leave out would still be there.
    """

    rank: int
    provided: list[Passage] | None
    query: str | None


class Asked(TypedDict, total=False):
    """What the retrieval subgraph reads. `query`: what to search with, if not with the question.

    It reads no counters, which it would hand back to be added a second time.
    """

    question: str
    query: str | None
    provided: list[Passage] | None
    gold_answers: list[str] | None


class Found(TypedDict, total=False):
    """What the retrieval subgraph hands back: the passages to read, and what finding them took."""

    passages: list[Passage]
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]
