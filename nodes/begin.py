"""The first node of every method."""

from collections.abc import Mapping
from copy import copy
from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.core.json_text import replace_lone_surrogates
from quorum.core.state import State
from quorum.datasets.records import parse_passage
from quorum.models.trace_run import trace_run as trace_run  # re-exported: graphs import nodes only
from quorum.models.tracing import describe_run_in_traces
from quorum.nodes.answer_types import get_answer_type
from quorum.retrievers.given_filter import filter_given

EMPTY_RESULT: dict[str, Any] = {
    "given": None,
    "gold_answers": None,
    "answer": "",
    "answer_text": None,
    "answer_type": None,
    "unknown": True,
    "confidence": None,
    "certified": None,
    "voters_without_evidence": None,
    "rationale": None,
    "evidence": [],
    "citations": None,
    "votes": None,
    "candidates": None,
    "summaries": None,
    "validity": None,
    "scores": None,
    "action": None,
    "passages": [],
    "retrieved": None,
    "usage": {},
    "malformed": {},
    "wordy_answers": {},
    "temperature_refused": False,
    "dropped": 0,
    "withheld": None,
}
# The keys of the state that only nodes read; those of a fan-out (`rank`, `pair`) need no reset.
EMPTY_INNER_VALUES: dict[str, Any] = {
    "query": None,
    "search_text": None,
    "draft": None,
    "voters": None,
    "quote": None,
    "steps": [],
    "grades": [],
    "turns": [],
    "candidate_summaries": [],
    "summary_validities": [],
    "preferences": [],
    "reasoning": None,
    "external_knowledge": None,
    "internal_knowledge": None,
    "topic": None,
    "passage_judgement": None,
    "queries": None,
    "passages_by_query": [],
    "finished_rounds": 0,
    "notes": None,
    "rationales": None,
    "candidate_texts": None,
    "masked_statement": None,
    "verified_candidates": [],
    "cascade_run_id": None,
    "stage_vote_keys": [],
}
REDUCED_KEYS = frozenset(  # a reducer adds to their values
    {
        *("votes", "grades", "candidate_summaries", "summary_validities", "preferences", "passages_by_query"),
        *("verified_candidates", "usage", "malformed", "wordy_answers", "temperature_refused", "dropped"),
    }
)


async def begin(state: State, runtime: Runtime[Context]) -> State:
    """given, gold_answers -> given_passages (those that pass `where`), given_gold_answers; the keys of the result are
    emptied, and what an earlier question left in other keys.

    `given` and `gold_answers` are emptied, too, so nothing is left of the thread's earlier question.
    """
    describe_run_in_traces(get_context(runtime))
    check_question(state.get("question"))
    given_passages = state.get("given")
    if given_passages is not None and not given_passages:
        raise SetupError(
            "The list of given passages is empty; give at least one, or leave it out to search a collection."
        )
    given_passages = given_passages and [
        parse_passage(item, f"Given passage {i}") for i, item in enumerate(given_passages, start=1)
    ]
    given_passages = given_passages and filter_given(given_passages, get_context(runtime))
    answer_type = get_answer_type(get_context(runtime), state["question"])
    reset = {
        **make_empty_state(state),
        "answer_type": answer_type,
        "given_passages": given_passages,
        "given_gold_answers": state.get("gold_answers"),
    }
    return cast(State, reset)  # the type checker does not know Overwrite, which replaces a value


def check_question(question: object) -> None:
    """Raise a `SetupError` unless the question is a text that a server can take."""
    if not isinstance(question, str) or not question.strip():
        raise SetupError(f"The question is empty or not a text ({question!r}); give a question as text.")
    if replace_lone_surrogates(question) != question:
        raise SetupError(
            f"The question holds half a character (a lone surrogate: {question!a:.80}); give complete characters."
        )


def make_empty_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Every key of the result with an empty value, because all methods return the same keys; and an empty value for
    each other key that an earlier question on this thread has left in the state.

    Overwrite replaces the value of a key to which a reducer would otherwise add.
    """
    left_over = {name: value for name, value in EMPTY_INNER_VALUES.items() if state.get(name)}
    return {
        name: Overwrite(copy(value)) if name in REDUCED_KEYS else copy(value)
        for name, value in (EMPTY_RESULT | left_over).items()
    }
