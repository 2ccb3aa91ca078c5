"""Notes the calls of MCP tools in the request log."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from quorum.serving.client import LOCAL
from quorum.serving.errors import INTERNAL_ERROR
from quorum.serving.log.record import CLIENT_LEFT, CURRENT_RECORD, RequestRecord
from quorum.serving.log.server_span import continue_trace


def noted(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """A method of `Tools`, whose calls are noted. It has the parameter `call`.

    Over HTTP the record is that of the call's request; over stdin and stdout it is one of its own, which ends with the
    call. A session's tools run in the context of its first request, so the record is set anew.
    """

    @wraps(tool)
    async def note(self: Any, *args: Any, **arguments: Any) -> Any:
        call, log = arguments["call"], self.service.log
        state = getattr(call.request_context.request, "state", None)
        request_record: RequestRecord | None = getattr(state, "record", None)
        record = request_record or RequestRecord(log.add, id=f"call_{call.request_id}")
        record.tool, record.client = tool.__name__, getattr(state, "client", LOCAL).name
        token = CURRENT_RECORD.set(record)
        try:
            with continue_trace(record.trace):
                return await tool(self, *args, **arguments)
        except asyncio.CancelledError:
            record.fail(CLIENT_LEFT, "client_left")
            raise
        except Exception:
            if not record.status:  # the tool itself has not noted why
                record.fail(INTERNAL_ERROR, "internal_error")
            raise
        finally:
            CURRENT_RECORD.reset(token)
            if request_record is None:
                record.end_response()

    return note
