"""Calls chat models by the OpenAI protocol: keeps fields that LangChain's client drops, and checks every reply.

`ChatOpenAI` drops fields that OpenAI does not have, such as the reasoning that vLLM, llama.cpp and DeepSeek send beside
the answer; LangChain's documentation says that a subclass must read them. So `OpenAIChat` overrides two methods of
langchain-openai that are not public, as LangChain's own packages for other servers do; a test names the version for
which this was tried (docs/dependencies.md). A response with status 200 either
becomes a reply or raises `GarbledReply`; then `quorum.models.send_request` sends the request again.

A reply may stand in the field of the reasoning alone: vLLM's reasoning parsers put it there if the model does not
think. Such a reply is read as if it stood in the content.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import model_validator

from quorum.core.json_text import replace_lone_surrogates
from quorum.models.done_mark import AWAITED_MARK, DoneMark
from quorum.models.failures import CutStream, GarbledReply, UnreadableMessage
from quorum.models.openai_tool_calls import StreamedCalls, keep_tool_calls, list_functions
from quorum.models.stream_ends import COMPLETE, EMPTY_REPLY_REASONS, STREAM_ENDED
from quorum.models.token_counts import clean_usage

# The two names that servers use for the field with the reasoning. Quorum reads both fields, and stores the reasoning
# under the first name.
REASONING_FIELDS = ("reasoning_content", "reasoning")
CALL_PIECES = "quorum_call_pieces"  # where a piece of a stream holds pieces of calls until `StreamedReply` takes them


class OpenAIChat(ChatOpenAI):
    """`ChatOpenAI` that keeps the reasoning, in `additional_kwargs["reasoning_content"]`, and checks every reply."""

    @classmethod
    def make(cls, name: str, options: Mapping[str, Any]) -> Self:
        """The client of a model. options: of `ChatOpenAI`, with HTTP clients.

        langchain-openai gets no socket options: it would warn that they switch proxies off, but our clients have none.
        """
        quiet: dict[str, Any] = {"http_socket_options": ()} if "http_socket_options" in cls.model_fields else {}
        return cls(model=name, **options, **quiet)

    @model_validator(mode="after")
    def read_chunks_as_dictionaries(self) -> Self:
        """Take the chunks of streams out of OpenAI's classes, as `PlainCompletions` does."""
        if not isinstance(self.async_client, PlainCompletions):
            self.async_client = PlainCompletions(self.async_client)
        return self

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Like the method of `ChatOpenAI`. Raises CutStream at the end of a stream that does not say that it is whole:
        it has neither a finish reason nor the event [DONE].
        """
        mark, reply = DoneMark(), StreamedReply()
        AWAITED_MARK.set(mark)
        chunks: Any = super()._astream(messages, stop, run_manager=run_manager, **kwargs)
        try:
            async for chunk in chunks:
                reply.add(chunk)
                yield chunk
        finally:
            AWAITED_MARK.set(None)
            await chunks.aclose()
        for chunk in reply.list_last_chunks(is_done=mark.is_seen):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> ChatResult:
        body = response.model_dump(warnings=False) if isinstance(response, openai.BaseModel) else response
        if not isinstance(body, dict) or body.get("error"):
            # LangChain's method raises the server's error. If the body is no object, the method fails with another
            # exception, and the reply counts as garbled.
            return super()._create_chat_result(body, generation_info)
        choice = check_choice(body)
        result = super()._create_chat_result(
            body | {"choices": [choice], "usage": clean_usage(body.get("usage"))}, generation_info
        )
        keep_reasoning(result.generations[0].message, choice["message"])
        if choice["finish_reason"] not in EMPTY_REPLY_REASONS:
            keep_tool_calls(result.generations[0].message, body["choices"][0]["message"])
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        delta: dict[str, Any] = {}
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
            server_delta = choices[0].get("delta")
            if isinstance(server_delta, Mapping):
                delta = {**server_delta, "content": get_text(server_delta.get("content"))}
                if delta["content"] is None and isinstance(delta.get("refusal"), str):
                    delta["content"] = delta["refusal"]
                chunk = chunk | {"choices": [{**choices[0], "delta": {**delta, "tool_calls": None}}]}
        generation_chunk: ChatGenerationChunk | None = super()._convert_chunk_to_generation_chunk(
            chunk | {"usage": clean_usage(chunk.get("usage"))}, default_chunk_class, base_generation_info
        )
        if generation_chunk is not None:
            # LangChain sets model_provider only in chunks with a choice. It is set in every chunk here:
            # `send_request.make_record` needs it to refuse a stream that has no choice at all.
            generation_chunk.message.response_metadata["model_provider"] = "openai"
            keep_reasoning(generation_chunk.message, delta)
            if delta.get("tool_calls"):
                generation_chunk.message.additional_kwargs[CALL_PIECES] = delta["tool_calls"]
        return generation_chunk


class PlainCompletions:
    """OpenAI's client of chat completions, whose streams give dictionaries, which LangChain takes as they are.

    LangChain would make dictionaries of the chunks itself, and Pydantic would warn of every chunk that differs from
    OpenAI's. Such chunks are read here.
    """

    def __init__(self, completions: Any) -> None:
        self.completions = completions

    def __getattr__(self, name: str) -> Any:
        return getattr(self.completions, name)

    async def create(self, **payload: Any) -> Any:
        response = await self.completions.create(**payload)
        return PlainChunks(response) if payload.get("stream") else response


class PlainChunks:
    """A stream whose chunks are dictionaries."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    async def __aenter__(self) -> Self:
        await self.stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.stream.__aexit__(*error)

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        async for chunk in self.stream:
            yield chunk.model_dump(warnings=False) if isinstance(chunk, openai.BaseModel) else chunk


@dataclass
class StreamedReply:
    """What has come of a streamed reply.

    finish: the finish reason, or what stands for it in OpenAI's Responses API. has_tool_calls: the model calls a tool;
    calls: those of the chat protocol, which come in one piece at the end of the stream.
    """

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish: str | None = None
    has_tool_calls: bool = False
    calls: StreamedCalls = field(default_factory=StreamedCalls)

    def add(self, chunk: ChatGenerationChunk) -> None:
        """Read the next piece. A finish reason that is sent again is removed: LangChain would join both."""
        message, details = chunk.message, chunk.generation_info or {}
        finish = details.get("finish_reason") or message.response_metadata.get("status")
        if finish and self.finish:
            for name in ("finish_reason", "model_name", "system_fingerprint", "service_tier"):
                details.pop(name, None)
        elif finish:
            self.finish = str(finish)
            message.response_metadata[STREAM_ENDED] = True
        self.texts.append(chunk.text)
        self.reasoning.append(str(message.additional_kwargs.get("reasoning_content") or ""))
        self.calls.add({"tool_calls": message.additional_kwargs.pop(CALL_PIECES, None)})
        has_calls = bool(self.calls.calls or getattr(message, "tool_call_chunks", None))
        self.has_tool_calls = self.has_tool_calls or has_calls

    def list_last_chunks(self, *, is_done: bool) -> list[ChatGenerationChunk]:
        """The pieces to add at the end of the stream: the reasoning if it is all there is, and COMPLETE if the server
        gave no reason. is_done: the stream has ended with [DONE]. Raises CutStream if the stream was cut.
        """
        text, reasoning = "".join(self.texts), "".join(self.reasoning)
        details: dict[str, Any] = {"model_provider": "openai"}
        if self.finish is None and not is_done:
            raise CutStream(AIMessage(text, response_metadata=details))
        is_reply_in_reasoning = not self.has_tool_calls and not text.strip() and bool(reasoning.strip())
        content = reasoning if is_reply_in_reasoning and self.finish not in EMPTY_REPLY_REASONS else ""
        if self.finish is None:
            details |= {"finish_reason": COMPLETE, STREAM_ENDED: True}
        elif not content and not self.calls.calls:
            return []
        message = AIMessageChunk(content=content, response_metadata=details, tool_call_chunks=self.calls.make_chunks())
        return [ChatGenerationChunk(message=message)]


def check_choice(body: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice of a completion, with its content as text. Raises GarbledReply if it holds no reply."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise GarbledReply("it holds no choice")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise GarbledReply("its choice holds no message")
    content, finish = get_text(message.get("content")), choices[0].get("finish_reason")
    if content is None:
        content = message.get("refusal") if isinstance(message.get("refusal"), str) else None
    if not (content or "").strip() and not message.get("tool_calls") and finish not in EMPTY_REPLY_REASONS:
        content = find_reasoning(message) or content
    if content is None:
        if finish not in EMPTY_REPLY_REASONS and not any(list_functions(message)):
            raise UnreadableMessage(
                "it calls a tool and says nothing" if message.get("tool_calls") else "it has no content"
            )
        content = ""
    return {
        "finish_reason": finish if finish and isinstance(finish, str) else COMPLETE,
        "message": {**message, "role": "assistant", "content": replace_lone_surrogates(content), "tool_calls": None},
    }


def get_text(content: Any) -> str | None:
    """The text of a message: a string, or the text parts of a list; None for null. Anything else is a GarbledReply."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [
            part if isinstance(part, str) else part["text"]
            for part in content
            if isinstance(part, str) or (isinstance(part, Mapping) and isinstance(part.get("text"), str))
        ]
        if parts:
            return "".join(parts)
    raise UnreadableMessage(f"its content is {describe_type(content)}")


def describe_type(value: Any) -> str:
    """The type of a value in words, such as 'a number'."""
    if isinstance(value, list):
        return "a list without text"
    return "an object" if isinstance(value, Mapping) else "true or false" if isinstance(value, bool) else "a number"


def find_reasoning(server_message: Mapping[str, Any]) -> str | None:
    """The reasoning in a message, or in a piece of one; None if there is none."""
    texts = (server_message.get(name) for name in REASONING_FIELDS)
    return next((text for text in texts if isinstance(text, str) and text), None)


def keep_reasoning(message: Any, server_message: Mapping[str, Any]) -> None:
    """Store the server's reasoning, if any, in `additional_kwargs["reasoning_content"]`, as LangChain's clients of
    DeepSeek and others do.
    """
    reasoning = find_reasoning(server_message)
    if reasoning and isinstance(message, AIMessage):
        message.additional_kwargs["reasoning_content"] = replace_lone_surrogates(reasoning)
