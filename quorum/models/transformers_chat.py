"""Chat models that the transformers library loads from a folder: `transformers:PATH` (extra `train`)."""

import asyncio
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from quorum.core.errors import SetupError, TooLong
from quorum.core.forks import WorkerThread
from quorum.models.pretrained import GeneratedReply, ModelManifest, PretrainedModel, load_pretrained

REPLY_TOKENS = 512  # the most tokens of a reply, unless the folder's quorum.json gives another number
WORKER = WorkerThread("transformers")


class TransformersModel(BaseChatModel):
    """A chat model that decodes greedily at temperature 0, and samples with the seed at higher temperatures.

    It generates one reply at a time, so replies never depend on a batch.

    A filter or generator that Quorum trained accepts only the prompts of its training, in the same wording; any other
    prompt raises SetupError. A prompt that is longer than the model takes, or than training allowed, raises TooLong.
    The caller then drops the last passage, as training did.
    """

    # The model runs in this process: a call has no time limit, and its exceptions are bugs, not a server's failures.
    in_process: ClassVar[bool] = True

    folder: str
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    _pretrained: PretrainedModel = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        # Models are created on a thread, so reading the disk here blocks no event loop.
        self._pretrained = load_pretrained(self.folder)

    @property
    def is_trained_by_quorum(self) -> bool:
        """Whether Quorum trained the model. If so, it refuses prompts that it was not trained on."""
        return self._pretrained.manifest is not None

    @property
    def _llm_type(self) -> str:
        return "quorum-transformers"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": f"transformers:{self.folder}"}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        metadata = (run_manager.metadata if run_manager else None) or {}
        return WORKER.submit(self.generate_reply, messages, metadata, kwargs).result()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        metadata = (run_manager.metadata if run_manager else None) or {}
        return await asyncio.get_running_loop().run_in_executor(WORKER, self.generate_reply, messages, metadata, kwargs)

    def generate_reply(
        self, messages: list[BaseMessage], metadata: dict[str, Any], parameters: dict[str, Any]
    ) -> ChatResult:
        """Generate the reply. Blocking."""
        text, manifest = "\n\n".join(message.text for message in messages), self._pretrained.manifest
        if manifest is not None and metadata.get("prompt"):
            check_prompt(self.folder, manifest, metadata["prompt"], metadata.get("prompt_version"))
        # If Quorum trained the model, only the prompt counts against the limit. Otherwise a causal model's window must
        # hold the reply as well.
        limit = manifest.length if manifest else getattr(self._pretrained.model.config, "max_position_embeddings", None)
        length = len(self._pretrained.codec.encode_prompt(text)) + (
            0 if manifest or self._pretrained.codec.seq2seq else REPLY_TOKENS
        )
        if limit and length > limit:
            raise TooLong(f"{length} tokens, the model 'transformers:{self.folder}' takes {limit}")
        generated_reply = self._pretrained.generate(
            text,
            manifest.output if manifest else REPLY_TOKENS,
            float(parameters.get("temperature", self.temperature)),
            float(parameters.get("top_p", self.top_p)),
            int(parameters.get("seed", self.seed)),
        )
        return make_result(generated_reply)


def make_result(generated_reply: GeneratedReply) -> ChatResult:
    usage = UsageMetadata(
        input_tokens=generated_reply.prompt_tokens,
        output_tokens=generated_reply.reply_tokens,
        total_tokens=generated_reply.prompt_tokens + generated_reply.reply_tokens,
    )
    finish = {"finish_reason": "length" if generated_reply.is_cut_off else "stop"}
    message = AIMessage(generated_reply.text, usage_metadata=usage, response_metadata=finish)
    return ChatResult(generations=[ChatGeneration(message=message)])


def check_prompt(folder: str, manifest: ModelManifest, prompt: str, version: str | None) -> None:
    """Raise SetupError unless the model was trained on this prompt, in the same wording."""
    trained_version = manifest.prompts.get(prompt)
    option_of_kind = {
        "filter": f"--set context_filter=transformers:{folder}",
        "generator": f"--model transformers:{folder}",
    }
    if trained_version is None:
        mode_setting = "filter_mode=" + ("psg" if "filter_passages" in manifest.prompts else "filco")
        suitable_setting = (
            mode_setting if manifest.kind == "filter" else "the method concat, or with filco and a context_filter"
        )
        raise SetupError(
            f"The model 'transformers:{folder}' is a {manifest.kind} trained on {', '.join(manifest.prompts)} and "
            f"cannot be asked the prompt {prompt!r}; use it as {option_of_kind[manifest.kind]} with {suitable_setting}."
        )
    if version and version != trained_version:
        raise SetupError(
            f"The prompt {prompt!r} has changed since the {manifest.kind} in {folder} was trained (version {version} "
            f"now, {trained_version} in training); set prompts={folder}/prompts to use the old text, or train again."
        )
