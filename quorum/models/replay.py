"""Passes a stored reply through LangChain's callbacks, so that traces and streams show it like the reply of a call."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from quorum.models.journal_database import Record
from quorum.models.tools import read_tool_calls


def make_tool_calls(record: Record) -> list[dict[str, Any]]:
    """The calls of tools in a record, as a message has them; those whose arguments are no JSON object have none."""
    return [
        {"id": f"call{number}", "name": call.name, "args": dict(call.arguments or {})}
        for number, call in enumerate(read_tool_calls(record.tool_calls_json))
    ]


class Replay(BaseChatModel):
    """A model that replies with one stored record."""

    record: Record

    @property
    def _llm_type(self) -> str:
        return "stored"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        input_tokens, output_tokens = self.record.input_tokens, self.record.output_tokens
        message = AIMessage(
            self.record.text,
            tool_calls=make_tool_calls(self.record),
            additional_kwargs={"reasoning_content": self.record.reasoning} if self.record.reasoning else {},
            usage_metadata={
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "total_tokens": input_tokens + output_tokens,
            },
            response_metadata={"finish_reason": self.record.finish, "reused": True, "seconds": self.record.seconds},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)
