"""Answers one question from Python, and says where the answer stands."""

from typing import TYPE_CHECKING, Any, cast

from quorum.core.same_parameters import takes_parameters_of
from quorum.graphs import DEFAULT_METHOD
from quorum.graphs import answer as answer_without_support

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.core.state import Result
    from quorum.evaluation.shown.support import ShownResult
    from quorum.graphs import Graph


@takes_parameters_of(answer_without_support)
async def answer(
    question: str, method: "str | Graph" = DEFAULT_METHOD, context: "Context | None" = None, **inputs: Any
) -> "ShownResult":
    """Answer one question. method: the name of a method, with settings of its own in brackets if it has any, such as
    "concat[collection=handbook;k=3]", or a compiled graph of your own.

    given: passages to answer from, best first; the store is then not searched. gold_answers: for filter_mode="silver"
    only, never shown to the model that answers. history: the earlier messages, {"role": "user" or "assistant",
    "content": text}. config: a config of LangGraph, with callbacks, tags or a thread.
    With a history, one model call rewrites the question so that it stands alone, and the result has one more key,
    `question`: the rewritten question. `support` in the result says which sentence of the passages supports the answer.
    Raises SetupError for a mistake in input or configuration, CallError when a model call failed after its retries.

    >>> import asyncio, quorum
    >>> result = asyncio.run(quorum.answer("Who wrote the Zen of Python?"))
    >>> result["answer"], result["support"]["state"]
    ('Tim Peters', 'stated')
    >>> first_question = {"role": "user", "content": "Whose company built the Eiffel Tower?"}
    >>> first_answer = {"role": "assistant", "content": "Gustave Eiffel"}
    >>> asyncio.run(quorum.answer("How tall is it?", history=[first_question, first_answer]))["answer"]
    '330 metres'
    """
    from quorum.graphs.choose_method import choose_method

    method, context = choose_method(method, context, given=inputs.get("given") is not None)
    return await add_support(question, await answer_without_support(question, method, context, **inputs), context)


@takes_parameters_of(answer)
def answer_sync(*args: Any, **inputs: Any) -> "ShownResult":
    """`answer` for synchronous code: a script, a thread, or a notebook, where an event loop is running already.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}]
    >>> result = quorum.answer_sync("Who built the lighthouse?", given=passages)
    >>> result["answer"], result["evidence"]
    ('Ada Korn', [{'passage': '1', 'start': 44, 'end': 52}])
    >>> result["support"]["state"], result["support"]["sentence"]
    ('stated', 'The lighthouse of Vell was built in 1874 by Ada Korn.')
    """
    from quorum.core.sync import run_sync

    return run_sync(answer(*args, **inputs))


async def add_support(question: str, result: "Result", context: "Context | None") -> "ShownResult":
    """The result with what the passages say about its answer (`support`); for a follow-up, by its rewritten form."""
    from quorum.core.context import Context
    from quorum.evaluation.shown.support import find_support

    has_answer = "answer" in result  # a graph of one's own may return none
    question_asked = str(result.get("question") or question)
    support = await find_support(question_asked, result, context or Context()) if has_answer else None
    return cast("ShownResult", {**result, "support": support})
