"""Asks a server of OpenAI's protocol which models it has."""

import asyncio

from quorum.core.errors import SetupError
from quorum.models.http_clients import make_http_clients
from quorum.models.model_spec import Spec, get_openai_access, hide_login

SECONDS = 10.0  # until the server must have answered
MOST_MODELS = 1000


async def list_openai_models(spec: Spec) -> list[str]:
    """The names of the models of the server that a spec's model is on, sorted, MOST_MODELS at most.

    Raises SetupError if there is no key, or if the server does not list its models.
    """
    import openai

    access = get_openai_access(spec)
    http_client = make_http_clients(SECONDS, None)["http_async_client"]
    client = openai.AsyncOpenAI(**access, timeout=SECONDS, max_retries=0, http_client=http_client)
    try:
        async with asyncio.timeout(SECONDS), client:
            page = await client.models.list()
            names = {str(model.id) for model in page.data if getattr(model, "id", None)}
    except (openai.OpenAIError, TimeoutError, AttributeError, TypeError, ValueError) as error:
        raise SetupError(
            f"The server of {spec.text!r} at {hide_login(spec.base_url or '')} does not list its models "
            f"({type(error).__name__}); name the model yourself, as openai:NAME."
        ) from None
    return sorted(names)[:MOST_MODELS]
