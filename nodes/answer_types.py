"""Chooses by `answer_type` a prompt's variant and the parser of its replies."""

from collections.abc import Callable
from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.parsing.answers import Parsed
from quorum.parsing.read_reply import get_reply_parser
from quorum.parsing.yes_no import parse_yes_no


def choose_prompt(prompt: str, question: str, runtime: Runtime[Context]) -> tuple[str, Callable[[str], Parsed[str]]]:
    """The name of the prompt's variant for the answer type, and the parser of its replies."""
    kind = get_context(runtime).answer_type
    name = prompt if kind == "short" else f"{prompt}_{kind}"
    return name, partial(get_reply_parser(name).parse, question=question)


def get_answer_converter(prompt: str, runtime: Runtime[Context]) -> Callable[[str], str]:
    """The function that converts the parsed answers of a prompt to the answer type "short" or "yes_no".

    For yes_no it reads the answer as yes, no or unknown; for short it changes nothing. A prompt whose answers are
    converted serves only these two types: raises a SetupError for any other answer type.
    """
    kind = get_context(runtime).answer_type
    if kind not in ("short", "yes_no"):
        raise SetupError(
            f"The prompt {prompt!r} does not serve answer_type={kind!r}; set answer_type to short or yes_no, or take "
            "another method, for example concat."
        )
    return (lambda answer: parse_yes_no(answer).value) if kind == "yes_no" else str
