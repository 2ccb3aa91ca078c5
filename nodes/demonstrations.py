"""Formats the demonstrations of few-shot prompts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from langgraph.runtime import Runtime

import quorum.prompts
from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.datasets.examples import Example, read_examples
from quorum.nodes.answer_types import get_answer_type
from quorum.prompts import format_passages
from quorum.prompts.passages import mark_passages

DEMONSTRATIONS_FOLDER = Path(quorum.prompts.__file__).parent / "demonstrations"
# File name without suffix -> examples. They are read at import, because nodes run on an event loop, which must not
# wait for a disk.
BUILT_IN_DEMONSTRATIONS = {
    path.stem: read_examples(str(path)) for path in sorted(DEMONSTRATIONS_FOLDER.glob("*.jsonl"))
}


async def format_demonstrations(
    question: str, runtime: Runtime[Context], *, with_reasoning: bool, with_passages: bool
) -> str:
    """The demonstrations as a prompt shows them, with or without reasoning and passages.

    The setting `examples` names the file with the demonstrations. Without this setting, three built-in demonstrations
    are used. They are yes/no questions if the answer type is yes_no. For short answers they are questions that need
    several steps if the reasoning is shown, otherwise questions about a single fact.
    """
    context = get_context(runtime)
    if context.examples:
        examples: Sequence[Example] = await asyncio.to_thread(read_examples, context.examples)
    else:
        examples = BUILT_IN_DEMONSTRATIONS[
            "yes_no" if get_answer_type(context, question) == "yes_no" else "multi_hop" if with_reasoning else "short"
        ]
    if with_reasoning:
        check_rationales(examples, context.examples)
    return "\n\n".join(format_example(example, with_reasoning, with_passages) for example in examples)


def check_rationales(examples: Sequence[Example], file: str | None) -> None:
    """Raise a `SetupError` if an example has no rationale. file: where the examples were read; None: built-in ones."""
    for number, example in enumerate(examples, start=1):
        if not example.get("rationale", "").strip():
            raise SetupError(
                f"Example {number} of {file} has no rationale, which a chain of thought needs; add "
                '"rationale": "..." to the example, or choose another method, for example direct.'
            )


def format_example(example: Example, with_reasoning: bool, with_passages: bool) -> str:
    """One example as a prompt shows it: passages, question, then the reasoning with the answer, or the answer."""
    parts = [f"Question: {example['question']}"]
    if with_passages and (passages := example.get("passages")):
        parts = [f"Passages:\n{mark_passages(format_passages(passages))}\n", *parts]
    if with_reasoning:
        parts.append(f"Rationale: {example['rationale'].strip()} So the answer is {example['answer']}.")
    else:
        parts.append(f"Answer: {example['answer']}")
    return "\n".join(parts)
