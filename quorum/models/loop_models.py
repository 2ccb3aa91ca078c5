"""A user's own model object on several event loops."""

import asyncio

from langchain_core.language_models import BaseChatModel

from quorum.models.http_clients import make_http_clients
from quorum.models.loops import get_loop_cache

CLIENT_FIELDS = frozenset({"client", "async_client", "root_client", "root_async_client"})  # made with each object


async def get_model_of_loop(model: BaseChatModel, timeout: float) -> BaseChatModel:
    """The object for the running event loop: the model itself, or, for langchain-openai's, a copy with a client of this
    loop.

    The client that langchain-openai makes is one for all loops and keeps connections of earlier ones, so that the same
    object would fail in `asyncio.run` after `invoke`. An object with a client of the user's own stays as it is.
    """
    if "http_async_client" not in type(model).model_fields or getattr(model, "http_async_client", None) is not None:
        return model
    loop_cache, key = get_loop_cache(), ("model object", id(model))
    async with loop_cache.get_or_make(("making", key), asyncio.Lock):
        if key not in loop_cache.entries:
            client = (await asyncio.to_thread(make_http_clients, timeout, loop_cache))["http_async_client"]
            # The entry holds the object itself, too, so that no other object can get its id.
            loop_cache.entries[key] = (model, copy_with_client(model, client))
    copied_model: BaseChatModel = loop_cache.entries[key][1]
    return copied_model


def copy_with_client(model: BaseChatModel, client: object) -> BaseChatModel:
    """A model with the same parameters and another HTTP client."""
    parameters = {name: getattr(model, name) for name in model.model_fields_set - CLIENT_FIELDS}
    return type(model)(**{**parameters, "http_async_client": client})
