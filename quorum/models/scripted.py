"""A chat model with prepared replies, for tests of code that asks a model."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from quorum.models.messages import write_message
from quorum.models.token_estimate import estimate_tokens

ScriptedReply = str | AIMessage | Exception
Replier = Callable[[list[BaseMessage]], str | AIMessage]


class NoReplyError(AssertionError):
    """The script has no reply left for a call."""


@dataclass(frozen=True)
class RecordedCall:
    """A call that a `ScriptedModel` received.

    prompt_name: the name of the prompt ("answer"). call_subject: what the call is about ("passage 2"); may be empty.
    messages: what was sent. parameters: the decoding parameters and, if tools were offered, these (`tools`) and the
    `tool_choice`.
    """

    prompt_name: str
    call_subject: str
    messages: list[BaseMessage]
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """The call's name in a trace: "answer: passage 2"."""
        return f"{self.prompt_name}: {self.call_subject}" if self.call_subject else self.prompt_name

    @property
    def text(self) -> str:
        """The last message."""
        return str(self.messages[-1].text)


class ScriptedModel(BaseChatModel):
    """A chat model that replies from a script.

    `on("answer", ...)` and `on("answer: passage 2", ...)` script one prompt or one call by its name, so that parallel
    calls are deterministic. Every other call takes the next reply of `enqueue(...)`. Each reply is used once. It is a
    text, or an `AIMessage`, which may call tools; an exception among the replies is raised. Instead of replies, `on`
    can take a function of the messages, which replies to every call of that name. A call without a reply raises
    `NoReplyError`, which names the prompt.
    """

    _queue: deque[ScriptedReply] = PrivateAttr(default_factory=deque)
    _scripts: dict[str, deque[ScriptedReply] | Replier] = PrivateAttr(default_factory=dict)
    _history: list[RecordedCall] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def history(self) -> list[RecordedCall]:
        """All recorded calls, in order."""
        return self._history

    def enqueue(self, *replies: ScriptedReply) -> "ScriptedModel":
        """Add replies for calls without a script of their own; each is used once."""
        self._queue.extend(replies)
        return self

    def on(self, name: str, *replies: ScriptedReply | Replier) -> "ScriptedModel":
        """Add replies for the calls of that name, or set a function of the messages that replies to all of them.

        name: a prompt ("answer"), or one call of a prompt ("answer: passage 2").
        """
        first = replies[0] if replies else None
        if callable(first):
            self._scripts[name] = first
            return self
        queue = self._scripts.get(name)
        if not isinstance(queue, deque):
            queue = self._scripts[name] = deque()
        queue.extend(reply for reply in replies if not callable(reply))
        return self

    def _take_reply(
        self, messages: list[BaseMessage], metadata: dict[str, Any], parameters: dict[str, Any]
    ) -> str | AIMessage:
        """Record the call and take its reply."""
        recorded_call = RecordedCall(
            metadata.get("prompt") or "", metadata.get("prompt_detail") or "", messages, parameters
        )
        self._history.append(recorded_call)
        script = self._scripts.get(recorded_call.name, self._scripts.get(recorded_call.prompt_name, self._queue))
        if callable(script):
            return script(messages)
        if not script:
            raise NoReplyError(
                f"No scripted reply is left for prompt {recorded_call.name!r} (call {len(self._history)}): "
                f"{recorded_call.text}"
            )
        reply = script.popleft()
        if isinstance(reply, Exception):
            raise reply
        return reply

    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> Runnable[Any, AIMessage]:
        """The model with tools, which it may call by a reply that is an `AIMessage`."""
        return self.bind(tools=list(tools), **settings)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return make_result(messages, self._take_reply(messages, run_manager.metadata if run_manager else {}, kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._take_reply(messages, run_manager.metadata if run_manager else {}, kwargs)
        await asyncio.sleep(0)  # so that concurrent calls overlap, as real ones do
        return make_result(messages, reply)


def make_result(messages: list[BaseMessage], reply: str | AIMessage) -> ChatResult:
    """The result of a call: the reply, with estimated token counts."""
    message = AIMessage(reply) if isinstance(reply, str) else reply
    input_tokens = sum(estimate_tokens(write_message(message)) for message in messages)
    output_tokens = estimate_tokens(write_message(message))
    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": input_tokens + output_tokens}
    message = message.model_copy(update={"usage_metadata": usage, "response_metadata": {"finish_reason": "stop"}})
    return ChatResult(generations=[ChatGeneration(message=message)])
