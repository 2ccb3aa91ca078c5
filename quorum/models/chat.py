"""Creates chat models by spec, once per event loop, and computes the identity of each."""

import asyncio
import os
import threading
from functools import lru_cache
from typing import Any

from langchain_core.language_models import BaseChatModel

from quorum.core.context import Context
from quorum.models.http_clients import make_http_clients
from quorum.models.loop_models import get_model_of_loop
from quorum.models.loops import LoopCache, get_loop_cache
from quorum.models.model_spec import Spec, get_openai_access, hide_login, make_client_or_explain, read_spec
from quorum.models.pretrained import fingerprint_model

CREATION_LOCK = threading.Lock()


def chat_model(spec: str | BaseChatModel, context: Context | None = None) -> BaseChatModel:
    """The chat model of a spec: "embedded", "scripted", "transformers:PATH", "openai:NAME" or "provider:name"; for
    "api:NAME" a server's reranker in this form. A model object is returned unchanged.

    Clients do not retry, because `quorum.models.call` does. OpenAI's client reports token counts even when it streams.
    Within one event loop, equal specs with equal settings give the same client. Raises `SetupError` for a spec
    that cannot be used.
    """
    if not isinstance(spec, str):
        return spec
    parsed_spec, context = read_spec(spec), context or Context()
    try:
        loop_cache = get_loop_cache()
    except RuntimeError:  # no event loop: the client is not shared
        return make_chat(parsed_spec, context, None)
    return loop_cache.get_or_make(
        make_client_key(parsed_spec, context), lambda: make_chat(parsed_spec, context, loop_cache)
    )


async def chat_model_async(spec: str | BaseChatModel, context: Context) -> BaseChatModel:
    """Like `chat_model`, but a thread imports modules and reads TLS certificates, so the event loop is not blocked. A
    model object of langchain-openai gets a client of this event loop.
    """
    if not isinstance(spec, str):
        return await get_model_of_loop(spec, context.timeout)
    parsed_spec, loop_cache = read_spec(spec), get_loop_cache()
    key = make_client_key(parsed_spec, context)
    if key in loop_cache.entries:
        existing_model: BaseChatModel = loop_cache.entries[key]
        return existing_model
    async with loop_cache.get_or_make(("making", key), asyncio.Lock):
        if key not in loop_cache.entries:
            model = await asyncio.to_thread(make_chat, parsed_spec, context, loop_cache)
            loop_cache.get_or_make(key, lambda: model)
    cached_model: BaseChatModel = loop_cache.entries[key]
    return cached_model


def make_client_key(spec: Spec, context: Context) -> Any:
    """The key of a client in the cache of the event loop: the spec (which holds the server's address), the key in the
    environment if the provider is openai or api, and the timeout.
    """
    variable = {"openai": "OPENAI_API_KEY", "api": "QUORUM_RERANK_API_KEY"}.get(spec.provider)
    return ("chat", spec, os.environ.get(variable) if variable else None, context.timeout)


def make_chat(spec: Spec, context: Context, loop_cache: LoopCache | None) -> BaseChatModel:
    """The model of a spec: for "embedded", "scripted" and "transformers" the one that the process shares, else a new
    client. OpenAI's client is closed with the event loop that `loop_cache` belongs to; without a `loop_cache` nothing
    closes it.
    """
    if spec.provider in ("embedded", "scripted"):
        with CREATION_LOCK:
            return get_embedded_model() if spec.provider == "embedded" else get_scripted_model()
    if spec.provider == "transformers":
        with CREATION_LOCK:
            return get_local_model(spec.name, fingerprint_model(spec.name))
    if spec.provider == "api":
        from quorum.models.rerank_model import make_rerank_model

        return make_rerank_model(spec, context.timeout, loop_cache)
    options: dict[str, Any] = {"max_retries": 0, "timeout": context.timeout}
    if spec.provider == "openai":
        options |= get_openai_access(spec) | {"stream_usage": True}
        options |= make_http_clients(context.timeout, loop_cache, spec.base_url)

    def make_client_model() -> BaseChatModel:
        if spec.provider == "openai":
            from quorum.models.openai_chat import OpenAIChat

            return OpenAIChat.make(spec.name, options)
        from langchain.chat_models import init_chat_model

        model: BaseChatModel = init_chat_model(spec.name, model_provider=spec.provider, **options)
        return model

    return make_client_or_explain(spec, make_client_model)


@lru_cache(1)
def get_embedded_model() -> BaseChatModel:
    """The embedded reader, one per process."""
    from quorum.models.embedded.chat import EmbeddedReader

    return EmbeddedReader()


@lru_cache(2)
def get_local_model(folder: str, version: str) -> BaseChatModel:
    """The model in a folder. Loads it, unless it is one of the two models that the process used last.

    version: the folder's fingerprint. It is only a key of the cache: a folder that changes is loaded again.
    """
    from quorum.models.transformers_chat import TransformersModel

    return TransformersModel(folder=folder)


@lru_cache(1)
def get_scripted_model() -> BaseChatModel:
    """The scripted model of this process."""
    from quorum.models.scripted import ScriptedModel

    return ScriptedModel()


def get_model_identity(model: str | BaseChatModel, context: Context | None = None) -> dict[str, Any] | None:
    """What identifies this model, for the journal's keys and for an evaluation's configuration.

    The identity is {"provider", "base_url", "model"}. For the embedded reader, "model" is the name that
    `get_reader_name` makes from its weights, calibration and code. For a folder of the transformers library it is the
    hash of the weights that quorum.json states; if the folder has no quorum.json, a hash of its path and of its files'
    names, sizes and times. Returns None for a model without a stable identity: the scripted model, or an object made by
    the caller (except a plain embedded reader). The context is not used.
    """
    if isinstance(model, str):
        spec = read_spec(model)
        if spec.provider == "scripted":
            return None
        if spec.provider == "transformers":
            return {"provider": "transformers", "base_url": None, "model": fingerprint_model(spec.name)}
        if spec.provider != "embedded":
            url = hide_login(spec.base_url) if spec.base_url else None
            return {"provider": spec.provider, "base_url": url, "model": spec.name}
    elif not is_plain_reader(model):
        return None
    from quorum.models.embedded import get_reader_name

    return {"provider": "embedded", "base_url": None, "model": get_reader_name()}


async def get_model_identity_async(model: str | BaseChatModel, context: Context | None = None) -> dict[str, Any] | None:
    """Like `get_model_identity`, but a thread reads the model's files, so the event loop is not blocked."""
    if needs_files(model):
        return await asyncio.to_thread(get_model_identity, model, context)
    return get_model_identity(model, context)


def needs_files(model: str | BaseChatModel) -> bool:
    """Whether `get_model_identity` reads the disk: for a model of the transformers library, and once for the embedded
    reader.
    """
    provider = read_spec(model).provider if isinstance(model, str) else "embedded" if is_plain_reader(model) else ""
    if provider != "embedded":
        return provider == "transformers"
    from quorum.models.embedded import get_reader_name

    return get_reader_name.cache_info().currsize == 0


def is_plain_reader(model: BaseChatModel) -> bool:
    """Whether the object is the embedded reader with its default sampling settings, so that `get_model_identity`
    describes it.
    """
    is_reader = (type(model).__module__, type(model).__name__) == ("quorum.models.embedded.chat", "EmbeddedReader")
    return is_reader and (getattr(model, "temperature", None), getattr(model, "top_p", None)) == (0, 1)
