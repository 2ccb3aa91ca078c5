"""The state of a graph: plain data that can be serialised. `counters` has its counts, and the reducers that merge a
node's update into the state.
"""

from typing import Annotated, Any, NotRequired, cast

from typing_extensions import TypedDict  # before Python 3.12, Studio's input form needs this one, not typing.TypedDict

from quorum.core.counters import CountedReplies as CountedReplies
from quorum.core.counters import Counters as Counters
from quorum.core.counters import Usage as Usage
from quorum.core.counters import add_counts as add_counts
from quorum.core.counters import append_items as append_items
from quorum.core.counters import is_either_true as is_either_true
from quorum.core.counters import merge_counted_replies as merge_counted_replies
from quorum.core.counters import merge_usage as merge_usage


class Place(TypedDict):
    """Where a passage stands. Only `file` is always there."""

    file: str
    """A path; for a document of LangChain the source that its metadata name, which may be an address."""
    page: NotRequired[int]
    """From 1; a slide's number in presentations. Where the passage begins."""
    last_page: NotRequired[int]
    """Where it ends, if that is a later page."""
    headings: NotRequired[list[str]]
    """The headings above the passage, from the highest down."""
    start: NotRequired[int]
    """Where the passage begins in the document's text as it was read, in characters."""
    end: NotRequired[int]
    """Where it ends: the character after its last one."""
    line: NotRequired[int]
    """From 1, in files of JSON lines."""
    modified: NotRequired[str]
    """The file's time, ISO 8601."""
    metadata: NotRequired[dict[str, Any]]
    """What the file says about itself, such as its author, and what was said when it was indexed: flat, and typed
    (quorum.core.metadata).
    """
    given: NotRequired[bool]
    """True for a document that was given to `quorum.index(documents=...)`, and not read from a file."""


class Passage(TypedDict):
    """A piece of a document."""

    id: str
    """The same in every run; of a passage from a document, a hash of its content."""
    title: str
    """The document's title; may be empty."""
    text: str
    """What is read and quoted."""
    score: NotRequired[float]
    """The retriever's score, higher is better; its scale depends on the retriever. Of a reranker that scores each
    passage with the question, its score.
    """
    retriever_score: NotRequired[float]
    """The retriever's score, if a reranker's took its place."""
    places: NotRequired[list[Place]]
    """Where the passage stands in files."""
    context: NotRequired[str]
    """What is searched with it but never shown or read: the first sentence of its section, in a collection that was
    indexed with `--context outline`. Passages that a search returns do not have it.
    """
    metadata: NotRequired[dict[str, Any]]
    """What is known about it: of a passage of a collection its flat metadata, by which `where` filters; of a retriever
    of the user's what it says; JSON data.
    """


class Vote(TypedDict):
    """The answer that one passage gives to the question."""

    rank: int
    """The passage's rank, from 0."""
    passage: str
    """The passage's id."""
    answer: str
    """What is voted on; "unknown" for none."""
    answer_text: NotRequired[str | None]
    """The answer as the model wrote it, null without a reply; votes of an older Quorum lack it."""
    unknown: bool
    """Whether the passage gives no answer."""
    weight: NotRequired[float]
    """How much the vote counts; 1 if it is missing."""


class PassageGrade(TypedDict):
    """How well a passage helps with the question."""

    rank: int
    """The passage's rank, from 0."""
    grade: float | None
    """On the evaluator's scale, higher is better; null if it gave none."""


class CandidateSummary(TypedDict):
    """A summary that supports one candidate."""

    rank: int
    """The candidate's number, from 0."""
    text: str
    """The summary."""
    shown: int
    """How many passages fitted into the prompt."""


class SummaryValidity(TypedDict):
    """Whether a summary supports its candidate."""

    rank: int
    """The candidate's number, from 0."""
    valid: bool
    """Whether its summary supports it."""


class Preference(TypedDict):
    """Which of two candidates has the more informative summary."""

    first: int
    """The number of the candidate whose summary the prompt shows first, from 0."""
    second: int
    """The number of the other candidate."""
    preferred: int | None
    """The number of the better one, or null for neither."""


class Evidence(TypedDict):
    """A passage that supports the answer.

    Such a passage contains the answer. For an answer that no passage contains word for word ("yes", "no", a label, a
    long text), it is a passage that voted for the answer.
    """

    passage: str
    """The passage's id."""
    start: int | None
    """Where the answer begins in the passage's text, in characters; null if the text does not contain it word
    for word.
    """
    end: int | None
    """Where it ends, the character after its last one; null as `start`."""


class Voter(TypedDict):
    """A passage that voted for the winner of a vote."""

    rank: int
    """The passage's rank, from 0."""
    answer: str
    """The answer in the wording of its vote."""


class Draft(TypedDict):
    """The answers in the replies to a prompt, some of them so wordy that the node `shorten` asks the model to cut them.

    The lists have one item per reply.
    """

    prompt: str
    """The prompt's name."""
    answers: list[str]
    """The answers. A wordy one stands as it is until it is cut."""
    texts: list[str]
    """The answers as the model wrote them."""
    to_cut: list[str | None]
    """The text to find the short answer in; null if the answer is short."""
    malformed: list[str | None]
    """The reply, to be counted as malformed if its short answer is leaked; null if it was counted."""
    leaks: list[str]
    """The answers of the prompt's demonstrations that no passage has, normalised."""
    shown: int | None
    """How many of the passages the prompt showed; null for a prompt without passages."""


class Citation(TypedDict):
    """A passage that a long answer cites; if several of its sentences support cited ones, it has several citations."""

    n: int
    """The passage's number in the answer's marks, from 1."""
    at: list[list[int]]
    """Where these marks ([n], or [n, m] for several passages) stand in `answer_text`, each as [start, end]."""
    passage: str
    """The passage's id."""
    start: int | None
    """Where the sentence of its text that supports the citing sentences begins, in characters; null if none does."""
    end: int | None
    """Where this sentence ends; null as `start`."""
    metadata: NotRequired[dict[str, Any]]
    """The passage's metadata, if it has any."""


class Step(TypedDict):
    """One step of a method that searches more than once.

    The finished steps are in the state under `steps`. `quorum.stream` shows them in the `update` of its `NodeFinished`
    events.
    """

    thought: str
    """The reasoning that the model wrote in this step; may be empty."""
    query: str | None
    """The query that was written for this step's search, such as a follow-up question; null if none was written: the
    step then searched for the question itself, or for nothing.
    """
    passages: list[Passage]
    """The passages that the search found and that a prompt showed."""
    answer: str | None
    """The answer to the follow-up question (Self-Ask) or to the question itself; null if the step gave none."""


class ToolUse(TypedDict):
    """A call of a tool by a model, and what the call gave."""

    id: str
    """Names the call in the messages: the same in every run."""
    tool: str
    """The tool's name, as the model wrote it."""
    arguments: dict[str, Any]
    """The arguments; empty if they could not be read."""
    note: str | None
    """What the model is told in place of passages: what is wrong with the call, or that a limit is reached."""
    repeats: str | None
    """The id of an earlier call that searched for the same; null for none."""
    numbers: list[int]
    """The numbers of the passages in the run, from 1."""
    passages: list[Passage]
    """What the search found, best first."""
    left_out: list[int]
    """The numbers of those of the passages that no prompt has shown, because the window had no room for them."""


class Turn(TypedDict):
    """A reply of a model that called tools."""

    text: str
    """What the model wrote beside the calls; may be empty."""
    calls: list[ToolUse]
    """The calls, in their order."""


class QueryPassages(TypedDict):
    """The passages that one of several queries found, after filtering."""

    rank: int
    """The query's number, from 0."""
    retrieved: list[str]
    """The ids of the passages before filtering."""
    passages: list[Passage]
    """The passages that are left."""


class MaskedStatement(TypedDict):
    """A statement in which [MASK] hides some words of the question."""

    statement: str
    """The statement with [MASK]."""
    hidden_words: str
    """The words that [MASK] hides."""


class VerifiedCandidate(TypedDict):
    """How well a candidate was verified."""

    rank: int
    """The candidate's number, from 0."""
    recovered: int
    """How many attempts recovered the hidden words."""


class WithheldAnswer(TypedDict):
    """An answer that was withheld because its confidence was missing or below `lowest_confidence`."""

    answer: str
    """What was withheld."""
    confidence: float | None
    """Its confidence, 0..1; null if the method gave none."""
    lowest_confidence: float
    """The calibration's limit, 0..1."""


class Question(TypedDict, total=False):
    """A graph's input."""

    question: str
    """A text that is not empty; else a `SetupError`."""
    given: list[Passage] | None
    """Passages to answer from, in place of retrieved ones; null to retrieve."""
    gold_answers: list[str] | None
    """For filter_mode="silver" only, never shown to the model that answers."""


class Answer(TypedDict, total=False):
    """The answer of a method. Every method has the same keys; a key that it does not use is null."""

    answer: str
    """What is voted on, and measured by exact match and F1; "unknown" for an unknown answer."""
    answer_text: str | None
    """The answer as the model wrote it, for people to read; the measure `contains` looks for the gold answer in it. It
    has no thoughts and no chain of thought (the latter is in `rationale`). The text of a vote is that of the first
    passage that voted for the winner; the text of a candidate that was chosen is the candidate. If the answer is
    unknown, the text is the reply that says so; it is null if no single reply does, and for an answer that was
    withheld.
    """
    answer_type: str | None
    """short, yes_no, label, dialogue or long: the type as which the method answered: with the setting answer_type=auto
    as the question asks, but short for an explanation or steps if the method gives no long answers.
    """
    unknown: bool
    """Whether the method found no answer."""
    confidence: float | None
    """How sure the method is, 0..1; null if it does not say."""
    certified: int | None
    """How many passages could be replaced by any others without changing the winner of the vote
    (quorum.algorithms.certificate); null without a vote.
    """
    rationale: str | None
    """The reasons or the chain of thought that led to the answer."""
    evidence: list[Evidence]
    """The passages that support the answer; empty if none does."""
    citations: list[Citation] | None
    """Of a long answer or a turn of a conversation, what the marks in `answer_text` cite, empty if it has none; null
    for other answers.
    """
    voters_without_evidence: list[str] | None
    """The ids of the passages that voted for the answer and do not contain it; null in a method without votes."""
    votes: Annotated[list[Vote], append_items]
    """The answer of every passage that was asked; null in a method without votes."""
    candidates: list[str] | None
    """The candidate answers; null in a method without them."""
    summaries: list[str] | None
    """One per candidate: the summary that supports it."""
    validity: list[bool] | None
    """One per candidate: whether its summary supports it."""
    scores: list[float] | None
    """One per candidate: how good it is, as the method computes it."""
    action: str | None
    """crag: what its evaluator found the passages to be: correct, ambiguous or incorrect; or nothing new, if they were
    incorrect and the second search found no others. Null in other methods.
    """
    passages: list[Passage]
    """The passages that were read, best first, after a filter."""
    retrieved: list[str] | None
    """The ids of the passages before a filter; null in a method without a filter."""
    withheld: WithheldAnswer | None
    """The answer that `Context.calibration` replaced by unknown; null if it replaced none."""


class Result(Answer, Counters, total=False):
    """A graph's output: the answer and its counters. A key that a method does not use is null."""


class State(Question, Result, total=False):
    """Everything that a node may read or write."""

    rank: int
    """In a fan-out, the number of one passage, query or candidate, from 0."""
    pair: list[int]
    """The numbers of two candidates."""
    grades: Annotated[list[PassageGrade], append_items]
    """What crag's evaluator says of each passage."""
    candidate_summaries: Annotated[list[CandidateSummary], append_items]
    """What the branches of SuRe's first fan-out have written."""
    summary_validities: Annotated[list[SummaryValidity], append_items]
    """What the branches that check summaries have found."""
    preferences: Annotated[list[Preference], append_items]
    """What the branches that compare two summaries have found."""
    given_passages: list[Passage] | None
    """The passages that the question brings, null when passages are retrieved. The node `begin` moves them from `given`
    and clears `given`, so that the next question on the same thread does not get these passages, too.
    """
    given_gold_answers: list[str] | None
    """The gold answers that the question brings, which `begin` moves from `gold_answers` for the same reason."""
    query: str | None
    """What to search for, null for the question itself."""
    search_text: str | None
    """What the search alone looks for, in place of the query or the question: hyde's made-up passage."""
    draft: Draft | None
    """The wordy answer that the node `shorten` is to cut; null if the answer is short."""
    voters: list[Voter] | None
    """The passages that voted for the answer; null if no vote chose it."""
    quote: str | None
    """What the evidence must contain, if it is not the answer: the candidate behind a long answer."""
    steps: list[Step]
    """The finished steps, oldest first."""
    turns: list[Turn]
    """The replies of `agent` that called tools, and what the calls gave."""
    reasoning: str | None
    """A chain of thought as the model wrote it."""
    external_knowledge: str | None
    """What blendfilter adds to a query from passages: an answer."""
    internal_knowledge: str | None
    """What blendfilter adds to a query from the model's memory: a passage."""
    topic: str | None
    """The question's topic, for blendfilter's filter."""
    passage_judgement: str | None
    """The model's view of which passages help, for blendfilter's filter."""
    queries: list[str] | None
    """The queries of blendfilter."""
    passages_by_query: Annotated[list[QueryPassages], append_items]
    """The passages that each of blendfilter's queries found."""
    finished_rounds: int
    """How many rounds of the loop inside a method are over."""
    notes: str | None
    """What selection_inference has learned so far."""
    rationales: list[str | None] | None
    """One per candidate: the reasoning behind it."""
    candidate_texts: list[str] | None
    """The candidates as the model wrote them."""
    masked_statement: MaskedStatement | None
    """The statement whose hidden words are to be recovered."""
    verified_candidates: Annotated[list[VerifiedCandidate], append_items]
    """How often each candidate recovered the hidden words."""
    cascade_run_id: str | None
    """In a cascade: the id of the run's cache (quorum.cascades.cascade_cache)."""
    stage_vote_keys: list[str]
    """In a cascade: the key of each stage's answer so far (quorum.algorithms.vote_key); "" for unknown."""


def select_counters(update: State) -> State:
    """The counters of a node's update, and nothing else."""
    return cast(State, {name: value for name, value in update.items() if name in Counters.__annotations__})
