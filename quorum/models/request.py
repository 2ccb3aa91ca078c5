"""A request to a model, as `quorum.models.send_request` sends it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from quorum.core.context import Context
from quorum.models.clock import Clock
from quorum.models.messages import get_text_or_content


@dataclass(frozen=True)
class Request:
    """What is sent to one model: messages, mostly one human message, and the tools that the model may call.

    model_label: the model's name in logs and errors; name: the call's name in traces and errors, such as "answer:
    passage 2"; tools: in the form of the OpenAI protocol; tool_choice: None (the model may call tools) or "none" (it
    may not, although they are offered); decoding: parameters such as the temperature; is_given_by_spec: whether the
    user named the model, such as "openai:qwen3", and did not give a model object; schema: the JSON schema that the
    reply must fit, for models that take one. server: the server's address, without a login; the model's label if it is
    not known. limits_name: names the model and its server; calls under one name share the limits (see
    `quorum.models.limits`).
    """

    model: BaseChatModel
    model_label: str
    name: str
    messages: tuple[BaseMessage, ...]
    decoding: dict[str, Any]
    context: Context
    config: RunnableConfig
    clock: Clock
    is_given_by_spec: bool = True
    schema: Mapping[str, Any] | None = None
    server: str = ""
    limits_name: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | None = None

    @property
    def content(self) -> str | dict[str, Any]:
        """What identifies the messages and tools in the journal (`quorum.models.messages.get_text_or_content`)."""
        return get_text_or_content(self.messages, self.tools, self.tool_choice)

    @cached_property
    def is_in_process(self) -> bool:
        """Whether the model runs in this process.

        The embedded reader has the attribute reads_prompt_inputs, models of the transformers library have in_process.
        """
        return any(getattr(self.model, attribute, False) for attribute in ("reads_prompt_inputs", "in_process"))


class SchemaRefused(Exception):  # noqa: N818  the name says it without "Error"
    """The server refused a request with a JSON schema; it may accept the request without the schema."""
