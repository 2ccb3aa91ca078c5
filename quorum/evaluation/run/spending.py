"""Counts an evaluation's actual spending: calls made now, not replies from the journal."""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.outputs import LLMResult

from quorum.evaluation.callbacks import is_stored, message_of, usage_of


class Spending(AsyncCallbackHandler):
    """Counts calls and tokens of the replies that are not stored ones."""

    def __init__(self) -> None:
        self.calls = self.input_tokens = self.output_tokens = 0

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        if message_of(response) is None or is_stored(response):
            return
        usage = usage_of(response)
        self.calls += 1
        self.input_tokens += usage.get("input_tokens", 0)
        self.output_tokens += usage.get("output_tokens", 0)
