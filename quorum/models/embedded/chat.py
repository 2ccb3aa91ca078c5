"""The embedded reader as a chat model: it replies only to Quorum's own prompts, which it knows by their names."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

from quorum.core.errors import SetupError
from quorum.core.sync import run_sync
from quorum.models.embedded import get_weights_hash, read_manifest
from quorum.models.embedded.batching import WORKER
from quorum.models.embedded.encoder import get_encoder, is_encoder_loaded
from quorum.models.embedded.replies import Sampler
from quorum.models.embedded.replies_steps import SearchCall
from quorum.models.embedded.responders import RESPONDERS
from quorum.models.messages import write_messages

LONGEST_COUNTED_ON_LOOP = 20_000  # characters; counting the tokens of such a text takes a few milliseconds


class EmbeddedReader(BaseChatModel):
    """An extractive reader behind the interface of a chat model. It reads English and knows nothing by itself. Its
    replies are deterministic at temperature 0; above it they depend on the seed. Concurrent calls share one run of the
    encoder.

    A message carries the prompt's name and inputs in `additional_kwargs["quorum"]`. A missing or unknown prompt is a
    SetupError.
    """

    reads_prompt_inputs: ClassVar[bool] = True  # Quorum's calls send it the prompt's name and inputs beside the text

    # The reader reads in windows, so a prompt may be of any length.
    profile: ModelProfile | None = Field(default=ModelProfile(max_input_tokens=1_000_000), exclude=True)
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        # Read and cache the file now: models are created on a worker thread, where reading blocks no event loop.
        read_manifest()

    @property
    def _llm_type(self) -> str:
        return "quorum-embedded"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": "embedded", "weights": get_weights_hash()}

    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> Runnable[Any, AIMessage]:
        """The reader itself. It takes no tools: to a prompt that offers some it replies with one search for the
        question, and then with its answer, as it does for the method react.
        """
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return run_sync(self._agenerate(messages, stop, None, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = next((m.additional_kwargs["quorum"] for m in messages if "quorum" in m.additional_kwargs), None)
        respond = RESPONDERS.get(request["prompt"]) if request else None
        if isinstance(respond, str):
            raise SetupError(respond)
        if request is None or respond is None:
            request_name = f"the prompt {request['prompt']!r}" if request else "free text"
            raise SetupError(
                f"The embedded reader cannot answer {request_name}: it serves only the prompts that `quorum prompts` "
                "lists; choose a chat model for anything else, for example --model openai:NAME."
            )
        text = write_messages(messages)
        sampler = Sampler(
            temperature=float(kwargs.get("temperature", self.temperature)),
            top_p=float(kwargs.get("top_p", self.top_p)),
            seed=f"{kwargs.get('seed', self.seed)}\n{request['prompt']}\n{describe_inputs(request['inputs'])}",
        )
        reply = await respond(request["inputs"], sampler)
        calls = (
            [{"id": "call0", "name": "search", "args": {"query": reply.query}}] if isinstance(reply, SearchCall) else []
        )
        input_tokens, output_tokens = await count_tokens(text), await count_tokens(reply)
        usage = UsageMetadata(
            input_tokens=input_tokens, output_tokens=output_tokens, total_tokens=input_tokens + output_tokens
        )
        message = AIMessage(
            str(reply), tool_calls=calls, usage_metadata=usage, response_metadata={"finish_reason": "stop"}
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def describe_inputs(inputs: Mapping[str, Any]) -> str:
    """What the reader is asked, for the seed of its draws: another wording of the prompt changes no draw, nor do a
    passage's score and its file's time.
    """
    texts = {
        name: [(item["title"], item["text"]) if is_passage(item) else item for item in value]
        if isinstance(value, list | tuple)
        else value
        for name, value in inputs.items()
    }
    return repr(sorted(texts.items()))


def is_passage(value: Any) -> bool:
    return isinstance(value, Mapping) and {"title", "text"} <= value.keys()


async def count_tokens(text: str) -> int:
    """How many tokens a text has. They are counted on a thread if the text is long or the encoder is not loaded yet."""
    if len(text) <= LONGEST_COUNTED_ON_LOOP and is_encoder_loaded():
        return get_encoder().count_tokens(text)
    return await asyncio.get_running_loop().run_in_executor(WORKER, lambda: get_encoder().count_tokens(text))
