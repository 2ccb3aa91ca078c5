"""A user's question/answer pairs, as SuRe's candidate prompt and the base prompt show them after the passages."""

import asyncio

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.datasets.examples import read_examples


async def example_pairs(runtime: Runtime[Context]) -> str:
    """The context's examples, answers alone (Kim et al. 2024, figures 13 and 14), each with the blank line that parts
    it from what follows; nothing where no examples are set.
    """
    path = settings(runtime).examples
    examples = await asyncio.to_thread(read_examples, path) if path else ()
    return "".join(f"Question: {example['question']}\nAnswer: {example['answer']}\n\n" for example in examples)
