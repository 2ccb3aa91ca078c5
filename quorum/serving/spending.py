"""Counts the model calls that a run has made so far, also if the run fails or is stopped."""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from quorum.core.state import Usage, merge_usage
from quorum.evaluation.callbacks import read_usage
from quorum.models.token_counts import get_cached_tokens


class Spending(AsyncCallbackHandler):
    """Adds up the usage of the calls that have ended, by prompt name. Stored replies cost nothing and are left out."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        self.prompt_of_call: dict[UUID, str] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        call_metadata = metadata or {}
        if not call_metadata.get("reused"):
            self.prompt_of_call[run_id] = str(call_metadata.get("prompt") or "call")

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        prompt = self.prompt_of_call.pop(run_id, None)
        if prompt is None:
            return
        token_counts = read_usage(response)
        call_usage = Usage(
            calls=1,
            input_tokens=token_counts.get("input_tokens", 0),
            output_tokens=token_counts.get("output_tokens", 0),
            cached_tokens=get_cached_tokens(token_counts),
        )
        self.usage = merge_usage(self.usage, {prompt: call_usage})
