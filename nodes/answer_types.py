"""Finds the type of answer that a question gets, and the variant of a prompt for it.

Converts the answers of a prompt that has no variants.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

from langgraph.runtime import Runtime

from quorum.algorithms.question_kind import find_question_kind
from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.core.state import State
from quorum.parsing.yes_no import parse_yes_no
from quorum.prompts.prompt import Prompt

BRIEF_TYPES = ("short", "yes_no")


def get_answer_type(context: Context, question: str) -> str:
    """The type of answer to a question: the setting `answer_type`; if it is "auto", as the question asks."""
    return find_question_kind(question) if context.answer_type == "auto" else context.answer_type


def resolve_answer_type(context: Context, question: str) -> Context:
    """The context with the type of answer to this question as its `answer_type`."""
    return set_answer_type(context, get_answer_type(context, question))


def set_answer_type(context: Context, answer_type: str) -> Context:
    """The context with this answer type, which is known to fit. Unlike `replace`, it does not check all settings again,
    because several nodes of every question need it.
    """
    if context.answer_type == answer_type:
        return context
    typed_context = copy(context)
    object.__setattr__(typed_context, "answer_type", answer_type)
    return typed_context


def resolve_for_prompt(context: Context, prompt: Prompt[Any], question: object) -> Context:
    """The context with the type of answer that this prompt asks for; it is never "auto".

    question: the prompt's variable `question`; a prompt without one counts as short.
    """
    if context.answer_type != "auto":
        return context
    resolved = resolve_answer_type(context, question if isinstance(question, str) else "")
    is_short = resolved.answer_type == "long" and prompt.answer_type != "long"
    return set_answer_type(resolved, "short") if is_short else resolved


def get_brief_answer_type(prompt: Prompt[Any], question: str, runtime: Runtime[Context]) -> str:
    """ "yes_no" or "short": the type of answer from a prompt that serves only these two.

    With answer_type=auto such a prompt answers every other question short. Raises a SetupError if the setting
    `answer_type` names a type other than these two.
    """
    context = get_context(runtime)
    if context.answer_type == "auto":
        return "yes_no" if get_answer_type(context, question) == "yes_no" else "short"
    if context.answer_type not in BRIEF_TYPES:
        raise SetupError(
            f"The prompt {prompt.name!r} does not serve answer_type={context.answer_type!r}; set answer_type to short "
            "or yes_no, or choose another method, for example concat."
        )
    return context.answer_type


def resolve_sure_answer_type(context: Context, question: str) -> Context:
    """The context with the type of SuRe's answer; it is never long with sure_parts=summaries."""
    resolved = resolve_answer_type(context, question)
    is_short = resolved.answer_type == "long" and context.sure_parts == "summaries"
    return set_answer_type(resolved, "short") if is_short else resolved


def note_brief_answer_type(prompt: Prompt[Any], question: str, runtime: Runtime[Context]) -> State:
    """The update of `answer_type` for a prompt that serves only the types short and yes_no."""
    return {"answer_type": get_brief_answer_type(prompt, question, runtime)}


def choose_variant(prompt: Prompt[Any], question: str, runtime: Runtime[Context]) -> Prompt[Any]:
    """The variant of the prompt for the type of answer that the question gets.

    A prompt that serves only short and yes_no answers raises a SetupError for other types (`get_brief_answer_type`).
    """
    if prompt.served_types > set(BRIEF_TYPES):
        return prompt.for_answer_type(get_answer_type(get_context(runtime), question))
    return prompt.for_answer_type(get_brief_answer_type(prompt, question, runtime))


def get_answer_converter(prompt: Prompt[Any], question: str, runtime: Runtime[Context]) -> Callable[[str], str]:
    """The function that converts the parsed answers of a prompt to the answer type "short" or "yes_no".

    For yes_no it reads the answer as yes, no or unknown; for short it changes nothing. A prompt whose answers are
    converted serves only these two types (`get_brief_answer_type`).
    """
    answer_type = get_brief_answer_type(prompt, question, runtime)
    return (lambda answer: parse_yes_no(answer).value) if answer_type == "yes_no" else str
