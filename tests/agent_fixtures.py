"""For tests of the method agent: replies that call tools, and a run as a readable list."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from openai_bodies import Response
from stepwise_fixtures import PASSAGES, QUESTION, join_ids, shorten_state_update

from quorum.core.context import Context
from quorum.core.state import Passage, ToolUse
from quorum.graphs import METHODS
from quorum.models.messages import write_message
from quorum.models.scripted import ScriptedModel

FINAL_REPLY = "Passage [1] says so.\nAnswer: Jillian Belk"


def call_search(*queries: Any, text: str = "") -> AIMessage:
    """A reply that searches for the queries."""
    return call_tools(*(("search", {"query": query}) for query in queries), text=text)


def call_tools(*calls: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """A reply that calls tools: (name, arguments)."""
    return AIMessage(
        text, tool_calls=[{"id": f"its own {n}", "name": name, "args": args} for n, (name, args) in enumerate(calls)]
    )


def send_calls(*functions: Any, text: str | None = None) -> Response:
    """A server's reply that calls tools. functions: (name, arguments) of each call, as they stand in the reply, or what
    stands there in place of a call.
    """
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": function[0], "arguments": function[1]}}
        if isinstance(function, tuple)
        else function
        for n, function in enumerate(functions)
    ]
    return Response(message={"content": text, "tool_calls": calls}, finish_reason="tool_calls")


async def trace_agent(
    model: ScriptedModel, passages: list[Passage] = PASSAGES, **settings: Any
) -> list[tuple[str, dict[str, Any]]]:
    """Run the method on QUESTION. Returns (node, shortened update) pairs: see `shorten_state_update`. Turns become
    lists of calls, "tool argument -> numbers and ids of the passages" or "tool argument: what it is told instead".
    """
    inputs, context = {"question": QUESTION, "given": passages}, Context(model=model, **{"k": 2, **settings})
    trace = []
    async for update in METHODS["agent"].graph.astream(inputs, context=context, stream_mode="updates"):
        for node, node_update in update.items():
            shortened = shorten_state_update(node_update)
            if "turns" in shortened:
                shortened["turns"] = [[write_use(call) for call in turn["calls"]] for turn in node_update["turns"]]
            if items := shortened.pop("passages_by_query", None):
                shortened |= {} if not isinstance(items, list) else {"found": [join_ids(i["passages"]) for i in items]}
            trace.append((node, shortened))
    return trace


def write_use(use: ToolUse) -> str:
    call = f"{use['tool']} {' '.join(map(str, use['arguments'].values()))}".strip()
    if use["note"] is not None:
        return f"{call}: {use['note']}"
    if use["repeats"] is not None:
        return f"{call}: as {use['repeats']}"
    found = [f"{number} {passage['id']}" for number, passage in zip(use["numbers"], use["passages"], strict=True)]
    return f"{call} -> {', '.join(found)}"


def write_conversation(messages: list[BaseMessage]) -> list[str]:
    """What the model was shown after the instructions: "role: text" of each message."""
    return [f"{message.type}: {write_message(message)}" for message in messages[1:]]
