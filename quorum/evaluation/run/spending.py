"""What an evaluation really spent: the calls that were made now, not those answered from the journal."""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult


class Spending(AsyncCallbackHandler):
    """Counts calls and tokens of the replies that are not stored ones."""

    def __init__(self) -> None:
        self.calls = self.input_tokens = self.output_tokens = 0

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        generation = response.generations[0][0]
        message: Any = generation.message if isinstance(generation, ChatGeneration) else None
        if message is None or message.response_metadata.get("stored"):
            return
        usage = message.usage_metadata or {}
        self.calls += 1
        self.input_tokens += usage.get("input_tokens", 0)
        self.output_tokens += usage.get("output_tokens", 0)
