"""What is asked for, by `answer_type`: the prompt's variant and the parser of its replies."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.errors import SetupError
from quorum.parsing.answers import Parsed, short_answer
from quorum.parsing.labels import label_answer, long_answer, turn_answer
from quorum.parsing.yes_no import yes_no_answer


class Parser(Protocol):
    """What a reply to a question says."""

    def __call__(self, reply: str, question: str = "") -> Parsed[str]: ...


PARSERS: dict[str, Parser] = {
    "short": short_answer,
    "yes_no": yes_no_answer,
    "label": label_answer,
    "dialogue": turn_answer,
    "long": long_answer,
}


def form_of(prompt: str, question: str, runtime: Runtime[Context]) -> tuple[str, Callable[[str], Parsed[str]]]:
    """(name of the prompt's variant, parser of its replies) for the context's answer_type."""
    kind = settings(runtime).answer_type
    return prompt if kind == "short" else f"{prompt}_{kind}", partial(PARSERS[kind], question=question)


def facts_only(prompt: str, runtime: Runtime[Context]) -> Callable[[str], str]:
    """What a prompt's answers become that serves short facts and yes or no; other answer types are a SetupError."""
    kind = settings(runtime).answer_type
    if kind not in ("short", "yes_no"):
        raise SetupError(
            f"The prompt {prompt!r} does not serve answer_type={kind!r}; set answer_type to short or yes_no, or take "
            "another method, for example concat."
        )
    return (lambda answer: yes_no_answer(answer).value) if kind == "yes_no" else str
