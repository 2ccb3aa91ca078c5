"""Reports errors in OpenAI's format, without the server's paths, addresses and keys."""

import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse

from quorum.core.context import Context
from quorum.core.errors import CallError, QuorumError, TooLong
from quorum.models.tracing import copy_without_secrets

FILE_PATH = re.compile(r"(?<![\w.:/])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.@%+~-]+(?:[/\\][\w.@%+~-]*)*")
URL_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>)\]]*[^\s'\"<>)\].,:;!?]")
# After the name of a model, embeddings or a scorer, which says to a client which server is meant.
ADDRESS_OF_NAMED = re.compile(rf"(?<=['\w)]) at {URL_ADDRESS.pattern}")
# After the quoted name, the message lists the other collections, which a client must not see.
MISSING_COLLECTION = re.compile(r"(There is no collection '[^']*').*")
COLLECTION_NAMES = re.compile(r" \([^()]*\)(?=; choose one with --collection)")
# OpenAI's clients must not retry: Quorum itself has already retried a failed call, and another request would meet the
# same spending limit or the same internal error.
NO_RETRY_HEADERS = {"x-should-retry": "false"}
INTERNAL_ERROR = 500


class BudgetSpentError(QuorumError):
    """A call that is not sent, because it could cost more than the client may still spend today."""


@dataclass
class Refusal(Exception):  # noqa: N818  named for what the client gets
    """Why a request is refused, or why it failed.

    status: the HTTP status. message: one sentence that the client may read. code, kind: the `code` and the `type` of
    OpenAI's error format. param: the name of the request's field that is wrong, if one is. headers: of the response.
    """

    status: int
    message: str
    code: str | None = None
    kind: str = "invalid_request_error"
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The error in OpenAI's format."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def respond(self) -> JSONResponse:
        """The HTTP response."""
        return JSONResponse(self.body, self.status, dict(self.headers))


def explain_failure(error: BaseException, context: Context, request_id: str) -> Refusal:
    """The refusal that the client gets if a run failed with this error.

    The error's full message, without secrets, is printed on the server's terminal, with the request's id. For an
    unexpected error, the traceback is printed as well, without secrets, too.
    """
    refusal = find_refusal(error, context, request_id)
    print(
        f"quorum: request {request_id}: {' '.join(str(copy_without_secrets(str(error), hide_passages=False)).split())}",
        file=sys.stderr,
    )
    if refusal.status == INTERNAL_ERROR:
        full_traceback = "".join(traceback.format_exception(error))
        print(copy_without_secrets(full_traceback, hide_passages=False), end="", file=sys.stderr)
    return refusal


def find_refusal(error: BaseException, context: Context, request_id: str) -> Refusal:
    """The refusal that belongs to an error; a refusal is its own."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TooLong):
        return Refusal(400, hide_paths(str(error), context), "context_length_exceeded")
    if isinstance(error, CallError):
        return Refusal(502, hide_paths(str(error), context), "model_call_failed", "api_error", headers=NO_RETRY_HEADERS)
    if isinstance(error, BudgetSpentError):
        return Refusal(429, str(error), "insufficient_quota", "insufficient_quota", headers=NO_RETRY_HEADERS)
    if isinstance(error, QuorumError):
        return Refusal(400, hide_paths(str(error), context), "setup")
    message = (
        f"Something in Quorum failed ({type(error).__name__}); the server's terminal shows the full error under the "
        f"request id {request_id}."
    )
    return Refusal(INTERNAL_ERROR, message, "internal_error", "server_error", headers=NO_RETRY_HEADERS)


def hide_paths(text: str, context: Context) -> str:
    """The text on one line, without secrets and names of other collections; [hidden] replaces the server's paths and
    addresses. Where "at ADDRESS" follows a name, the name is enough.

    >>> hide_paths("The model 'openai:gpt-4o' at http://10.0.0.1:80/v1 does not answer.", Context())
    "The model 'openai:gpt-4o' does not answer."
    """
    message = MISSING_COLLECTION.sub(r"\1.", " ".join(str(copy_without_secrets(text, hide_passages=False)).split()))
    message = COLLECTION_NAMES.sub("", message)
    setting_values = (context.store, context.journal, context.examples, context.prompts)
    for path in sorted(
        (item for item in setting_values if isinstance(item, str) and item != "off"), key=len, reverse=True
    ):
        message = message.replace(path, "[hidden]")
    return FILE_PATH.sub("[hidden]", URL_ADDRESS.sub("[hidden]", ADDRESS_OF_NAMED.sub("", message)))
