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


class Draft(TypedDict):
    """A summary that supports one candidate. `rank` is the candidate's, from 0; `shown`: passages that fitted."""

    rank: int
    text: str
    shown: int


class Verdict(TypedDict):
    """Whether a summary supports its candidate. `rank` is the candidate's, from 0."""

    rank: int
    valid: bool


class Preference(TypedDict):
    """Which of two candidates' summaries is the more informative: by rank, in the order shown; null for neither."""

    first: int
    second: int
    preferred: int | None


class Evidence(TypedDict):
    """A passage that supports the answer; `start` and `end` mark the span in its text, null without a verbatim one."""

    passage: str
    start: int | None
    end: int | None


class Step(TypedDict):
    """One step of a method that searches more than once.

    query: what was searched for, a follow-up question for instance; null in a step that only answers. passages: what
    was found and shown; answer: to the query, or to the question itself in a step without one.
    """

    thought: str
    query: str | None
    passages: list[Passage]
    answer: str | None


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


class Knowledge(TypedDict):
    """What one query found, after filtering; `rank` is the query's, from 0. `retrieved`: ids before filtering."""

    rank: int
    retrieved: list[str]
    passages: list[Passage]


class Masked(TypedDict):
    """A statement with a mask in the place of `condition`, the words that it hides."""

    statement: str
    condition: str


class Verified(TypedDict):
    """How many of the recoveries found what the statement of candidate number `rank`, from 0, hides."""

    rank: int
    recovered: int


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
    certified: int | None  # passages that could be replaced while the vote stands (see quorum.algorithms.certificate)
    rationale: str | None
    evidence: list[Evidence]
    votes: Annotated[list[Vote], extend]  # null where the method has none: `begin` sets it, the type cannot say it
    candidates: list[str] | None
    summaries: list[str] | None
    validity: list[bool] | None  # of each candidate's summary
    scores: list[float] | None  # one per candidate
    passages: list[Passage]
    retrieved: list[str] | None  # ids of what was found before a filter; null where the method has none
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]


class State(Question, Result, total=False):
    """Everything a node may read or write. `rank` travels with one passage or candidate in a fan-out, `pair` with two
    candidates.

    `provided`: the question's own passages, null when passages are retrieved. `begin` takes them out of `given`, which
    as an input that a second question on the thread may leave out would still be there. So it does with `oracle`, the
    gold answers, which filter_mode="silver" alone reads.
    `reasoning`: a chain of thought, as it was written. `external`, `internal`: what blendfilter's queries begin with,
    an answer from passages and a passage from memory; `knowledge`: what each of them found.
    `turn`: rounds of a loop that are done; `notes`: what was learned in them. `rationales`: the reasoning to each
    candidate; `masked`: what is to be restored.
    """

    rank: int
    pair: list[int]
    drafts: Annotated[list[Draft], extend]
    verdicts: Annotated[list[Verdict], extend]
    preferences: Annotated[list[Preference], extend]
    provided: list[Passage] | None
    oracle: list[str] | None
    query: str | None
    steps: list[Step]  # those taken so far
    reasoning: str | None
    external: str | None
    internal: str | None
    topic: str | None
    judgement: str | None
    queries: list[str] | None
    knowledge: Annotated[list[Knowledge], extend]
    turn: int
    notes: str | None
    rationales: list[str | None] | None
    masked: Masked | None
    verified: Annotated[list[Verified], extend]


class Asked(TypedDict, total=False):
    """What a graph that finds passages reads. `query`: what to search with, if not with the question.

    It reads no counters, which it would hand back to be added a second time.
    """

    question: str
    query: str | None
    provided: list[Passage] | None


class Found(TypedDict, total=False):
    """What a graph that finds or ranks passages hands back: the passages to read, and what that took."""

    passages: list[Passage]
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]


class Sifted(TypedDict, total=False):
    """What the subgraph that filters passages reads; no counters, as `Asked`. `rank`: the query's that found them."""

    question: str
    topic: str | None
    rank: int
    passages: list[Passage]
    retrieved: list[str] | None


class Unfiltered(TypedDict, total=False):
    """What `refine` and a filter read; no counters, as `Asked`. `retrieved`: ids of what other queries found before."""

    question: str
    query: str | None
    passages: list[Passage]
    oracle: list[str] | None
    retrieved: list[str] | None


class Filtered(Found, total=False):
    """What the subgraph that filters passages hands back: those that help, and the ids of all that there were."""

    retrieved: list[str] | None


class Sought(Asked, Unfiltered, Sifted, total=False):
    """What one of several queries needs to find its passages, to refine and to judge them."""


class Gathered(TypedDict, total=False):
    """What one of several queries hands back, and what it took."""

    knowledge: Annotated[list[Knowledge], extend]
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]


class Ranked(TypedDict, total=False):
    """What the reranking subgraph reads; no counters, as `Asked`."""

    question: str
    query: str | None
    passages: list[Passage]


class Explained(TypedDict, total=False):
    """What SuRe hands back to a reranker: the chosen summary, null without a candidate, and what it took."""

    rationale: str | None
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]


class Claim(TypedDict, total=False):
    """What the verification of one candidate reads; no counters, as `Asked`. `rank` is the candidate's, from 0."""

    question: str
    passages: list[Passage]
    rank: int
    answer: str


class Recovery(TypedDict, total=False):
    """What the verification of one candidate hands back, and what it took."""

    verified: Annotated[list[Verified], extend]
    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, Malformed], merge_malformed]
    dropped: Annotated[int, add]
