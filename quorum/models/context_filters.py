"""Context filters that score sentences and shorten passages before a prompt shows them (FILCO: Wang et al. 2023,
section 2.3; arXiv:2311.08377). Filters that write the context themselves, which are chat models and
models of the transformers library (transformers:FOLDER), need a prompt: see nodes/filter_context.py.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

from quorum.algorithms.filco_measures import shorten_passages
from quorum.core.errors import SetupError
from quorum.core.state import Passage, Usage
from quorum.models.chat import get_model_identity

Mode = Literal["psg", "filco"]


@dataclass(frozen=True)
class Selection:
    """passages: the kept ones, perhaps none, shortened if mode is filco; usage: tokens and calls of the filter."""

    passages: list[Passage]
    usage: Usage


class ContextFilter(Protocol):
    """Keeps what helps with the question: sentences (mode filco) or whole passages (mode psg). The ids and titles of
    the passages do not change.
    """

    async def select(self, question: str, passages: Sequence[Passage], mode: Mode) -> Selection: ...


class EmbeddedFilter:
    """A sentence classifier on top of the embedded model: the built-in classifier, or the classifier in `folder`. A
    passage is kept if the classifier keeps at least one of its sentences.
    """

    def __init__(self, folder: str = "") -> None:
        from quorum.models.embedded import FOLDER

        self.folder = Path(folder) if folder else FOLDER

    async def select(self, question: str, passages: Sequence[Passage], mode: Mode) -> Selection:
        from quorum.models.embedded.batching import WORKER
        from quorum.models.embedded.encoder import get_encoder
        from quorum.models.embedded.replies_filter import pick_pieces

        selected_passages = shorten_passages(passages, await pick_pieces(question, passages, mode, self.folder))
        input_texts = [question, *(passage["text"] for passage in passages)]
        output_texts = [passage["text"] for passage in selected_passages]
        input_tokens, output_tokens = await asyncio.get_running_loop().run_in_executor(
            WORKER, lambda: [sum(map(get_encoder().count_tokens, texts)) for texts in (input_texts, output_texts)]
        )
        return Selection(
            selected_passages, Usage(calls=1, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=0)
        )


FILTER_KINDS = {"embedded": EmbeddedFilter}


@cache
def get_context_filter(spec: str) -> ContextFilter:
    """The filter of the spec "embedded" or "embedded:FOLDER", made once. Raises `SetupError` for any other spec.

    The first call imports a module: do not call it on an event loop. The classifier is read at the first `select`.
    """
    kind, _, folder = spec.strip().partition(":")
    if kind not in FILTER_KINDS:
        raise SetupError(
            f"context_filter={spec!r} names no filter; choose embedded, llm, llm:MODEL (a chat model, such as "
            "llm:openai:NAME), embedded:FOLDER or transformers:FOLDER (filters that `quorum filter train` wrote)."
        )
    return FILTER_KINDS[kind](folder)


def get_filter_identity(spec: str) -> dict[str, Any] | str | None:
    """What identifies this filter, in the form in which `quorum.models.get_model_identity` identifies a model; None for
    a scripted model. The identity changes when the filter in a folder is trained again. For "llm" without a model, and
    for an unknown kind of filter, it is the spec itself.
    """
    kind, _, model_or_folder = spec.strip().partition(":")
    if kind in ("llm", "transformers") and model_or_folder:
        return get_model_identity(model_or_folder if kind == "llm" else spec)
    if kind != "embedded":
        return spec
    if not model_or_folder:
        return get_model_identity(kind)
    filter_files = [Path(model_or_folder) / name for name in ("sentences.json", "sentences.onnx")]
    weights = sha256(b"".join(path.read_bytes() for path in filter_files if path.is_file()))
    return {"provider": "embedded", "base_url": None, "model": weights.hexdigest()[:12]}
