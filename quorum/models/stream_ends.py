"""How a reply of the OpenAI protocol ends, and whether a reply whose end is missing may be taken.

A stream is whole if it has a finish reason or ends with the event [DONE]. One with neither was cut: by a proxy, say,
whose model server died. Its request is sent again. Servers that never send either exist as well: if a server has never
sent one in this run, and the second stream of a call has none either, this stream is taken, but it is not journaled.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from quorum.models.failures import CutStream
from quorum.models.loops import get_loop_cache
from quorum.models.parameters import speaks_openai
from quorum.models.request import Request

LOG = logging.getLogger("quorum")
COMPLETE = "complete"  # stands for the finish reason of a whole reply whose server gives none
EMPTY_REPLY_REASONS = ("length", "max_tokens", "content_filter")  # finish reasons of a reply that may be empty
STREAM_ENDED = "stream_ended"  # in the metadata of a streamed reply: its server said that the reply is whole
FINISH_FIELDS = ("finish_reason", "stop_reason", "done_reason")


@dataclass
class StreamEnds:
    """What one server has sent at the end of its streams so far.

    are_marked: at least one stream had an end. is_cut_taken: a stream without an end was taken as a whole reply.
    """

    are_marked: bool = False
    is_cut_taken: bool = False


def find_finish(message: AIMessage) -> str | None:
    """Why the model stopped, in the server's words; COMPLETE if the reply is whole but gives no reason; None if no
    reason is known. In OpenAI's Responses API it is the reason of an incomplete reply, else the status.
    """
    details = message.response_metadata
    incomplete_details = details.get("incomplete_details")
    reasons = [details.get(name) for name in FINISH_FIELDS]
    if is_openai(details):
        if isinstance(incomplete_details, Mapping):
            reasons.append(incomplete_details.get("reason"))
        # LangChain gives a reply in one piece the key with the value None if the server gives no reason.
        reasons += [details.get("status"), COMPLETE if "finish_reason" in details else None]
    return next((str(reason) for reason in reasons if reason), None)


def is_openai(details: Mapping[str, Any]) -> bool:
    """Whether a reply's metadata say that it came by the OpenAI protocol."""
    return details.get("model_provider") == "openai"


def check_end(message: AIMessage) -> None:
    """Raise CutStream if a reply of the OpenAI protocol has a text and no end. `OpenAIChat` raises it itself; this is
    for clients made by the caller, which do not see [DONE].
    """
    if is_openai(message.response_metadata) and str(message.text) and find_finish(message) is None:
        raise CutStream(message)


def get_stream_ends(request: Request) -> StreamEnds:
    """What the server of this request has sent so far, in the running event loop."""
    stream_ends: StreamEnds = get_loop_cache().get_or_make(("stream ends", request.model_label), StreamEnds)
    return stream_ends


def note_stream_end(request: Request, message: AIMessage) -> None:
    """Remember that the server marks the end of its streams, if this reply is such a stream."""
    if message.response_metadata.get(STREAM_ENDED):
        get_stream_ends(request).are_marked = True


def take_cut_stream(request: Request, cut: CutStream, *, is_second: bool) -> AIMessage:
    """The text of a stream without an end, as a reply. Raises `cut` if the request should be sent again.

    is_second: an earlier stream of this call had no end either.
    """
    ends = get_stream_ends(request)
    if ends.are_marked or not cut.reply.text or not (is_second or ends.is_cut_taken):
        raise cut
    if not ends.is_cut_taken:
        ends.is_cut_taken = True
        LOG.warning(
            "%s ends its streams with neither a finish reason nor [DONE], so a reply that was cut cannot be told from "
            "a whole one. These replies are used, but the journal does not keep them.",
            request.model_label,
        )
    return cut.reply


def is_unfinished(request: Request, finish: str | None) -> bool:
    """Whether a reply with this finish reason may be a part of the reply: by the OpenAI protocol every whole reply has
    one. Such replies are never journaled, and those that older versions have journaled are asked for again.
    """
    return finish is None and speaks_openai(type(request.model))
