"""Loads encoders by name or folder with Sentence Transformers (an extra). A failure raises a `SetupError`."""

import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from quorum.core.errors import SetupError
from quorum.core.extras import describe_install
from quorum.core.redaction import redact_secrets

T = TypeVar("T")
PATH_START = re.compile(r"[./~\\]|[A-Za-z]:[\\/]")


def require_sentence_transformers(feature: str, extra: str) -> None:
    """Raise a `SetupError` if sentence-transformers is missing. extra: the extra of Quorum that installs it."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise SetupError(
            f"{feature} needs the package sentence-transformers, which is not installed; run: {describe_install(extra)}"
        )


def require_model_location(name: str) -> str:
    """The folder of a model if the name is a path, else the name itself, which is taken for a name on the model hub.

    Raises SetupError for a path that is not a folder.
    """
    try:
        path = Path(name).expanduser()
    except RuntimeError:  # the name begins with "~USER/", but this machine has no such user
        path = Path(name)
    if path.is_dir():
        return str(path.resolve())
    if path.is_file() or PATH_START.match(name) or name.count("/") > 1:
        raise SetupError(f"There is no model in {name!r}; give the folder that holds its config.json and weights.")
    return name


def load_encoder(name: str, load: Callable[[str], T]) -> T:
    """Call `load` with the model's folder or hub name, without progress bars. Any failure raises a `SetupError`."""
    location = require_model_location(name)
    try:
        with hide_progress_bars():
            return load(location)
    except SetupError:
        raise
    except Exception as error:  # the library, the hub and the weights' readers raise exceptions of many types
        message = redact_secrets(" ".join(str(error).split()))[:200] or type(error).__name__
        raise SetupError(
            f"The model {name!r} cannot be loaded ({message}); give the folder of a downloaded model, or the "
            "model's full name on huggingface.co if this machine can reach that site or has the model in its cache."
        ) from error


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Switch off transformers' progress bars; its warnings stay."""
    from transformers.utils import logging

    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()


def load_sentence_encoder(location: str, prompts: dict[str, str]) -> Any:
    """A `SentenceTransformer`. DPR's own checkpoints are pooled by [CLS], models without a pooling file by the mean.

    prompts: the text that is put before each query ("query") and before each passage ("document").
    """
    from sentence_transformers import SentenceTransformer
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(location)
    if config.model_type == "dpr":
        return SentenceTransformer(modules=load_dpr_modules(location, config), prompts=prompts)
    return SentenceTransformer(location, prompts=prompts)


def load_dpr_modules(location: str, config: Any) -> list[Any]:
    """The two modules of an encoder in DPR's own format (Karpukhin et al. 2020): its BERT, and [CLS] pooling.

    Sentence Transformers' usual loader treats both of DPR's encoders as question encoders, and silently drops a passage
    encoder's weights.
    """
    from tempfile import TemporaryDirectory

    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel, DPRContextEncoder, DPRQuestionEncoder

    if config.projection_dim:
        raise SetupError(
            f"The DPR model {location!r} has a projection layer, which Quorum cannot read; give a model without one."
        )
    reads_passages = "DPRContextEncoder" in (config.architectures or [])
    encoder: Any = (DPRContextEncoder if reads_passages else DPRQuestionEncoder).from_pretrained(location)
    bert_encoder = (encoder.ctx_encoder if reads_passages else encoder.question_encoder).bert_model
    settings = {name: value for name, value in config.to_dict().items() if name not in ("model_type", "architectures")}
    bert: Any = BertModel(BertConfig(**settings))
    bert.load_state_dict(bert_encoder.state_dict(), strict=False)  # all but the pooling layer, which DPR does not have
    with TemporaryDirectory() as folder:
        bert.save_pretrained(folder)
        AutoTokenizer.from_pretrained(location).save_pretrained(folder)
        transformer = Transformer(folder)
    return [transformer, Pooling(transformer.get_embedding_dimension(), "cls")]


def load_multi_vector_encoder(location: str) -> Any:
    """A `MultiVectorEncoder`: a late-interaction model in Sentence Transformers', PyLate's or Stanford's format.

    Any other encoder raises a `SetupError`: Sentence Transformers would add a random projection to it, and the passages
    found would be random.
    """
    from sentence_transformers import MultiVectorEncoder

    if not is_late_interaction(location):
        raise SetupError(
            f"The model {location!r} was not trained for late interaction; give a ColBERT model such as "
            f"colbert-ir/colbertv2.0, or use this one as embeddings='huggingface:{location}' with retriever='chroma'."
        )
    return MultiVectorEncoder(location)


def is_late_interaction(location: str) -> bool:
    """Whether a model's files say that it gives a vector for every token."""
    from sentence_transformers.util import load_file_path

    def read(file: str) -> Any:
        path = load_file_path(location, file)
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else None

    library_config, config = read("config_sentence_transformers.json"), read("config.json")
    if library_config is None and config is None:
        raise FileNotFoundError("its config.json was not found")
    if library_config and (
        library_config.get("model_type") in ("MultiVectorEncoder", "ColBERT") or "query_prefix" in library_config
    ):
        return True
    return bool(config) and "HF_ColBERT" in (config.get("architectures") or [])
