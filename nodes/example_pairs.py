"""Formats a user's pairs of question and answer for two prompts of SuRe's paper, `candidates` and `answer_base`."""

import asyncio

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.datasets.examples import read_examples


async def format_example_pairs(runtime: Runtime[Context]) -> str:
    """The examples without their reasoning (Kim et al. 2024, listings 13 and 14), a blank line after each.

    The text is empty if the setting `examples` is not set.
    """
    path = get_context(runtime).examples
    examples = await asyncio.to_thread(read_examples, path) if path else ()
    return "".join(f"Question: {example['question']}\nAnswer: {example['answer']}\n\n" for example in examples)
