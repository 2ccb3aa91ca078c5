"""Self-Ask's nodes: follow-up questions, each looked up and answered (Press et al. 2023, section 3)."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State, Step
from quorum.datasets.examples import Example
from quorum.nodes.answer_types import note_brief_answer_type
from quorum.nodes.ask import ask
from quorum.nodes.steps import (
    collect_passages,
    describe_answer_form,
    format_step_demonstrations,
    get_steps,
    make_outcome,
    normalize_yes_no_answer,
    omit_query_equal_to_question,
)
from quorum.parsing.steps import parse_final_answer, parse_self_ask_step
from quorum.prompts.steps import SELF_ASK, SELF_ASK_ANSWER, SELF_ASK_FINAL


async def follow_up(state: State, runtime: Runtime[Context]) -> State:
    """question, steps -> steps (one more, if the reply has a question or final answer), query, answer_text."""
    question, steps = state["question"], get_steps(state)
    replies = await ask(
        SELF_ASK.read_with(lambda reply: normalize_yes_no_answer(parse_self_ask_step(reply), question, runtime)),
        runtime,
        demonstrations=await format_step_demonstrations(question, runtime, format_demonstration),
        kind=describe_answer_form(SELF_ASK, question, runtime),
        question=question,
        steps=f" {format_follow_ups(steps)}" if steps else "",
        cuts_later=True,
        call_subject=f"step {len(steps) + 1}",
    )
    step = replies.values[0]
    query = step.question
    new_step = Step(thought="", query=query, passages=[], answer=step.answer)
    new_steps = [] if query is None and step.answer is None else [new_step]
    return {
        "steps": [*steps, *new_steps],
        "answer_text": replies.texts[0] or None,
        **note_brief_answer_type(SELF_ASK, question, runtime),
        "query": omit_query_equal_to_question(query, question),
        **replies.state_update,
    }


async def intermediate_answer(state: State, runtime: Runtime[Context]) -> State:
    """steps, passages -> steps (the last one with the answer to its follow-up question)."""
    *before, last = get_steps(state)
    replies = await ask(
        SELF_ASK_ANSWER,
        runtime,
        question=last["query"] or "",
        passages=state["passages"],
        call_subject=f"step {len(before) + 1}",
    )
    return {
        "steps": [*before, {**last, "passages": replies.shown, "answer": replies.values[0]}],
        **replies.state_update,
    }


async def forced_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, steps, passages (only used if there are no steps) -> steps (one more: final), answer_text."""
    question, steps = state["question"], get_steps(state)
    replies = await ask(
        SELF_ASK_FINAL.read_with(
            lambda reply: normalize_yes_no_answer(parse_final_answer(reply, question), question, runtime)
        ),
        runtime,
        kind=describe_answer_form(SELF_ASK, question, runtime),
        question=question,
        steps=format_follow_ups(steps) or "No.",
        passages=collect_passages(steps) if steps else state["passages"],
        cuts_later=True,
    )
    shown = [] if steps else replies.shown  # the passages of earlier steps already belong to those steps
    final = Step(thought="", query=None, passages=shown, answer=replies.values[0].answer)
    answer_type = note_brief_answer_type(SELF_ASK, question, runtime)
    return {"steps": [*steps, final], "answer_text": replies.texts[0] or None, **answer_type, **replies.state_update}


async def conclude(state: State) -> State:
    """steps, answer_text -> answer, rationale (questions, intermediate answers), passages (all shown)."""
    rationale = format_follow_ups(get_steps(state)).removeprefix("Yes.\n")
    return make_outcome(get_steps(state), rationale, state.get("answer_text"))


def format_follow_ups(steps: Sequence[Step]) -> str:
    """What a prompt shows after "Are follow up questions needed here:": the line "Yes.", then the follow-up questions
    and their answers. Empty without follow-up questions.
    """
    follow_up_steps = [step for step in steps if step["query"] is not None]
    lines = [f"Follow up: {step['query']}\nIntermediate answer: {step['answer']}" for step in follow_up_steps]
    return "\n".join(["Yes.", *lines]) if lines else ""


def format_demonstration(example: Example) -> str:
    """An example, written out as a prompt shows it: the question, the follow-up questions and their answers, the final
    answer.
    """
    return (
        f"Question: {example['question']}\nAre follow up questions needed here: {format_follow_ups(example['steps'])}\n"
        f"So the final answer is: {example['answer']}"
    )
