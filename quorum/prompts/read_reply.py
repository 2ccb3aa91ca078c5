"""Reads a model's reply to a prompt."""

from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.thinking import remove_thinking
from quorum.parsing.answers import Parsed
from quorum.prompts.escape import undo_escapes
from quorum.prompts.prompt import Prompt
from quorum.prompts.registry import get_prompt

ARGUMENT_DESCRIPTIONS = {
    "question": "the question that was asked",
    "candidates": "the texts among which the reply chooses",
    "count": "how many passages the prompt showed, or how many candidates it asked for",
}


def list_required_arguments(prompt: Prompt[Any]) -> list[str]:
    """The arguments of `read_reply` without which no reply to the prompt can be read."""
    parameters = signature(prompt.read or prompt.parse).parameters
    return [
        name for name in ARGUMENT_DESCRIPTIONS if name in parameters and parameters[name].default is Parameter.empty
    ]


def read_reply(
    prompt: str,
    reply: str,
    *,
    question: str | None = None,
    candidates: Sequence[str] | None = None,
    count: int | None = None,
) -> Parsed[Any]:
    """Read a model's raw reply to one of Quorum's prompts, as the methods read it.

    prompt: the prompt's name, such as "answer"; `quorum prompts` lists them. question: the question that was asked.
    Some models go on after the answer with a question of their own; the parser cuts that part off, and needs this
    argument to tell the two questions apart. candidates: the texts among which the reply chooses; for "answer_choices"
    the choices, for "filter_sentences" the passages. For "mask_condition" it is a list of one: the proposed answer. The
    model writes a statement with this answer in it and masks some words, which must not be the answer. count: how many
    passages were shown, or how many candidates were asked for. Arguments that a prompt's replies do not need are
    ignored. A `<think>` part is removed first.

    Returns an object with `value` and `malformed`. A malformed reply does not have the form that the prompt asks for;
    its `value` is a default. The type of `value` depends on the prompt:

    - a text: answers of every type, "generic_summary", "conditional_summary" and its variant, "judge", "internal",
      "hypothetical", "topic", "stand_alone", "recover_condition" (the hidden words). If the reply says that it cannot
      answer, a yes/no, long or dialogue answer is "unknown", a label is "NOT ENOUGH INFO", and a short answer keeps the
      reply's own words, which `quorum.is_unknown` recognises;
    - `.answer` and `.rationale`: "pruning", "summary", "zero_shot_cot", "agent" (a reply that calls no tool),
      "inference" (the rationale: the model's notes on the passages read so far), "reason" and its variants;
    - a bool: "validity", "correctness";
    - 0 (the first is better), 1 (the second is better) or None (a tie): of two passages in "ranking", of two summaries
      in "preference";
    - `.thought`, `.query`, `.answer`: "react", "react_action"; `.question`, `.answer`: "self_ask", "self_ask_final";
    - a list: "candidates" (texts), "filter_sentences" (sentences), "choose", "judge_and_choose" and "filter_passages"
      (passage numbers from 1), "rank_passages" (all passages, best first, as indexes from 0);
    - `.question` and `.answers`, or None: the prompts that write questions;
    - a dict with the keys "statement" and "hidden_words", or None: "mask_condition".

    Raises SetupError for an unknown prompt, and for an argument that the prompt needs and that is missing.

    >>> import quorum
    >>> quorum.read_reply("answer", "Answer: Paris.").value
    'Paris'
    >>> quorum.read_reply("rank_passages", "[2] > [3] > [1]", count=3).value
    [1, 2, 0]
    >>> quorum.read_reply("validity", "Hard to say.").malformed
    True
    """
    contract = get_prompt(prompt)
    all_arguments = {"question": question, "candidates": candidates, "count": count}
    missing = next((name for name in list_required_arguments(contract) if all_arguments[name] is None), None)
    if missing is not None:
        raise SetupError(
            f"To read a reply to the prompt {prompt!r}, give {missing}= ({ARGUMENT_DESCRIPTIONS[missing]})."
        )
    read = contract.read or contract.parse
    arguments = {
        name: value for name, value in all_arguments.items() if value is not None and name in signature(read).parameters
    }
    return read(undo_escapes(remove_thinking(reply)), **arguments)
