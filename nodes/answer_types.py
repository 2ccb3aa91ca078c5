"""Chooses the variant of a prompt for the setting `answer_type`, and the parser of its replies. Converts the answers of
a prompt that has no variants.
"""

from collections.abc import Callable
from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.parsing.answers import Parsed
from quorum.parsing.read_reply import get_reply_parser
from quorum.parsing.yes_no import parse_yes_no


def choose_prompt(prompt: str, question: str, runtime: Runtime[Context]) -> tuple[str, Callable[[str], Parsed[str]]]:
    """(the name of the prompt's variant for the answer type, the parser of its replies)."""
    answer_type = get_context(runtime).answer_type
    variant = prompt if answer_type == "short" else f"{prompt}_{answer_type}"
    return variant, partial(get_reply_parser(variant).parse, question=question)


def get_answer_converter(prompt: str, runtime: Runtime[Context]) -> Callable[[str], str]:
    """The function that converts the parsed answers of a prompt to the answer type "short" or "yes_no".

    For yes_no it reads the answer as yes, no or unknown; for short it changes nothing. A prompt whose answers are
    converted serves only these two types: raises a SetupError for any other answer type.
    """
    answer_type = get_context(runtime).answer_type
    if answer_type not in ("short", "yes_no"):
        raise SetupError(
            f"The prompt {prompt!r} does not serve answer_type={answer_type!r}; set answer_type to short or yes_no, or "
            "choose another method, for example concat."
        )
    return (lambda answer: parse_yes_no(answer).value) if answer_type == "yes_no" else str
