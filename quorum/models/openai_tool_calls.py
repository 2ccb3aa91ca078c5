"""Reads the calls of tools in messages of the OpenAI protocol, whatever a server makes of their form."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall

from quorum.core.json_text import parse_json, replace_lone_surrogates


def list_functions(server_message: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """(name, arguments, id) of each call in a message. The arguments are as the server sent them: mostly JSON text,
    from some servers an object.
    """
    calls = server_message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            name, id_ = function.get("name"), call.get("id")
            yield (
                replace_lone_surrogates(name) if isinstance(name, str) else "",
                function.get("arguments"),
                id_ if isinstance(id_, str) and id_ else f"call{number}",
            )


def keep_tool_calls(message: Any, server_message: Mapping[str, Any]) -> None:
    """Store the calls in the server's message in LangChain's: those whose arguments are a JSON object, or missing, as
    `tool_calls`, the others as `invalid_tool_calls`.
    """
    if not isinstance(message, AIMessage):
        return
    for name, arguments, id_ in list_functions(server_message):
        values = read_arguments(arguments)
        if values is not None:
            message.tool_calls.append(ToolCall(name=name, args=values, id=id_, type="tool_call"))
        else:
            raw = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
            error = "The arguments are no JSON object."
            message.invalid_tool_calls.append(
                InvalidToolCall(
                    name=name, args=replace_lone_surrogates(raw), id=id_, error=error, type="invalid_tool_call"
                )
            )


def read_arguments(arguments: Any) -> dict[str, Any] | None:
    """The arguments of a call; None if they are no JSON object.

    >>> read_arguments('{"query": "Who?"}'), read_arguments(""), read_arguments("[1]")
    ({'query': 'Who?'}, {}, None)
    """
    if arguments is None or arguments == "":
        return {}
    try:
        values = parse_json(arguments if isinstance(arguments, str) else json.dumps(arguments, default=str))
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def clean_call_pieces(delta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pieces of calls in a piece of a stream, in the form that LangChain reads: with an index, and text as the
    arguments.
    """
    pieces, cleaned = delta.get("tool_calls"), []
    for number, piece in enumerate(pieces if isinstance(pieces, list) else []):
        function = piece.get("function") if isinstance(piece, Mapping) else None
        if isinstance(function, Mapping):
            arguments, index = function.get("arguments"), piece.get("index")
            text = arguments if isinstance(arguments, str | None) else json.dumps(arguments, default=str)
            index = index if isinstance(index, int) else number
            cleaned.append({**piece, "index": index, "function": {**function, "arguments": text}})
    return cleaned
