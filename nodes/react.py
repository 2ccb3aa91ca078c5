"""Thoughts, searches and what they show (ReAct, Yao et al. 2023, section 2)."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State, Step
from quorum.datasets.examples import Example
from quorum.nodes.ask import ask
from quorum.nodes.steps import answer_kind, in_form, outcome, search_for, step_demonstrations
from quorum.parsing.steps import step_action
from quorum.prompts import numbered

Place = tuple[int, int]  # a passage's step and its rank in that step, both from 0


async def think(state: State, runtime: Runtime[Context]) -> State:
    """question, steps -> steps (one more: a thought and its action, null where it cannot be read), query."""
    return await next_step("react", state["steps"], state["question"], runtime)


async def ask_action(state: State, runtime: Runtime[Context]) -> State:
    """question, steps -> steps (the last one with an action, asked for alone), query."""
    *before, last = state["steps"]
    return await next_step("react_action", before, state["question"], runtime, last["thought"])


async def observe(state: State) -> State:
    """steps, passages -> steps (the last one with what its search has found)."""
    *before, last = state["steps"]
    return {"steps": [*before, {**last, "passages": state["passages"]}]}


async def finish(state: State) -> State:
    """steps -> answer, rationale (the thoughts and actions), evidence, passages (all that were shown)."""
    return outcome(state["steps"], "\n".join(told(n, step) for n, step in enumerate(state["steps"], start=1)))


async def next_step(
    prompt: str, steps: Sequence[Step], question: str, runtime: Runtime[Context], thought: str | None = None
) -> State:
    """One prompt over the steps so far. Where they do not fit the window, passages of the lowest ranks are dropped, of
    old steps first; what never fitted was never shown.
    """
    order = places(steps)
    number = len(steps) + 1
    inputs = {
        "demonstrations": await step_demonstrations(runtime, demonstrated),
        "kind": answer_kind("react", runtime),
        "question": question,
        "step": str(number),
    }
    asked = await ask(
        prompt,
        runtime,
        parse=lambda reply: in_form(step_action(reply), runtime),
        inputs=inputs if thought is None else inputs | {"thought": thought},
        passages=[steps[step]["passages"][rank] for step, rank in order],
        layout=lambda shown: "".join(f"{part}\n\n" for part in observed(steps, order[: len(shown)])),
        detail=f"step {number}",
    )
    found, before = asked.values[0], last_as_shown(steps, order[: len(asked.shown)])
    taken = Step(thought=thought or found.thought, query=found.query, passages=[], answer=found.answer)
    return {"steps": [*before, taken], "query": search_for(found.query, question), **asked.update}


def places(steps: Sequence[Step]) -> list[Place]:
    """The passages of all steps, those to be dropped first at the end: low ranks, of old steps."""
    every = [(number, rank) for number, step in enumerate(steps) for rank in range(len(step["passages"]))]
    return sorted(every, key=lambda place: (place[1], -place[0]))


def last_as_shown(steps: Sequence[Step], shown: Sequence[Place]) -> list[Step]:
    """The steps; of the last one's passages, which no prompt had held before, those that this one held."""
    if not steps:
        return []
    last = len(steps) - 1
    kept = [passage for rank, passage in enumerate(steps[last]["passages"]) if (last, rank) in shown]
    return [*steps[:last], {**steps[last], "passages": kept}]


def observed(steps: Sequence[Step], shown: Sequence[Place]) -> list[str]:
    """Each step as a prompt tells it: thought, action, and the passages that it found, as far as they are shown."""
    parts = []
    for number, step in enumerate(steps):
        seen = [passage for rank, passage in enumerate(step["passages"]) if (number, rank) in shown]
        parts.append(f"{told(number + 1, step)}\nObservation {number + 1}:\n{numbered(seen) or 'No passage.'}")
    return parts


def told(number: int, step: Step) -> str:
    """A step's thought and action; the action is missing in a step that has none."""
    action = "" if step["answer"] is None else f"Finish[{step['answer']}]"
    action = action if step["query"] is None else f"Search[{step['query']}]"
    return f"Thought {number}: {step['thought']}" + (f"\nAction {number}: {action}" if action else "")


def demonstrated(example: Example) -> str:
    """An example as a whole run, its rationale being the last thought."""
    searches = [Step(**{**step, "answer": None}) for step in example["steps"]]
    end = Step(thought=example.get("rationale", "").strip(), query=None, passages=[], answer=example["answer"])
    shown = observed(searches, places(searches))
    return "\n\n".join([f"Question: {example['question']}", *shown, told(len(searches) + 1, end)])
