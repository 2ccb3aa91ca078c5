"""Prepares a call of a chat model: the request, and what identifies its replies in the journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from quorum.core.context import Context
from quorum.models.chat import chat_model_async, get_model_identity_async
from quorum.models.clock import Clock
from quorum.models.journal import make_key
from quorum.models.messages import make_messages
from quorum.models.model_spec import get_openai_url, hide_login
from quorum.models.parameters import SCHEMA_PARAMETER, speaks_openai
from quorum.models.request import Request
from quorum.models.trace_run import trace_run
from quorum.models.tracing import note_prompt


@dataclass(frozen=True)
class ReplyIdentity:
    """What identifies a reply, besides the request.

    The prompt's version is stored in the journal with the reply, but it is no part of the reply's key.

    model_identity: what `quorum.models.chat.get_model_identity` returns; None if nothing identifies the model in later
    runs. prompt_version: the hash of the prompt's text; inputs: the prompt's variables if the model is the embedded
    reader, else None; sample: the reply's number, from 0, if several independent replies are asked for.
    """

    model_identity: dict[str, Any] | None
    prompt_name: str
    prompt_version: str
    inputs: dict[str, Any] | None
    sample: int = 0

    def make_journal_key(self, request: Request) -> str | None:
        """The reply's key in the journal; None if the reply is not kept there, because its model has no identity."""
        if self.model_identity is None:
            return None
        decoding = request.decoding | ({} if request.schema is None else {SCHEMA_PARAMETER: request.schema})
        inputs = None if self.inputs is None else (self.inputs, self.prompt_name)
        return make_key(self.model_identity, decoding, request.content, inputs, self.sample)


async def make_request(
    prompt_name: str,
    content: str | Sequence[BaseMessage],
    context: Context,
    prompt_version: str,
    call_subject: str,
    inputs: Mapping[str, Any] | None,
    temperature: float | None,
    model: str | BaseChatModel | None,
    schema: Mapping[str, Any] | None,
    config: RunnableConfig | None,
    clock: Clock,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: str | None = None,
) -> tuple[Request, ReplyIdentity, str | BaseChatModel]:
    """(request, identity of its replies, model) of a call. The arguments are those of `call`; the model is the one that
    is asked: `model`, or the context's if `model` is None.
    """
    chosen_model = context.model if model is None else model
    client = await chat_model_async(chosen_model, context)
    reads_prompt_inputs = bool(getattr(client, "reads_prompt_inputs", False))
    model_identity = await get_model_identity_async(chosen_model, context)
    chosen_temperature = context.temperature if temperature is None else temperature
    name = f"{prompt_name}: {call_subject}" if call_subject else prompt_name
    metadata = {"prompt": prompt_name, "prompt_version": prompt_version, "prompt_detail": call_subject}
    note_prompt(prompt_name, prompt_version)
    label, server = make_label(chosen_model, model_identity), find_server(chosen_model, model_identity)
    request = Request(
        model=client,
        model_label=label,
        server=server or label,
        limits_name=name_limits(chosen_model, model_identity),
        name=name,
        messages=make_messages(content),
        decoding=make_decoding(context, chosen_temperature, made_by_caller=not isinstance(chosen_model, str)),
        context=context,
        config=merge_config(trace_run(config), {"run_name": name, "metadata": metadata}),
        clock=clock,
        is_given_by_spec=isinstance(chosen_model, str),
        schema=schema if speaks_openai(type(client)) else None,
        tools=tuple(tools),
        tool_choice=tool_choice,
    )
    reply_identity = ReplyIdentity(
        model_identity, prompt_name, prompt_version, dict(inputs or {}) if reads_prompt_inputs else None
    )
    return request, reply_identity, chosen_model


def merge_config(config: RunnableConfig | None, own_config: RunnableConfig) -> RunnableConfig:
    """The caller's config, if any, with the run name and the metadata of `own_config`."""
    return own_config if config is None else merge_configs(config, own_config)


def make_decoding(context: Context, temperature: float, *, made_by_caller: bool) -> dict[str, Any]:
    """The decoding parameters to send. None are sent at temperature 0 if the caller made the model object: the object's
    own parameters apply.
    """
    if temperature == 0:
        return {} if made_by_caller else {"temperature": 0.0}
    nucleus = {} if context.top_p == 1 else {"top_p": context.top_p}
    return {"temperature": temperature, "seed": context.seed} | nucleus


def is_greedy(model: str | BaseChatModel, temperature: float) -> bool:
    """Whether equal requests should get equal replies."""
    if isinstance(model, str):
        return temperature == 0 and model != "scripted"  # the scripted model may reply differently each time
    return temperature == 0 and getattr(model, "temperature", None) == 0


def make_label(model: str | BaseChatModel, model_identity: dict[str, Any] | None) -> str:
    """The model's name in logs and errors."""
    server = find_server(model, model_identity)
    address = f" at {server}" if server else ""
    if isinstance(model, str):
        return f"The model {model!r}{address}"
    return f"The model {type(model).__name__} ({getattr(model, 'model_name', None) or hex(id(model))}){address}"


def name_limits(model: str | BaseChatModel, model_identity: dict[str, Any] | None) -> str:
    """The name of a model's limits: its own and its server's, whether a spec or an object names them."""
    server = find_server(model, model_identity)
    if isinstance(model, str):
        return f"{(model_identity or {}).get('model') or model} at {server or model.partition(':')[0]}"
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    if server is None and speaks_openai(type(model)):
        server = hide_login(get_openai_url())
    return f"{name or hex(id(model))} at {server or type(model).__name__}"


def find_server(model: str | BaseChatModel, model_identity: dict[str, Any] | None) -> str | None:
    """The address of the model's server, without a login; None if it is not known."""
    if isinstance(model, str):
        address = model_identity["base_url"] if model_identity else None
        return None if address is None else str(address)
    base_url = getattr(model, "openai_api_base", None)
    return hide_login(base_url) if isinstance(base_url, str) else None
