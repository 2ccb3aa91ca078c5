"""Recognises a call of a tool that a model wrote as text, because the server or the model does not make it a call."""

import re
from collections.abc import Mapping

from quorum.core.json_text import parse_json

CALL_MARK = re.compile(r"<\|?/?tool_call\|?>|<function=|<function_call>|\[TOOL_CALLS\]", re.IGNORECASE)
CODE_FENCE = re.compile(r"^```\w*\s*|\s*```$")


def is_written_call(reply: str) -> bool:
    """Whether a reply is a call of a tool: a mark that models write around calls, or nothing but JSON with a name and
    arguments.

    >>> is_written_call('{"name": "search", "arguments": {"query": "Who?"}}'), is_written_call("Jillian Belk")
    (True, False)
    """
    if CALL_MARK.search(reply):
        return True
    try:
        value = parse_json(CODE_FENCE.sub("", reply.strip()))
    except ValueError:
        return False
    calls = value if isinstance(value, list) else [value]
    return bool(calls) and all(
        isinstance(call, Mapping)
        and isinstance(call.get("name"), str)
        and isinstance(call.get("arguments", call.get("parameters")), Mapping | str)
        for call in calls
    )
