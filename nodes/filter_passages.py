"""Nodes in which the model chooses the passages that help (Wang et al. 2024, section 3.3)."""

from typing import Any

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import Passage, State
from quorum.nodes.answer_types import choose_variant
from quorum.nodes.ask import ask
from quorum.prompts.blendfilter import CHOOSE, JUDGE, JUDGE_AND_CHOOSE
from quorum.prompts.prompt import Prompt


async def judge_passages(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, topic -> passage_judgement, passages (those in the prompt), retrieved."""
    prompt = choose_variant(JUDGE, state["question"], runtime)
    replies = await ask(
        prompt,
        runtime,
        passages=state["passages"],
        call_subject=name_query(state, runtime),
        **make_judge_inputs(prompt, state),
    )
    return {
        "passage_judgement": replies.values[0],
        "passages": replies.shown,
        "retrieved": get_retrieved_ids(state),
        **replies.state_update,
    }


async def choose_passages(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, topic, passage_judgement -> passages (those that help)."""
    prompt = choose_variant(CHOOSE, state["question"], runtime)
    replies = await ask(
        prompt,
        runtime,
        judgement=state.get("passage_judgement") or "",
        passages=state["passages"],
        call_subject=name_query(state, runtime),
        **make_judge_inputs(prompt, state),
    )
    return {"passages": select_passages(replies.values[0], replies.shown), **replies.state_update}


async def judge_and_choose(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages (those that help), retrieved."""
    replies = await ask(
        choose_variant(JUDGE_AND_CHOOSE, state["question"], runtime),
        runtime,
        question=state["question"],
        passages=state["passages"],
        call_subject=name_query(state, runtime),
    )
    return {
        "passages": select_passages(replies.values[0], replies.shown),
        "retrieved": get_retrieved_ids(state),
        **replies.state_update,
    }


def make_judge_inputs(prompt: Prompt[Any], state: State) -> dict[str, Any]:
    """The variables that judging and choosing share: the question and, unless the answer is yes or no, its topic."""
    question = state["question"]
    return (
        {"question": question} if prompt.answer_type == "yes_no" else {"question": question, "topic": get_topic(state)}
    )


def get_topic(state: State) -> str:
    """The question's topic, or the question itself."""
    return state.get("topic") or state["question"]


def name_query(state: State, runtime: Runtime[Context]) -> str:
    """The name of the query that found the passages, for traces; empty if they come from several queries."""
    query_number = state.get("rank")
    return "" if query_number is None else get_context(runtime).queries.split("+")[query_number]


def select_passages(numbers: list[int], shown: list[Passage]) -> list[Passage]:
    """The passages with these numbers, in the order of the numbers. Numbers beyond the passages shown are ignored.

    numbers: from 1; shown: the passages that fitted into the prompt.
    """
    return [shown[number - 1] for number in numbers if number <= len(shown)]


def get_retrieved_ids(state: State) -> list[str]:
    """The ids of the passages before any filter, also if an earlier filter has shortened the list of passages."""
    retrieved_ids = state.get("retrieved")
    return [passage["id"] for passage in state["passages"]] if retrieved_ids is None else retrieved_ids
