"""Loads models of the transformers library from a folder and generates with them (extra `train`).

`quorum filter train` and `quorum generator train` write `quorum.json` beside the weights; it says what the model was
trained for.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from quorum.core.errors import SetupError
from quorum.core.extras import describe_install
from quorum.core.files import read_regular
from quorum.core.json_text import parse_json

MANIFEST_FILE = "quorum.json"
ADAPTER_FILE = "adapter_config.json"


@dataclass(frozen=True)
class ModelManifest:
    """What the model in a folder was trained for: the content of `quorum.json`.

    kind: what it does for a method: FILCO's filter or the generator of answers; prompts: the prompts that it was
    trained on, name -> hash; measure: the measure that chose the silver sentences of its training data; length, output:
    the largest number of tokens of a prompt and of a reply; base, base_hash: the base model's name and hash; adapter:
    whether the folder holds only adapters, which need the base model to run; weights: sha256 of the trained weights.
    """

    kind: Literal["filter", "generator"]
    prompts: dict[str, str]
    measure: str
    length: int
    output: int
    base: str
    base_hash: str
    adapter: bool
    weights: str


@dataclass(frozen=True)
class GeneratedReply:
    """A reply with its token counts; is_cut_off: the length limit ended it."""

    text: str
    prompt_tokens: int
    reply_tokens: int
    is_cut_off: bool


def require_transformers(feature: str) -> None:
    """Raise a SetupError that says what to install if PyTorch or transformers is missing."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"{feature} needs the package {error.name or 'transformers'}, which is not installed; "
            f"run: {describe_install('train')}"
        ) from None


def read_model_manifest(folder: str | Path) -> ModelManifest | None:
    """The content of `quorum.json` in the folder; None for a model that Quorum did not train."""
    path = Path(folder) / MANIFEST_FILE
    if not path.is_file():
        return None
    try:
        return TypeAdapter(ModelManifest).validate_python(parse_json(read_regular(path)))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not the manifest of a trained model"
        raise SetupError(f"{path} cannot be read ({reason}); train again, or copy the whole folder.") from None


def write_model_manifest(folder: Path, manifest: ModelManifest) -> None:
    (folder / MANIFEST_FILE).write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")


def fingerprint_model(folder: str | Path) -> str:
    """The beginning of a hash that identifies a model: the hash of its weights, which `quorum.json` holds. Without this
    file, a hash of the folder's path and of the names, sizes and times of its files.
    """
    manifest = read_model_manifest(folder)
    if manifest is not None:
        return manifest.weights[:12]
    files = sorted(path for path in Path(folder).glob("*") if path.is_file())
    file_states = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return sha256(json.dumps([str(folder), file_states]).encode()).hexdigest()[:12]


def hash_base(folder: str | Path) -> str:
    """A hash of the base model that adapters need: of its configuration, its tokenizer and the sizes of its weight
    files. "" if `folder` is no folder but a model's name on the Hugging Face hub.
    """
    paths = [Path(folder) / name for name in ("config.json", "tokenizer.json", "spiece.model", "tokenizer.model")]
    contents = [path.read_bytes() for path in paths if path.is_file()]
    sizes = [f"{path.name} {path.stat().st_size}".encode() for path in sorted(Path(folder).glob("*.safetensors"))]
    return sha256(b"\0".join(contents + sizes)).hexdigest()[:12] if contents else ""


class Codec:
    """Turns prompts and targets (the replies to learn) into token ids, in training and in use in the same way.

    A prompt goes through the tokenizer's chat template, if there is one. Without a template, a space separates a causal
    model's target from the prompt.
    """

    def __init__(self, tokenizer: Any, seq2seq: bool) -> None:
        self.tokenizer, self.seq2seq = tokenizer, seq2seq
        self.has_chat_template = not seq2seq and bool(getattr(tokenizer, "chat_template", None))

    def wrap_prompt(self, prompt: str) -> str:
        """The prompt as the model reads it: in the chat template, if the tokenizer has one."""
        if not self.has_chat_template:
            return prompt
        message = [{"role": "user", "content": prompt}]
        return str(self.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True))

    def encode_prompt(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(self.wrap_prompt(text), add_special_tokens=not self.has_chat_template).input_ids
        return ids

    def encode_target(self, text: str) -> list[int]:
        """The target's token ids and the end-of-sequence token; that token alone for an empty text."""
        space = "" if self.seq2seq or self.has_chat_template or not text else " "
        ids: list[int] = self.tokenizer(space + text, add_special_tokens=False).input_ids
        return [*ids, self.tokenizer.eos_token_id]

    def decode(self, ids: Any) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip()


class PretrainedModel:
    """A model ready to run: on the GPU in bfloat16 if there is one, else on the CPU in float32."""

    def __init__(self, model: Any, tokenizer: Any, manifest: ModelManifest | None = None) -> None:
        from transformers import GenerationConfig

        self.model, self.manifest = model.eval(), manifest
        self.codec = Codec(tokenizer, bool(model.config.is_encoder_decoder))
        generation_config = model.generation_config
        end_tokens = (
            generation_config.eos_token_id
            if isinstance(generation_config.eos_token_id, list)
            else [generation_config.eos_token_id]
        )
        self.end_token_ids = sorted({tokenizer.eos_token_id, *end_tokens} - {None})
        # Of the model's own generation settings, keep only the token ids: the other settings, such as a repetition
        # penalty, would change even greedy replies.
        model.generation_config = GenerationConfig(
            eos_token_id=self.end_token_ids,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=generation_config.bos_token_id,
            decoder_start_token_id=generation_config.decoder_start_token_id,
        )

    def generate(
        self, text: str, max_new_tokens: int, temperature: float = 0.0, top_p: float = 1.0, seed: int = 0
    ) -> GeneratedReply:
        """The reply to a prompt, at most `max_new_tokens` tokens; greedy at temperature 0. Blocking."""
        import torch

        sampling = {"temperature": temperature, "top_p": top_p, "top_k": 0} if temperature else {}
        ids = torch.tensor([self.codec.encode_prompt(text)], device=self.model.device)
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(seed)
            generated_ids = self.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=max_new_tokens,
                do_sample=bool(temperature),
                **sampling,
            )
        # Before the reply, a seq2seq model returns its start token, a causal model the prompt.
        reply_ids = generated_ids[0, 1 if self.codec.seq2seq else ids.shape[1] :].tolist()
        return GeneratedReply(
            self.codec.decode(reply_ids),
            ids.shape[1],
            len(reply_ids),
            bool(reply_ids) and reply_ids[-1] not in self.end_token_ids,
        )


def load_pretrained(folder: str) -> PretrainedModel:
    """Load the model of a folder (or of a name that transformers knows) and merge its adapters, or raise SetupError."""
    require_transformers(f"The model 'transformers:{folder}'")
    manifest = read_model_manifest(folder)
    if manifest is not None and manifest.adapter:
        return PretrainedModel(*load_with_adapters(folder, manifest), manifest)
    model, tokenizer = load_base(folder, half=True)
    return PretrainedModel(model, tokenizer, manifest)


def is_seq2seq(name: str) -> bool:
    """Whether a model has an encoder and a decoder."""
    from transformers import AutoConfig

    with explain_load_errors(name):
        return bool(AutoConfig.from_pretrained(name).is_encoder_decoder)


def load_base(name: str, *, half: bool) -> tuple[Any, Any]:
    """A model and its tokenizer, as transformers loads them. half: load the model in half precision (bfloat16) if
    there is a GPU; without one it is always float32.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    gpu = torch.cuda.is_available()
    model_class = AutoModelForSeq2SeqLM if is_seq2seq(name) else AutoModelForCausalLM
    with explain_load_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = model_class.from_pretrained(name, dtype=torch.bfloat16 if gpu and half else torch.float32)
    prepare_tokenizer(model, tokenizer, name)
    return (model.cuda() if gpu else model), tokenizer


@contextmanager
def explain_load_errors(name: str) -> Iterator[None]:
    """Turn what transformers raises for a folder without a usable model into a SetupError."""
    try:
        with silence_transformers():
            yield
    except SetupError:
        raise
    except Exception as error:  # noqa: BLE001  OSError, ValueError, KeyError, safetensors' own and more
        message = " ".join(str(error).split())[:300] or type(error).__name__
        raise SetupError(
            f"The model {name!r} cannot be loaded ({message}); give the folder of a seq2seq or causal language "
            "model as transformers saves it, with its tokenizer, or a name such as google/flan-t5-base."
        ) from None


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Switch off the progress bars of transformers, and every FutureWarning (transformers and peft raise them)."""
    from transformers.utils import logging

    were_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        if were_enabled:
            logging.enable_progress_bar()


def prepare_tokenizer(model: Any, tokenizer: Any, name: str) -> None:
    """Check the tokenizer's size and end-of-sequence token, and set its padding token if it has none."""
    embedding_rows = model.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > embedding_rows:
        raise SetupError(
            f"The tokenizer in {name!r} has {len(tokenizer)} tokens, but the model there knows only {embedding_rows}; "
            "the two belong to different models: copy the tokenizer's files from the model's own folder."
        )
    if tokenizer.eos_token_id is None:
        raise SetupError(f"The tokenizer in {name!r} has no end-of-sequence token; choose a model that has one.")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token


def load_with_adapters(folder: str, manifest: ModelManifest) -> tuple[Any, Any]:
    """The base model with the folder's adapters merged into it, and its tokenizer. Raises SetupError if the base model
    is not the one of the training.
    """
    if manifest.base_hash and hash_base(manifest.base) != manifest.base_hash:
        state = "has changed since" if Path(manifest.base).is_dir() else "is not there"
        raise SetupError(
            f"The {manifest.kind} in {folder} was trained on the model {manifest.base}, which {state}; put that model "
            "back, or train again on the one you have."
        )
    try:
        from peft import PeftModel
    except ImportError:
        raise SetupError(f"The adapters in {folder} need the package peft; run: {describe_install('train')}") from None
    model, tokenizer = load_base(manifest.base, half=True)
    with explain_load_errors(folder):
        merged_model = PeftModel.from_pretrained(model, folder).merge_and_unload()
    return merged_model, tokenizer
