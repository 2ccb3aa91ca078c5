"""Worked examples in few-shot prompts, and the variant of such a prompt that an answer type takes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from langgraph.runtime import Runtime

import quorum.prompts
from quorum.core.context import Context, settings
from quorum.core.errors import SetupError
from quorum.datasets.examples import Example, read_examples
from quorum.prompts import numbered

FOLDER = Path(quorum.prompts.__file__).parent / "demonstrations"
# Read once, at import: nodes run on an event loop, which must not wait for a disk.
BUILT_IN = {path.stem: read_examples(str(path)) for path in sorted(FOLDER.glob("*.jsonl"))}


def variant(prompt: str, runtime: Runtime[Context]) -> str:
    """The prompt for the answer type: itself for a short answer, NAME_yes_no for yes or no.

    Other answer types are a SetupError: a chain of thought ends in a short fact or a verdict.
    """
    kind = settings(runtime).answer_type
    if kind not in ("short", "yes_no"):
        raise SetupError(
            f"The prompt {prompt!r} does not serve answer_type={kind!r}; set answer_type to short or yes_no, or take "
            "another method, for example concat."
        )
    return prompt if kind == "short" else f"{prompt}_yes_no"


async def demonstrations(runtime: Runtime[Context], *, reasoned: bool, passages: bool) -> str:
    """The context's examples, else three of our own (single facts; questions of several steps where the reasoning is
    shown; yes or no), as a prompt shows them: with or without passages, with the reasoning or the answer alone.
    """
    context = settings(runtime)
    if context.examples:
        examples: Sequence[Example] = await asyncio.to_thread(read_examples, context.examples)
    else:
        examples = BUILT_IN["yes_no" if context.answer_type == "yes_no" else "multi_hop" if reasoned else "short"]
    if reasoned:
        check_rationales(examples, context.examples)
    return "\n\n".join(written(example, reasoned, passages) for example in examples)


def check_rationales(examples: Sequence[Example], source: str | None) -> None:
    for number, example in enumerate(examples, start=1):
        if not example.get("rationale", "").strip():
            raise SetupError(
                f"Example {number} of {source} has no rationale, which a chain of thought needs; add "
                '"rationale": text to it, or take the method direct.'
            )


def written(example: Example, reasoned: bool, passages: bool) -> str:
    """One example in the form of the prompts: passages, question, then the answer or the reasoning that ends in it."""
    parts = [f"Question: {example['question']}"]
    if passages and (shown := example.get("passages")):
        parts = ["Passages:\n", f"{numbered(shown)}\n", *parts]
    if reasoned:
        parts.append(f"Rationale: {example['rationale'].strip()} So the answer is {example['answer']}.")
    else:
        parts.append(f"Answer: {example['answer']}")
    return "\n".join(parts)
