"""A user's own model object on several event loops."""

import asyncio
from contextlib import suppress

from langchain_core.language_models import BaseChatModel

from quorum.models.http_clients import make_http_clients
from quorum.models.loops import get_loop_cache

CLIENT_FIELDS = frozenset({"client", "async_client", "root_client", "root_async_client"})  # made with each object


async def get_model_of_loop(model: BaseChatModel, timeout: float) -> BaseChatModel:
    """The object for the running event loop: one that does not send a failed request again, because
    `quorum.models.call` does, and that has, for langchain-openai's classes, a client of this loop.

    The client that langchain-openai makes is one for all loops and keeps connections of earlier ones, so that the same
    object would fail in `asyncio.run` after `invoke`. An object with a client of the user's own keeps that.
    """
    needs_client = "http_async_client" in type(model).model_fields and getattr(model, "http_async_client", None) is None
    if not needs_client and not retries(model):
        return model
    loop_cache, key = get_loop_cache(), ("model object", id(model))
    async with loop_cache.get_or_make(("making", key), asyncio.Lock):
        if key not in loop_cache.entries:
            clients = {}
            if needs_client:
                url = getattr(model, "openai_api_base", None)
                clients = await asyncio.to_thread(make_http_clients, timeout, loop_cache, url)
            # The entry holds the object itself, too, so that no other object can get its id.
            loop_cache.entries[key] = (model, copy_model(model, clients.get("http_async_client")))
    copied_model: BaseChatModel = loop_cache.entries[key][1]
    return copied_model


def retries(model: BaseChatModel) -> bool:
    """Whether a model sends a failed request again itself, as the field max_retries of most providers' classes says;
    None there means a number of the provider's.
    """
    return "max_retries" in type(model).model_fields and getattr(model, "max_retries", 0) != 0


def copy_model(model: BaseChatModel, client: object | None) -> BaseChatModel:
    """A model with the same parameters that does not retry, and with another HTTP client if one is given. A model whose
    class cannot be called with its own parameters is returned as it is.
    """
    parameters = {name: getattr(model, name) for name in model.model_fields_set - CLIENT_FIELDS}
    changes: dict[str, object] = {"max_retries": 0} if retries(model) else {}
    if client is not None:
        changes |= {"http_async_client": client}
    if "http_socket_options" in type(model).model_fields:  # else langchain-openai warns of proxies
        changes |= {"http_socket_options": ()}
    if client is not None:
        return type(model)(**{**parameters, **changes})
    with suppress(Exception):  # a class of another package, perhaps with parameters of its own
        return type(model)(**{**parameters, **changes})
    return model
