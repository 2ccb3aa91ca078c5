"""ReAct's nodes: thoughts, searches and observations (Yao et al. 2023, section 2)."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State, Step
from quorum.datasets.examples import Example
from quorum.nodes.answer_types import note_brief_answer_type
from quorum.nodes.ask import ask
from quorum.nodes.steps import (
    describe_answer_form,
    format_step_demonstrations,
    get_steps,
    make_outcome,
    normalize_yes_no_answer,
    omit_query_equal_to_question,
)
from quorum.parsing.steps import Action, parse_step
from quorum.prompts import format_passages
from quorum.prompts.passages import mark_passages
from quorum.prompts.prompt import Prompt
from quorum.prompts.steps import REACT, REACT_ACTION

PassagePosition = tuple[int, int]  # the number of a passage's step and its rank in that step, both from 0


async def think(state: State, runtime: Runtime[Context]) -> State:
    """question, steps -> steps (one more: thought, and query or answer, or both null), query, answer_text."""
    return await take_step(REACT, get_steps(state), state["question"], runtime)


async def ask_action(state: State, runtime: Runtime[Context]) -> State:
    """question, steps -> steps (the last one with the action that follows from its thought), query, answer_text."""
    *earlier_steps, last = get_steps(state)
    return await take_step(REACT_ACTION, earlier_steps, state["question"], runtime, last["thought"])


async def observe(state: State) -> State:
    """steps, passages -> steps (the last one with the passages of its search)."""
    *earlier_steps, last = get_steps(state)
    return {"steps": [*earlier_steps, {**last, "passages": state["passages"]}]}


async def finish(state: State) -> State:
    """steps, answer_text -> answer, rationale (the thoughts and actions), passages (all that were shown)."""
    return make_outcome(
        get_steps(state),
        "\n".join(format_step(n, step) for n, step in enumerate(get_steps(state), start=1)),
        state.get("answer_text"),
    )


async def take_step(
    prompt: Prompt[Action], steps: Sequence[Step], question: str, runtime: Runtime[Context], thought: str | None = None
) -> State:
    """Ask one prompt over the steps so far and add a step. The prompt's $passages holds these steps and their passages.

    thought: the new step's thought, if the prompt asks only for its action; None if the prompt asks for both.

    If the prompt does not fit the window, passages are dropped: the worst rank first and, of equal ranks, the oldest
    step first. A passage that fitted into no prompt is removed from its step.
    """
    positions = order_positions(steps)
    number = len(steps) + 1
    inputs: dict[str, Any] = {
        "demonstrations": await format_step_demonstrations(question, runtime, format_demonstration),
        "kind": describe_answer_form(REACT, question, runtime),
        "question": question,
        "step": str(number),
    }
    replies = await ask(
        prompt.read_with(lambda reply: normalize_yes_no_answer(parse_step(reply), question, runtime)),
        runtime,
        passages=[steps[step]["passages"][rank] for step, rank in positions],
        layout=lambda shown: "".join(f"{part}\n\n" for part in format_steps(steps, positions[: len(shown)])),
        call_subject=f"step {number}",
        cuts_later=True,
        **(inputs if thought is None else inputs | {"thought": thought}),
    )
    parsed_step = replies.values[0]
    earlier_steps = drop_unshown_passages(steps, positions[: len(replies.shown)])
    new_step = Step(
        thought=thought or parsed_step.thought, query=parsed_step.query, passages=[], answer=parsed_step.answer
    )
    return {
        "steps": [*earlier_steps, new_step],
        "answer_text": replies.texts[0] or None,
        **note_brief_answer_type(REACT, question, runtime),
        "query": omit_query_equal_to_question(parsed_step.query, question),
        **replies.state_update,
    }


def order_positions(steps: Sequence[Step]) -> list[PassagePosition]:
    """The positions of all steps' passages, sorted by rank; of equal ranks, the newest step comes first."""
    positions = [(number, rank) for number, step in enumerate(steps) for rank in range(len(step["passages"]))]
    return sorted(positions, key=lambda position: (position[1], -position[0]))


def drop_unshown_passages(steps: Sequence[Step], shown: Sequence[PassagePosition]) -> list[Step]:
    """The steps; the last one keeps only the passages that the prompt showed.

    The other steps keep theirs, because earlier prompts have shown them. shown: the positions that the prompt showed.
    """
    if not steps:
        return []
    last = len(steps) - 1
    last_shown = [passage for rank, passage in enumerate(steps[last]["passages"]) if (last, rank) in shown]
    return [*steps[:last], {**steps[last], "passages": last_shown}]


def format_steps(steps: Sequence[Step], shown: Sequence[PassagePosition]) -> list[str]:
    """Each step as a prompt shows it: the thought, the action and the passages at the positions in `shown`."""
    parts = []
    for number, step in enumerate(steps):
        fitting_passages = [passage for rank, passage in enumerate(step["passages"]) if (number, rank) in shown]
        observation = mark_passages(format_passages(fitting_passages)) if fitting_passages else "No passage."
        parts.append(f"{format_step(number + 1, step)}\nObservation {number + 1}:\n{observation}")
    return parts


def format_step(number: int, step: Step) -> str:
    """A step's thought and, if it has one, its action."""
    action = "" if step["answer"] is None else f"Finish[{step['answer']}]"
    action = action if step["query"] is None else f"Search[{step['query']}]"
    return f"Thought {number}: {step['thought']}" + (f"\nAction {number}: {action}" if action else "")


def format_demonstration(example: Example) -> str:
    """An example as a complete run of ReAct, whose last thought is the example's rationale."""
    searches = [Step(**{**step, "answer": None}) for step in example["steps"]]
    last_step = Step(thought=example.get("rationale", "").strip(), query=None, passages=[], answer=example["answer"])
    parts = format_steps(searches, order_positions(searches))
    return "\n\n".join([f"Question: {example['question']}", *parts, format_step(len(searches) + 1, last_step)])
