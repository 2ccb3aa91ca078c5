"""What the methods that search more than once share: demonstrations, the description of an answer, and the result."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import Passage, State, Step
from quorum.datasets.examples import Example, read_examples
from quorum.nodes.answer import make_answer
from quorum.nodes.demonstrations import BUILT_IN, choose_variant
from quorum.nodes.evidence import find_evidence
from quorum.parsing.answers import Parsed
from quorum.parsing.steps import Action, SelfAskStep
from quorum.parsing.yes_no import parse_yes_no

ANSWER_FORMS = {"short": "a name, a place, a date, a number, or yes or no", "yes_no": "Yes or No"}

ParsedStep = TypeVar("ParsedStep", Action, SelfAskStep)


def describe_answer_form(prompt: str, runtime: Runtime[Context]) -> str:
    """What the prompt says an answer is, by answer type. Raises SetupError for a type that the prompt cannot serve."""
    return ANSWER_FORMS["short" if choose_variant(prompt, runtime) == prompt else "yes_no"]


async def format_step_demonstrations(runtime: Runtime[Context], format_one: Callable[[Example], str]) -> str:
    """The user's examples that have steps, as text; without such examples, three built-in ones.

    format_one: writes one example.
    """
    context = get_context(runtime)
    examples = await asyncio.to_thread(read_examples, context.examples) if context.examples else ()
    demonstrations = BUILT_IN["steps_yes_no" if context.answer_type == "yes_no" else "steps"]
    return "\n\n".join(map(format_one, [example for example in examples if example.get("steps")] or demonstrations))


def normalize_yes_no_answer(parsed_answer: Parsed[ParsedStep], runtime: Runtime[Context]) -> Parsed[ParsedStep]:
    """The final answer as "yes", "no" or "unknown" for answer_type yes_no; malformed if it is none of them."""
    answer = parsed_answer.value.answer
    if answer is None or get_context(runtime).answer_type != "yes_no":
        return parsed_answer
    verdict = parse_yes_no(answer)
    return Parsed(replace(parsed_answer.value, answer=verdict.value), parsed_answer.malformed or verdict.malformed)


def omit_query_equal_to_question(query: str | None, question: str) -> str | None:
    """The query, or None if it repeats the question.

    Without a query the node `retrieve` keeps the order of the passages that the caller gave. Any query ranks them anew.
    """
    return None if query is None or query.split() == question.split() else query


def make_outcome(steps: Sequence[Step], rationale: str | None) -> State:
    """The result: the passages of all steps, and the last step's answer, or unknown if the last step only searched."""
    answer = steps[-1]["answer"] if steps[-1]["query"] is None else None
    passages = collect_passages(steps)
    return {
        **make_answer(answer or ""),
        "rationale": rationale or None,
        "evidence": find_evidence(answer or "", passages),
        "passages": passages,
    }


def collect_passages(steps: Sequence[Step]) -> list[Passage]:
    """The passages of all steps, each id once, in the order in which they were first shown."""
    passages_by_id: dict[str, Passage] = {}
    for step in steps:
        for passage in step["passages"]:
            passages_by_id.setdefault(passage["id"], passage)
    return list(passages_by_id.values())
