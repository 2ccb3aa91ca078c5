"""A server's reranker in the form of a chat model, so that its requests go through the limits, retries, journal, traces
and spending of every model call.

The message is the JSON text of the query and the documents, the reply the JSON text of the server's response. The
protocol is the one that Jina, Cohere, vLLM, llama.cpp and Infinity share: POST BASE_URL/rerank with `model`, `query`,
`documents` and `top_n`, which replies with `results`, each with an `index` and a `relevance_score`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import SecretStr

from quorum.core.errors import SetupError
from quorum.core.redaction import redact_secrets
from quorum.core.sync import run_sync
from quorum.models.error_bodies import get_message
from quorum.models.failures import GarbledReply
from quorum.models.http_clients import make_http_clients
from quorum.models.loops import LoopCache
from quorum.models.model_spec import PLACEHOLDER_KEY, RERANK_URL_VARIABLE, Spec, hide_login, read_key
from quorum.models.token_counts import is_count

KEY_VARIABLE = "QUORUM_RERANK_API_KEY"
URL_FORMS = (
    f"set {RERANK_URL_VARIABLE} to what stands before /rerank: for vLLM, llama.cpp and Jina http://HOST:PORT/v1, for a "
    "server without a version in its address http://HOST:PORT"
)


class RerankModel(BaseChatModel):
    """Sends queries with documents to a server, and returns its response as text.

    name: the model's name at the server; base_url: the address before /rerank; client: OpenAI's client, which sends
    the requests.
    """

    rerank_model: str
    base_url: str
    api_key: SecretStr
    client: Any

    @property
    def _llm_type(self) -> str:
        return "api"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "api", "ls_model_name": self.rerank_model, "ls_model_type": "chat"}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return run_sync(self._agenerate(messages))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = await self.post({"model": self.rerank_model, **read_request(str(messages[-1].text), self.rerank_model)})
        usage = UsageMetadata(
            input_tokens=(tokens := read_tokens(json.loads(text))), output_tokens=0, total_tokens=tokens
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, usage_metadata=usage))])

    async def post(self, body: Mapping[str, Any]) -> str:
        """The server's response as JSON text. Raises `SetupError` if there is nothing at the address, GarbledReply for
        a response without a list of results, and the exceptions of OpenAI's client.
        """
        import openai

        from quorum.models.http_library import OPENAI_HTTP

        try:
            response = await self.client.post("/rerank", cast_to=OPENAI_HTTP.Response, body=body)
        except openai.NotFoundError as error:
            said = redact_secrets(" ".join(str(get_message(error)).split()))[:200]
            raise SetupError(
                f"There is no reranker 'api:{self.rerank_model}' at {hide_login(self.base_url)}/rerank (status 404: "
                f"{said}); check the model's name, or {URL_FORMS}."
            ) from None
        try:
            content = json.loads(response.text)
        except ValueError:
            content = None
        if not isinstance(content, dict) or not isinstance(content.get("results"), list):
            raise GarbledReply("it has no list of results")
        return json.dumps({name: content[name] for name in ("results", "usage", "meta") if name in content})


def read_request(text: str, model: str) -> dict[str, Any]:
    """The query and the documents of a message. Raises `SetupError` for any other text: a prompt of a chat model."""
    try:
        request = json.loads(text)
    except ValueError:
        request = None
    if not isinstance(request, dict) or "documents" not in request:
        raise SetupError(
            f"The model 'api:{model}' sorts passages and writes no replies; choose it as reranker=api:{model}, and "
            "another model."
        )
    return request


def read_tokens(content: Mapping[str, Any]) -> int:
    """The tokens that a server counted: Jina's and vLLM's `usage`, Cohere's `meta`; 0 if it counts none."""
    counts: Sequence[Any] = [
        get_item(get_item(content, "usage"), "prompt_tokens"),
        get_item(get_item(content, "usage"), "total_tokens"),
        get_item(get_item(get_item(content, "meta"), "tokens"), "input_tokens"),
    ]
    return next((int(count) for count in counts if is_count(count)), 0)


def get_item(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def make_rerank_model(spec: Spec, timeout: float, loop_cache: LoopCache | None) -> RerankModel:
    """The reranker of the spec api:MODEL. Raises `SetupError` without an address."""
    import openai

    if spec.base_url is None:
        raise SetupError(f"reranker={spec.text!r} needs the address of its server; {URL_FORMS}.")
    key = read_key(KEY_VARIABLE) or PLACEHOLDER_KEY
    client = openai.AsyncOpenAI(
        base_url=spec.base_url,
        api_key=key,
        timeout=timeout,
        max_retries=0,
        http_client=make_http_clients(timeout, loop_cache, spec.base_url)["http_async_client"],
    )
    return RerankModel(rerank_model=spec.name, base_url=spec.base_url, api_key=SecretStr(key), client=client)
