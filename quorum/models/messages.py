"""The messages of a call: what a journal's key, an estimate and a trace say of them.

Most calls send one human message, and everything here then gives its text alone. A call that offers tools sends more:
the model's own calls of tools and what these gave.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from quorum.core.json_text import parse_json, replace_lone_surrogates
from quorum.models.token_estimate import estimate_tokens


def make_messages(content: str | Sequence[BaseMessage]) -> tuple[BaseMessage, ...]:
    """The messages to send: a text becomes one human message. A lone surrogate, which cannot be sent, becomes a "?"."""
    messages = [HumanMessage(content)] if isinstance(content, str) else content
    return tuple(
        message.model_copy(update={"content": message.content.encode("utf-8", "replace").decode()})
        if isinstance(message.content, str)
        else message
        for message in messages
    )


def get_text_or_content(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] = (), tool_choice: str | None = None
) -> str | dict[str, Any]:
    """What identifies messages in a journal's key: the text of a single human message, if no tools are offered; else
    all that the model gets, as JSON data.

    >>> get_text_or_content([HumanMessage("Who?")])
    'Who?'
    """
    if len(messages) == 1 and isinstance(messages[0], HumanMessage) and not tools:
        return str(messages[0].content)
    content = {"messages": [describe_message(message) for message in messages], "tools": [dict(tool) for tool in tools]}
    return content if tool_choice is None else content | {"tool_choice": tool_choice}


def describe_message(message: BaseMessage) -> dict[str, Any]:
    """A message as JSON data: its role, its content and, if there are any, its calls of tools or the answered call."""
    description: dict[str, Any] = {"role": message.type, "content": message.content}
    if isinstance(message, AIMessage) and message.tool_calls:
        description["tool_calls"] = [[call["id"], call["name"], call["args"]] for call in message.tool_calls]
    if isinstance(message, ToolMessage):
        description["tool_call_id"] = message.tool_call_id
    return description


def write_messages(messages: Sequence[BaseMessage]) -> str:
    """The texts of the messages and the calls of tools in them, for people and for estimates.

    >>> write_messages([HumanMessage("Who?"), AIMessage("", tool_calls=[{"id": "1", "name": "search", "args": {}}])])
    'Who?\\nsearch({})'
    """
    return "\n".join(write_message(message) for message in messages)


def write_message(message: BaseMessage) -> str:
    """The text of a message and, on lines of their own, the calls of tools in it."""
    calls = list_tool_calls(message) if isinstance(message, AIMessage) else []
    lines = [str(message.text), *(f"{call['name']}({write_arguments(call)})" for call in calls)]
    return "\n".join(line for line in lines if line)


def write_arguments(call: Mapping[str, Any]) -> str:
    """The arguments of a call of a tool as JSON; as the model wrote them if they are none."""
    arguments = call["arguments"]
    return str(call["raw"]) if arguments is None else json.dumps(arguments, ensure_ascii=False)


def list_tool_calls(message: AIMessage) -> list[dict[str, Any]]:
    """The calls of tools in a message, in their order: name, arguments (a mapping, or null if they are no JSON object)
    and raw (what was written in their place; empty if they were read). The valid ones come first.
    """
    calls = [{"name": call["name"], "arguments": call["args"], "raw": ""} for call in message.tool_calls]
    return calls + [
        {"name": call["name"] or "", "arguments": None, "raw": read_raw(str(call["args"] or ""))}
        for call in message.invalid_tool_calls
    ]


def read_raw(arguments: str) -> str:
    """What a model wrote in place of arguments. A JSON string, as `StreamedCalls` makes, is taken apart."""
    try:
        value = parse_json(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, str) else arguments


def dump_tool_calls(message: AIMessage) -> str:
    """The calls of tools in a message, as the JSON text that a journal keeps; "" without any."""
    calls = list_tool_calls(message)
    return replace_lone_surrogates(json.dumps(calls, ensure_ascii=False, default=str)) if calls else ""


def estimate_messages(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """An upper estimate of the tokens of the messages and of the tools that are offered with them."""
    return estimate_tokens(write_messages(messages)) + (estimate_tokens(json.dumps(list(tools))) if tools else 0)
