"""The state of a graph: plain data that can be serialised, and the reducers that merge a node's update into it."""

from typing import Annotated, NotRequired, TypeVar, cast

from typing_extensions import TypedDict  # before Python 3.12, Studio's input form needs this one, not typing.TypedDict

T = TypeVar("T")


class Place(TypedDict):
    """Where a passage stands. `file` is a path; the other keys are optional.

    page: from 1; a slide's number in presentations. headings: from the highest down. start, end: the passage's position
    in the document's text as it was read, in characters. line: from 1, in files of JSON lines. modified: the file's
    time, ISO 8601. metadata: the file's own metadata, such as its author.
    """

    file: str
    page: NotRequired[int]
    headings: NotRequired[list[str]]
    start: NotRequired[int]
    end: NotRequired[int]
    line: NotRequired[int]
    modified: NotRequired[str]
    metadata: NotRequired[dict[str, str]]


class Passage(TypedDict):
    """A piece of a document. score: the retriever's score, higher is better; places: where it stands in files."""

    id: str
    title: str
    text: str
    score: NotRequired[float]
    places: NotRequired[list[Place]]


class Vote(TypedDict):
    """The answer that one passage gives to the question.

    rank: the passage's rank, from 0; passage: its id; answer_text: the answer as the model wrote it, null without a
    reply; unknown: whether the answer is unknown; weight: how much the vote counts, 1 if it is missing.
    """

    rank: int
    passage: str
    answer: str
    answer_text: NotRequired[str | None]  # not in votes of an older Quorum
    unknown: bool
    weight: NotRequired[float]


class CandidateSummary(TypedDict):
    """A summary that supports one candidate.

    rank: the candidate's number, from 0; shown: how many passages fitted into the prompt.
    """

    rank: int
    text: str
    shown: int


class SummaryValidity(TypedDict):
    """valid: whether a summary supports its candidate; rank: the candidate's number, from 0."""

    rank: int
    valid: bool


class Preference(TypedDict):
    """Which of two candidates has the more informative summary.

    first, second: the candidates' numbers, in the order in which the prompt shows their summaries; preferred: the
    number of the better one, or null for neither.
    """

    first: int
    second: int
    preferred: int | None


class Evidence(TypedDict):
    """A passage that supports the answer.

    Such a passage contains the answer. For an answer that no passage contains word for word ("yes", "no", a label, a
    long text), it is a passage that voted for the answer. start, end: the position of the answer in the passage's text;
    null if the text does not contain the answer word for word.
    """

    passage: str
    start: int | None
    end: int | None


class Citation(TypedDict):
    """A passage that a long answer cites.

    n: the passage's number in the answer's marks, from 1; at: where these marks ([n], or [n, m] for several passages)
    stand in `answer_text`, each as [start, end]. passage: its id; start, end: the sentence of its text that supports
    the sentences which the marks cite, or null if none does. A passage whose sentences support several cited ones has a
    citation for each.
    """

    n: int
    at: list[list[int]]
    passage: str
    start: int | None
    end: int | None


class Step(TypedDict):
    """One step of a method that searches more than once.

    The finished steps are in the state under `steps`. `quorum.stream` shows them in the `update` of its `NodeFinished`
    events.

    thought: the reasoning that the model wrote in this step; may be empty. query: the query that was written for this
    step's search, such as a follow-up question; null if none was written: the step then searched for the question
    itself, or for nothing. passages: the passages that the search found and that a prompt showed. answer: the answer to
    the follow-up question (Self-Ask) or to the question itself; null if the step gave none.
    """

    thought: str
    query: str | None
    passages: list[Passage]
    answer: str | None


class QueryPassages(TypedDict):
    """The passages that one of several queries found, after filtering.

    rank: the query's number, from 0; retrieved: ids of the passages before filtering.
    """

    rank: int
    retrieved: list[str]
    passages: list[Passage]


class MaskedStatement(TypedDict):
    """A statement in which [MASK] hides some words of the question. hidden_words: the words that [MASK] hides."""

    statement: str
    hidden_words: str


class VerifiedCandidate(TypedDict):
    """recovered: how many attempts recovered the hidden words; rank: the candidate's number, from 0."""

    rank: int
    recovered: int


class Usage(TypedDict):
    """How many calls were made under one prompt name, and how many tokens they took.

    cached_tokens: the input tokens that the server's prefix cache held; input_tokens counts them, too.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class CountedReplies(TypedDict):
    """How many replies to one prompt had the same fault, and the replies themselves.

    A result has such counts under two keys. Under `malformed`: the reply lacks the form that the prompt asks for, and
    the parser's default took its place. Under `wordy_answers`: the prompt asks for a short answer, and the answer in
    the reply has too many words.
    """

    count: int
    replies: list[str]


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


class WithheldAnswer(TypedDict):
    """An answer that was withheld because its confidence was missing or below `lowest_confidence`."""

    answer: str
    confidence: float | None
    lowest_confidence: float


class Counters(TypedDict, total=False):
    """The counters of a run or a part of it: calls and tokens, malformed replies, passages dropped because they
    did not fit into the model's window.

    usage, malformed and wordy_answers have one entry per prompt name. wordy_answers: answers with too many words
    where the prompt asks for a short one. temperature_refused: whether a model refused temperature 0; if so, the same
    question may get another answer the next time. A subgraph returns counters but does not take them as input;
    otherwise they would be added twice.
    """

    usage: Annotated[dict[str, Usage], merge_usage]
    malformed: Annotated[dict[str, CountedReplies], merge_counted_replies]
    wordy_answers: Annotated[dict[str, CountedReplies], merge_counted_replies]
    temperature_refused: Annotated[bool, is_either_true]
    dropped: Annotated[int, add_counts]


class Question(TypedDict, total=False):
    """A graph's input.

    given: passages to answer from, in place of retrieved ones; gold_answers: for filter_mode="silver" only, never shown
    to the model that answers.
    """

    question: str
    given: list[Passage] | None
    gold_answers: list[str] | None


class Answer(TypedDict, total=False):
    """The answer of a method. Every method has the same keys; a key that it does not use is null."""

    answer: str
    answer_text: str | None  # the answer as the model wrote it, shown to people; null without a reply
    answer_type: str | None  # short, yes_no, label, dialogue or long: the type as which the method answered
    unknown: bool
    confidence: float | None
    certified: int | None  # how many passages could be replaced without changing the vote (quorum.algorithms)
    rationale: str | None
    evidence: list[Evidence]
    citations: list[Citation] | None  # of a long answer or a turn of a conversation; null for other answers
    voters_without_evidence: list[str] | None  # ids of passages; null in a method without votes
    votes: Annotated[list[Vote], append_items]  # null in a method without votes
    candidates: list[str] | None
    summaries: list[str] | None
    validity: list[bool] | None  # one per candidate: whether its summary supports it
    scores: list[float] | None  # one per candidate
    passages: list[Passage]
    retrieved: list[str] | None  # ids of the passages before a filter; null in a method without a filter
    withheld: WithheldAnswer | None  # the answer that a calibration withheld: Context.calibration


class Result(Answer, Counters, total=False):
    """A graph's output: the answer and its counters. A key that a method does not use is null.

    answer: what is voted on, and measured by exact match and F1; "unknown" for an unknown answer. answer_text: the
    answer as the model wrote it, for people to read; the measure `contains` looks for the gold answer in it. It has no
    thoughts and no chain of thought (the latter is in `rationale`). The text of a vote is that of the first passage
    that voted for the winner; the text of a candidate that was chosen is the candidate. If the answer is unknown, the
    text is the reply that says so; it is null if no single reply does, and for an answer that was withheld.
    answer_type: the type as which the method answered: with the setting answer_type=auto as the question asks, but
    short for an explanation or steps if the method gives no long answers.

    citations: of a long answer or a turn of a conversation, what the marks in `answer_text` cite; empty if it has none.

    certified: how many passages could be replaced by any others without changing the winner of the vote.
    voters_without_evidence: ids of the passages that voted for the answer and do not contain it. validity, scores: for
    each candidate, whether its summary supports it, and its score. dropped: how many passages were left out of prompts
    because they did not fit into the model's window. retrieved: ids of the passages before a filter; null in a method
    without a filter. withheld: the answer that `Context.calibration` replaced by unknown. wordy_answers: answers
    with too many words where the prompt asks for a short one, by prompt name. temperature_refused: whether a model
    refused temperature 0; if so, the same question may get another answer the next time.
    """


class State(Question, Result, total=False):
    """Everything that a node may read or write.

    rank: in a fan-out, the number of one passage, query or candidate. pair: the numbers of two candidates.
    given_passages: the passages that the question brings, null when passages are retrieved. The node `begin` moves them
    from `given` to `given_passages` and clears `given`, so that the next question on the same thread does not get these
    passages, too. given_gold_answers: the gold answers that the question brings, which `begin` moves from
    `gold_answers` for the same reason. query: what to search for, null for the question itself. finished_rounds: how
    many rounds of the loop inside a method are over. reasoning: a chain of thought as the model wrote it. notes: what
    selection_inference has learned so far. queries: the queries of blendfilter. external_knowledge, internal_knowledge:
    what blendfilter adds to the question in two of these queries: an answer from passages, and a passage that the model
    wrote from memory. passages_by_query: the passages that each of blendfilter's queries found. candidate_texts: the
    candidates as the model wrote them. topic: the question's
    topic; passage_judgement: the model's view of which passages help; blendfilter's filter needs both. rationales: the
    reasoning behind each candidate. masked_statement: the statement whose hidden words are to be recovered.
    """

    rank: int
    pair: list[int]
    candidate_summaries: Annotated[list[CandidateSummary], append_items]
    summary_validities: Annotated[list[SummaryValidity], append_items]
    preferences: Annotated[list[Preference], append_items]
    given_passages: list[Passage] | None
    given_gold_answers: list[str] | None
    query: str | None
    steps: list[Step]  # finished steps, oldest first
    reasoning: str | None
    external_knowledge: str | None
    internal_knowledge: str | None
    topic: str | None
    passage_judgement: str | None
    queries: list[str] | None
    passages_by_query: Annotated[list[QueryPassages], append_items]
    finished_rounds: int
    notes: str | None
    rationales: list[str | None] | None
    candidate_texts: list[str] | None
    masked_statement: MaskedStatement | None
    verified_candidates: Annotated[list[VerifiedCandidate], append_items]
    cascade_run_id: str | None  # in a cascade: the id of the run's cache (quorum.cascades.cascade_cache)
    # in a cascade: the key of each stage's answer so far (quorum.algorithms.vote_key); "" for unknown
    stage_vote_keys: list[str]


def select_counters(update: State) -> State:
    """The counters of a node's update, and nothing else."""
    return cast(State, {name: value for name, value in update.items() if name in Counters.__annotations__})
