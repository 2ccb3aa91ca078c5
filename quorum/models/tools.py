"""Offers tools to a model, in the form of the OpenAI protocol, and says when a model takes none."""

import json
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from quorum.core.errors import SetupError
from quorum.core.json_text import parse_json
from quorum.models.failures import Failure, describe_failure
from quorum.models.parameters import get_refusals, record_refusal, takes_parameters
from quorum.models.request import Request

TOOLS, TOOL_CHOICE, STRICT = "tools", "tool_choice", "strict"
NO_CALL = "none"  # the tool choice that forbids calls
TOOL_WORDS = re.compile(r"\btools?\b|tool[_ -]?(choice|use|call)|function[_ -]?call", re.IGNORECASE)
FUNCTION_WORD = re.compile(r"\bfunctions?\b", re.IGNORECASE)  # in a server's own bug, too, so it counts with 4xx only
# Words by which a server that failed (5xx) says that it takes no tools, and did not only fail to read a call.
REFUSING_WORDS = re.compile(r"support|requires?\b|enabled?\b|disabled|not implemented|unknown|unrecogni", re.IGNORECASE)
FAILED_CALL = re.compile(r"failed_generation|tool_use_failed|failed to (call|parse)", re.IGNORECASE)


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that a model asks for."""

    name: str
    """The tool's name, as the model wrote it; empty if it wrote none."""
    arguments: Mapping[str, Any] | None
    """The arguments; None if they are no JSON object."""
    raw: str = ""
    """What the model wrote in place of a JSON object."""


def write_call(call: ToolCall) -> str:
    """A call of a tool as the model wrote it.

    >>> write_call(ToolCall("search", {"query": "Who?"}))
    'search({"query": "Who?"})'
    """
    return f"{call.name}({call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)})"


def read_tool_calls(tool_calls_json: str) -> tuple[ToolCall, ...]:
    """The calls of tools in a record of the journal.

    >>> read_tool_calls('[{"name": "search", "arguments": {"query": "Who?"}, "raw": ""}]')[0].arguments
    {'query': 'Who?'}
    """
    return tuple(ToolCall(**call) for call in parse_json(tool_calls_json)) if tool_calls_json else ()


def offer_tools(model: BaseChatModel, request: Request) -> Runnable[Any, Any]:
    """The model with the request's tools. Raises SetupError for a model that takes none.

    The tool choice "none" is sent by the OpenAI protocol only, whose servers may refuse it: then no tools are offered.
    """
    if not request.tools:
        return model
    refused_names = get_refusals(request)
    if TOOLS in refused_names:
        raise make_tools_error(request)
    if request.tool_choice == NO_CALL and TOOL_CHOICE in refused_names:
        return model
    choice: dict[str, Any] = {}
    if request.tool_choice is not None and takes_parameters(type(model)):
        choice = {TOOL_CHOICE: request.tool_choice}
    try:
        return model.bind_tools([write_tool(tool, refused_names) for tool in request.tools], **choice)
    except NotImplementedError:
        raise make_tools_error(request) from None


def write_tool(tool: Mapping[str, Any], refused_names: Collection[str]) -> dict[str, Any]:
    """The tool to send: without the field `strict` if the server refuses it, as older versions of Azure's do."""
    function = {name: value for name, value in tool["function"].items() if name not in refused_names}
    return {**tool, "function": function}


def find_refused_part(
    request: Request, failure: Failure, left_out: Collection[str], *, is_repeated: bool = False
) -> Literal["tools", "tool_choice", "strict"] | None:
    """What a server refuses by this failure: the tools, their field `strict`, the tool choice "none", or nothing.

    left_out: the names that were refused when the request was sent, which it did not hold; only what it held can be
    refused by it, also if another request recorded that meanwhile. is_repeated: the last try failed with the same
    status; a 5xx may be a passing fault, so only the second one counts.

    The tools are refused by the first request only: a failure of a later one, which follows calls that the server took,
    says nothing about tools.
    """
    if not request.tools or failure.parameter is not None or not is_tool_refusal(failure, is_repeated):
        return None
    if request.tool_choice == NO_CALL and TOOL_CHOICE in left_out:
        return None  # no tools were sent
    if STRICT in failure.message and STRICT not in left_out:
        return "strict"
    if request.tool_choice == NO_CALL:
        return "tool_choice"
    return "tools" if all(message.type != "tool" for message in request.messages) else None


def is_tool_refusal(failure: Failure, is_repeated: bool) -> bool:
    """Whether the server refuses tools, or a part of them, in words. is_repeated: see `find_refused_part`."""
    if FAILED_CALL.search(failure.message):
        return False
    names_tools = bool(TOOL_WORDS.search(failure.message))
    if failure.kind == "refused" and failure.status in (400, 404, 422):
        return names_tools or bool(FUNCTION_WORD.search(failure.message))
    is_broken = failure.kind == "retryable" and failure.status in (500, 501) and is_repeated
    return is_broken and names_tools and bool(REFUSING_WORDS.search(failure.message))


def refuse_tools(request: Request, failure: Failure) -> SetupError:
    """Remember that the model takes no tools. Returns the error that says so."""
    record_refusal(request, TOOLS, "takes no tools", logging.INFO)
    return make_tools_error(request, f" ({describe_failure(failure)})")


def make_tools_error(request: Request, reason: str = "") -> SetupError:
    """The error for a model that takes no tools. reason: what the server said, in brackets."""
    return SetupError(
        f"{request.model_label} takes no tools{reason}; choose the method react, which searches without them, or a "
        "model with tool calls. Once the server takes tools, start this program again."
    )
