"""Follow-up questions and their intermediate answers (Self-Ask, Press et al. 2023, section 3), each looked up."""

from collections.abc import Sequence
from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State, Step
from quorum.datasets.examples import Example
from quorum.nodes.ask import ask
from quorum.nodes.steps import answer_kind, in_form, outcome, search_for, step_demonstrations, union
from quorum.parsing.answers import short_answer
from quorum.parsing.steps import final_answer, next_follow_up


async def follow_up(state: State, runtime: Runtime[Context]) -> State:
    """question, steps -> steps (one more: a follow-up question or the final answer; none without either), query."""
    question, steps = state["question"], state["steps"]
    asked = await ask(
        "self_ask",
        runtime,
        parse=lambda reply: in_form(next_follow_up(reply), runtime),
        inputs={
            "demonstrations": await step_demonstrations(runtime, demonstrated),
            "kind": answer_kind("self_ask", runtime),
            "question": question,
            "steps": f" {told(steps)}" if steps else "",
        },
        passages=None,
        detail=f"step {len(steps) + 1}",
    )
    found = asked.values[0]
    query = found.question
    new = Step(thought="", query=query, passages=[], answer=found.answer)
    added = [] if query is None and found.answer is None else [new]
    return {"steps": [*steps, *added], "query": search_for(query, question), **asked.update}


async def intermediate_answer(state: State, runtime: Runtime[Context]) -> State:
    """steps, passages -> steps (the last one's follow-up question answered from the passages)."""
    *before, last = state["steps"]
    question = last["query"] or ""
    asked = await ask(
        "self_ask_answer",
        runtime,
        parse=partial(short_answer, question=question),
        inputs={"question": question},
        passages=state["passages"],
        detail=f"step {len(before) + 1}",
    )
    return {"steps": [*before, {**last, "passages": asked.shown, "answer": asked.values[0]}], **asked.update}


async def forced_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, steps, passages (without steps the question's own) -> steps (one more: the final answer)."""
    question, steps = state["question"], state["steps"]
    asked = await ask(
        "self_ask_final",
        runtime,
        parse=lambda reply: in_form(final_answer(reply, question), runtime),
        inputs={"kind": answer_kind("self_ask", runtime), "question": question, "steps": told(steps) or "No."},
        passages=union(steps) if steps else state["passages"],
    )
    shown = [] if steps else asked.shown
    final = Step(thought="", query=None, passages=shown, answer=asked.values[0].answer)
    return {"steps": [*steps, final], **asked.update}


async def conclude(state: State) -> State:
    """steps -> answer, rationale (questions and intermediate answers), evidence, passages (all that were shown)."""
    return outcome(state["steps"], told(state["steps"]).removeprefix("Yes.\n"))


def told(steps: Sequence[Step]) -> str:
    """The follow-up questions and their answers as a prompt tells them, "Yes." first; nothing without any."""
    asked = [step for step in steps if step["query"] is not None]
    lines = [f"Follow up: {step['query']}\nIntermediate answer: {step['answer']}" for step in asked]
    return "\n".join(["Yes.", *lines]) if lines else ""


def demonstrated(example: Example) -> str:
    """An example as a whole run."""
    return (
        f"Question: {example['question']}\nAre follow up questions needed here: {told(example['steps'])}\n"
        f"So the final answer is: {example['answer']}"
    )
