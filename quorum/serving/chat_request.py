"""Reads and checks the body of POST /v1/chat/completions. OpenAI's fields that Quorum does not use are ignored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from quorum.core.json_text import parse_json
from quorum.serving.access_control import LARGEST_BODY, make_too_large_refusal
from quorum.serving.conversation import Message
from quorum.serving.errors import Refusal

MAX_MESSAGES = 1000
QUORUM_FLAGS = ("sources", "history")  # keys of the field `quorum` that are no settings of a method


@dataclass(frozen=True)
class ChatRequest:
    """A client's request. settings: the field `quorum` without `sources` and `history`, which are `wants_sources` and
    `reads_history` here.
    """

    model: str
    messages: tuple[Message, ...]
    settings: Mapping[str, Any]
    is_streamed: bool = False
    wants_usage: bool = False
    wants_sources: bool = True
    reads_history: bool = True


async def read_body(request: Request, expected: str = "a chat completion request") -> Any:
    """The JSON of a request. Raises `Refusal` if it is too large (413) or is not JSON (400). expected: what to send."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise make_too_large_refusal()
    try:
        return parse_json(bytes(body))
    except ValueError:
        raise Refusal(400, f"The body is not JSON; send {expected}.") from None


def read_chat(body: Any) -> ChatRequest:
    """The request in a body. If a field is invalid, raises a `Refusal` that names it."""
    fields = body if isinstance(body, dict) else {}
    model, messages = fields.get("model"), fields.get("messages")
    if not isinstance(model, str) or not model:
        raise make_field_refusal("model", "the name of a model, such as concat_pf; GET /v1/models lists the models")
    if not isinstance(messages, list) or not 0 < len(messages) <= MAX_MESSAGES:
        raise make_field_refusal("messages", f"a list of 1 to {MAX_MESSAGES} messages")
    if fields.get("n") not in (None, 1):
        raise make_field_refusal(
            "n", "1: a method gives one answer (to sample the model more often, set samples in the field quorum)"
        )
    quorum_fields, options = fields.get("quorum"), fields.get("stream_options")
    quorum_fields, options = ({} if quorum_fields is None else quorum_fields), ({} if options is None else options)
    if not isinstance(quorum_fields, dict):
        raise make_field_refusal("quorum", "an object of settings")
    if not isinstance(options, dict):
        raise make_field_refusal("stream_options", "an object")
    return ChatRequest(
        model=model,
        messages=read_messages(messages),
        settings={str(name): value for name, value in quorum_fields.items() if name not in QUORUM_FLAGS},
        is_streamed=fields.get("stream") is True,
        wants_usage=options.get("include_usage") is True,
        wants_sources=quorum_fields.get("sources") is not False,
        reads_history=quorum_fields.get("history") is not False,
    )


def read_messages(values: Sequence[Any]) -> tuple[Message, ...]:
    """The messages of a chat. Pictures and files of earlier turns are left out: the chat window sends them again with
    every question. In the last user message, which is the question, they are refused.
    """
    roles = [value.get("role") if isinstance(value, dict) else None for value in values]
    last = max((index for index, role in enumerate(roles) if role == "user"), default=-1)
    return tuple(read_message(value, is_question=index == last) for index, value in enumerate(values))


def read_message(value: Any, *, is_question: bool) -> Message:
    """A message whose content is a text, a list of parts, or empty (for example if an assistant called a tool)."""
    fields = value if isinstance(value, dict) else {}
    role, content = fields.get("role"), fields.get("content")
    if not isinstance(role, str):
        raise make_field_refusal("messages", "messages with a role and a content")
    if isinstance(content, list):
        texts = [read_part(part, is_question=is_question) for part in content]
        content = "\n".join(text for text in texts if text is not None)
    if not (content is None or isinstance(content, str)):
        raise make_field_refusal("messages", "messages whose content is a text or a list of parts")
    return Message(role, (content or "").encode("utf-8", "replace").decode())  # lone surrogates become "?"


def read_part(value: Any, *, is_question: bool) -> str | None:
    """The text of one part of a message; None for a part without text, such as a picture or a file. Raises `Refusal` if
    such a part is in the question.
    """
    fields = value if isinstance(value, dict) else {}
    if isinstance(fields.get("text"), str):
        return str(fields["text"])
    if is_question:
        raise Refusal(400, "The question has a part without text, such as a picture; send only text.", param="messages")
    return None


def make_field_refusal(name: str, expected: str) -> Refusal:
    """The refusal of an invalid field. expected: what the field should contain."""
    return Refusal(400, f"The field {name!r} does not fit; expected {expected}.", "invalid_value", param=name)
