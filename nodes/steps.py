"""Functions that the methods with several searches share: they format demonstrations, say in the prompt what form the
answer has, normalise the answer, and make the result.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import Passage, State, Step
from quorum.datasets.examples import Example, read_examples
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import get_answer_type, get_brief_answer_type
from quorum.nodes.demonstrations import BUILT_IN_DEMONSTRATIONS
from quorum.parsing.answers import Parsed, ReasonedAnswer
from quorum.parsing.steps import Action, SelfAskStep
from quorum.parsing.yes_no import parse_yes_no
from quorum.prompts.prompt import Prompt

ANSWER_FORMS = {
    "short": "a name, a place, a date, a number, a short phrase or reason, or yes or no",
    "yes_no": "Yes or No",
}

ParsedStep = TypeVar("ParsedStep", Action, SelfAskStep, ReasonedAnswer)


def get_steps(state: State) -> list[Step]:
    """The steps that are finished, oldest first."""
    return state.get("steps") or []


def describe_answer_form(prompt: Prompt[Any], question: str, runtime: Runtime[Context]) -> str:
    """The words with which the prompt describes its answer, such as "Yes or No" for answer_type yes_no.

    Other types than short and yes_no: see `get_brief_answer_type`.
    """
    return ANSWER_FORMS[get_brief_answer_type(prompt, question, runtime)]


async def format_step_demonstrations(
    question: str, runtime: Runtime[Context], format_example: Callable[[Example], str]
) -> str:
    """The user's examples that have steps, as text; if there are none, three built-in examples.

    format_example: returns the text of one example.
    """
    context = get_context(runtime)
    examples = await asyncio.to_thread(read_examples, context.examples) if context.examples else ()
    demonstrations = BUILT_IN_DEMONSTRATIONS[
        "steps_yes_no" if get_answer_type(context, question) == "yes_no" else "steps"
    ]
    return "\n\n".join(map(format_example, [example for example in examples if example.get("steps")] or demonstrations))


def normalize_yes_no_answer(
    parsed_step: Parsed[ParsedStep], question: str, runtime: Runtime[Context]
) -> Parsed[ParsedStep]:
    """The step, whose final answer becomes "yes", "no" or "unknown" if answer_type is yes_no.

    An answer without a verdict makes the step malformed. With another answer type, or without a final answer, the step
    is unchanged.
    """
    answer = parsed_step.value.answer
    if answer is None or get_answer_type(get_context(runtime), question) != "yes_no":
        return parsed_step
    verdict = parse_yes_no(answer)
    return Parsed(replace(parsed_step.value, answer=verdict.value), parsed_step.malformed or verdict.malformed)


def omit_query_equal_to_question(query: str | None, question: str) -> str | None:
    """The query, or None if it repeats the question.

    Without a query the node `retrieve` keeps the order of the passages that the caller gave. Any query ranks them anew.
    """
    return None if query is None or query.split() == question.split() else query


def make_outcome(steps: Sequence[Step], rationale: str | None, text: str | None) -> State:
    """The result: the last step's answer, the rationale, and the passages of all steps.

    text: the answer as the model wrote it. The answer is unknown if the last step is a search or has no answer.
    """
    answer = steps[-1]["answer"] if steps[-1]["query"] is None else None
    return {
        **make_answer(answer or "", text=text if answer else None),
        "rationale": rationale or None,
        "passages": collect_passages(steps),
    }


def collect_passages(steps: Sequence[Step]) -> list[Passage]:
    """The passages of all steps, each id once, in the order in which they were first shown."""
    passages_by_id: dict[str, Passage] = {}
    for step in steps:
        for passage in step["passages"]:
            passages_by_id.setdefault(passage["id"], passage)
    return list(passages_by_id.values())
