"""The node that runs the method that the settings name. The graph "chat" for LangGraph Studio uses it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field

from quorum.core.context import Context
from quorum.core.state import Question, State

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

FindGraph = Callable[[str], "CompiledStateGraph[Any, Any, Any, Any]"]


@dataclass(frozen=True, kw_only=True)
class ChatContext(Context):
    """The settings of a conversation: the settings that all methods share, and the name of the method that answers."""

    method: Annotated[
        str, Field(description="Method that answers (`quorum methods` lists all), or a cascade: concat>post_fusion")
    ] = "concat_pf"


def make_method_node(find_graph: FindGraph) -> Callable[[State, Runtime[ChatContext]], Awaitable[State]]:
    """Make the node that runs the method of the context. find_graph: returns the compiled graph for a method's name."""

    async def ask_method(state: State, runtime: Runtime[ChatContext]) -> State:
        """question, given, gold_answers -> the method's whole result."""
        chat_context = runtime.context or ChatContext()
        context = Context(**{setting.name: getattr(chat_context, setting.name) for setting in fields(Context)})
        question_state = Question(
            question=state["question"], given=state.get("given"), gold_answers=state.get("gold_answers")
        )
        result: Any = await find_graph(chat_context.method).ainvoke(question_state, context=context)
        # Without Overwrite, the reducer of the key `votes` turns None into a list.
        update = {**result, "votes": Overwrite(result.get("votes"))}
        return cast(State, update)

    return ask_method
