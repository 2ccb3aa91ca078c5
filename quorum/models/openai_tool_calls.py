"""Reads the calls of tools in messages of the OpenAI protocol, whatever a server makes of their form."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk

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


@dataclass
class StreamedCall:
    """What has come of a call in a stream. index, id_: the server's, if it gave any."""

    index: int | None
    id_: str
    name: str
    arguments: str


@dataclass
class StreamedCalls:
    """Joins the pieces of calls in a stream. LangChain would join them by their index alone, and mend cut arguments."""

    calls: list[StreamedCall] = field(default_factory=list)

    def add(self, delta: Mapping[str, Any]) -> None:
        """Read the pieces of calls in a piece of a stream."""
        pieces = delta.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else []:
            function = piece.get("function") if isinstance(piece, Mapping) else None
            if isinstance(function, Mapping):
                self.add_piece(piece, function)

    def add_piece(self, piece: Mapping[str, Any], function: Mapping[str, Any]) -> None:
        """Add a piece to the call that it continues; else it begins a call."""
        name, arguments, id_, index = (*map(function.get, ("name", "arguments")), piece.get("id"), piece.get("index"))
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str) if arguments else ""
        name, id_ = (value if isinstance(value, str) else "" for value in (name, id_))
        index = index if isinstance(index, int) else None
        call = self.find_continued(index, id_, name)
        if call is None:
            self.calls.append(StreamedCall(index, id_, name, text))
            return
        call.arguments += text
        call.id_ = call.id_ or id_
        if name != call.name:  # some servers repeat the name in each piece
            call.name += name

    def find_continued(self, index: int | None, id_: str, name: str) -> StreamedCall | None:
        """The call that a piece continues: the last one with its index. None if the piece has another id, or if it has
        a name and the call's arguments are whole.
        """
        calls = [call for call in self.calls if index is None or call.index in (index, None)]
        if not calls:
            return None
        call = calls[-1]
        is_other = bool(id_ and call.id_ and id_ != call.id_)
        return None if is_other or (name and call.arguments and read_arguments(call.arguments) is not None) else call

    def make_chunks(self) -> list[ToolCallChunk]:
        """The joined calls, for a last piece of the stream. Arguments that are no JSON object become a JSON string
        that LangChain cannot mend; `quorum.models.messages.list_tool_calls` takes it apart.
        """
        return [
            tool_call_chunk(
                name=replace_lone_surrogates(call.name),
                args=call.arguments if read_arguments(call.arguments) is not None else json.dumps(call.arguments),
                id=call.id_ or f"call{number}",
                index=number,
            )
            for number, call in enumerate(self.calls)
        ]
