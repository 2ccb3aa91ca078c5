"""The methods: one state machine per file, built from shared nodes.

Begin with `catalogue`, which lists them, and `concat_pf`. The graphs import only nodes and core.

`await answer(...)` and `answer_sync(...)` run a method; `quorum.graphs.NAME.graph` is the compiled graph of a method.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from quorum.core.same_parameters import takes_parameters_of
from quorum.graphs.catalogue import DEFAULT_METHOD, METHODS, Method, list_methods
from quorum.graphs.find_method import find_method

if TYPE_CHECKING:  # LangGraph is slow to import, so it is imported only when a graph is used
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    from quorum.core.context import Context
    from quorum.core.state import Passage, Question, Result

    # The graph of a method, or a compiled graph that a user wrote and whose first node is quorum.nodes.begin.
    Graph = CompiledStateGraph[Any, Any, Any, Any]

__all__ = ["DEFAULT_METHOD", "METHODS", "Method", "answer", "answer_sync", "find_method", "list_methods"]


async def answer(
    question: str,
    method: "str | Graph" = DEFAULT_METHOD,
    context: "Context | None" = None,
    *,
    given: "Sequence[Passage] | None" = None,
    gold_answers: Sequence[str] | None = None,
    history: Sequence[Mapping[str, str]] = (),
    config: "RunnableConfig | None" = None,
) -> "Result":
    """Answer one question. method: the name of a method, with settings of its own in brackets if it has any, such as
    "concat[collection=handbook;k=3]", or a compiled graph of your own.

    given: passages to answer from, best first; the store is then not searched. gold_answers: for filter_mode="silver"
    only, never shown to the model that answers. history: the earlier messages, {"role": "user" or "assistant",
    "content": text}. config: a config of LangGraph, with callbacks, tags or a thread.
    With a history, one model call rewrites the question so that it stands alone, and the result has one more key,
    `question`: the rewritten question.
    Raises SetupError for a mistake in input or configuration, CallError when a model call failed after its retries.

    >>> import asyncio, quorum
    >>> asyncio.run(quorum.answer("Who wrote the Zen of Python?"))["answer"]
    'Tim Peters'
    >>> first_question = {"role": "user", "content": "Whose company built the Eiffel Tower?"}
    >>> first_answer = {"role": "assistant", "content": "Gustave Eiffel"}
    >>> asyncio.run(quorum.answer("How tall is it?", history=[first_question, first_answer]))["answer"]
    '330 metres'
    """
    from quorum.graphs.choose_method import choose_method

    method, context = choose_method(method, context, given=given is not None)
    state: Question = {
        "question": question,
        "given": None if given is None else list(given),
        "gold_answers": None if gold_answers is None else list(gold_answers),
    }
    graph: Any = find_method(method).graph if isinstance(method, str) else method
    if not history:
        return cast("Result", await graph.ainvoke(state, config, context=context))
    from quorum.graphs.conversation import prepare_conversation

    graph, inputs = prepare_conversation(graph, state, history)
    final_state: dict[str, Any] = await graph.ainvoke(inputs, config, context=context)
    return cast("Result", {name: value for name, value in final_state.items() if name != "messages"})


@takes_parameters_of(answer)
def answer_sync(*args: Any, **inputs: Any) -> "Result":
    """`answer` for synchronous code: a script, a thread, or a notebook, where an event loop is running already.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}]
    >>> result = quorum.answer_sync("Who built the lighthouse?", given=passages)
    >>> result["answer"], result["evidence"]
    ('Ada Korn', [{'passage': '1', 'start': 44, 'end': 52}])
    """
    from quorum.core.sync import run_sync

    return run_sync(answer(*args, **inputs))
