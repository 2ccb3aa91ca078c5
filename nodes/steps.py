"""What methods that search more than once share: their demonstrations, the form of their answer, their result."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.state import Passage, State, Step
from quorum.datasets.examples import Example, read_examples
from quorum.nodes.answer import answered
from quorum.nodes.demonstrations import BUILT_IN, variant
from quorum.nodes.evidence import evidence_for
from quorum.parsing.answers import Parsed
from quorum.parsing.steps import Action, FollowUp
from quorum.parsing.yes_no import yes_no_answer

KINDS = {"short": "a name, a place, a date, a number, or yes or no", "yes_no": "Yes or No"}

Stepped = TypeVar("Stepped", Action, FollowUp)


def answer_kind(prompt: str, runtime: Runtime[Context]) -> str:
    """What an answer of the context's type looks like; a type that the prompt does not serve is a SetupError."""
    return KINDS["short" if variant(prompt, runtime) == prompt else "yes_no"]


async def step_demonstrations(runtime: Runtime[Context], written: Callable[[Example], str]) -> str:
    """Those of the context's examples that hold steps; three of our own where none does."""
    context = settings(runtime)
    given = await asyncio.to_thread(read_examples, context.examples) if context.examples else ()
    own = BUILT_IN["steps_yes_no" if context.answer_type == "yes_no" else "steps"]
    return "\n\n".join(map(written, [example for example in given if example.get("steps")] or own))


def in_form(parsed: Parsed[Stepped], runtime: Runtime[Context]) -> Parsed[Stepped]:
    """A final answer as "yes", "no" or "unknown" where one of them is asked for; malformed when it is none."""
    answer = parsed.value.answer
    if answer is None or settings(runtime).answer_type != "yes_no":
        return parsed
    verdict = yes_no_answer(answer)
    return Parsed(replace(parsed.value, answer=verdict.value), parsed.malformed or verdict.malformed)


def search_for(query: str | None, question: str) -> str | None:
    """The query, or None where it is the question itself, for which given passages stand in their own order."""
    return None if query is None or query.split() == question.split() else query


def outcome(steps: Sequence[Step], rationale: str | None) -> State:
    """The result of the steps: the last one's answer, unknown when it only searched; the passages of all, each once."""
    answer = steps[-1]["answer"] if steps[-1]["query"] is None else None
    passages = union(steps)
    return {
        **answered(answer or ""),
        "rationale": rationale or None,
        "evidence": evidence_for(answer or "", passages),
        "passages": passages,
    }


def union(steps: Sequence[Step]) -> list[Passage]:
    """The passages of all steps, in the order in which they were shown first, one of each id."""
    first: dict[str, Passage] = {}
    for step in steps:
        for passage in step["passages"]:
            first.setdefault(passage["id"], passage)
    return list(first.values())
