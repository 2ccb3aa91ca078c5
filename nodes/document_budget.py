"""How much text of documents fits into a prompt, and how it is laid out there."""

from collections.abc import Callable, Sequence

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.models.token_estimate import estimate_tokens
from quorum.nodes.answer_types import resolve_answer_type
from quorum.nodes.ask import read_prompt_overrides
from quorum.nodes.citations import cites
from quorum.nodes.fit_window import DEFAULT_WINDOW, find_known_window
from quorum.prompts import render_prompt
from quorum.prompts.documents import format_documents, format_numbered_documents
from quorum.prompts.escape import escape_variables
from quorum.prompts.post_fusion import ANSWER

RESERVE = 1024  # tokens of the window for the reply, and for what the estimate is wrong by


class DocumentsTooLongError(SetupError):
    """With documents=all, the documents do not fit the window. needed: the tokens that the prompt would have."""

    needed: int = 0


def make_too_long_error(needed: int, known_window: int | None, model: object) -> DocumentsTooLongError:
    """The error of a prompt with so many tokens. known_window: None if nothing says how long the window is."""
    name = model if isinstance(model, str) else type(model).__name__
    assumed = "" if known_window else " (assumed: set context_window to its real size)"
    error = DocumentsTooLongError(
        f"With documents=all a prompt would have about {needed:,} tokens, but the window of {name} has "
        f"{known_window or DEFAULT_WINDOW:,}{assumed}; set documents=found, which reads the documents of the passages "
        "found, or choose a model with a larger window."
    )
    error.needed = needed
    return error


def choose_layout(question: str, context: Context) -> Callable[[Sequence[Passage]], str]:
    """How a prompt shows documents: with the numbers of the passages only where the answer cites them."""
    return format_numbered_documents if cites(resolve_answer_type(context, question)) else format_documents


async def compute_budget(question: str, context: Context) -> int:
    """How many tokens the documents may have; less than 0 if the window is too small for the prompt without them."""
    window = await find_known_window(context, context.model) or DEFAULT_WINDOW
    return window - await count_prompt_tokens("", question, context) - RESERVE


async def check_all_fit(passages: Sequence[Passage], question: str, context: Context) -> None:
    """Raise `DocumentsTooLongError` unless the prompt with these passages fits the window."""
    known_window = await find_known_window(context, context.model)
    needed = await count_prompt_tokens(choose_layout(question, context)(passages), question, context) + RESERVE
    if needed > (known_window or DEFAULT_WINDOW):
        raise make_too_long_error(needed, known_window, context.model)


async def count_prompt_tokens(documents: str, question: str, context: Context) -> int:
    """The tokens of the answering prompt with this text of documents, estimated."""
    prompt = ANSWER.for_answer_type(resolve_answer_type(context, question).answer_type)
    overrides = await read_prompt_overrides(resolve_answer_type(context, question))
    rendered = render_prompt(prompt.name, overrides, **escape_variables({"question": question}), passages=documents)
    return estimate_tokens(rendered.text)
