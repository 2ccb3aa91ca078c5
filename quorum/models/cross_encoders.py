"""Cross-encoders of Sentence Transformers, which read question and passage together and score the pair."""

import asyncio
import math
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.models.journal import find_journal, make_key
from quorum.models.journal_database import Record
from quorum.models.load_encoder import load_encoder, require_model_location, require_sentence_transformers
from quorum.models.pretrained import fingerprint_model

BATCH_SIZE = 32


class CrossEncoderModel:
    """One model, loaded on first use and used by one thread at a time, because its tokenizer is not thread-safe."""

    def __init__(self, name: str) -> None:
        """Raise a `SetupError` for a missing package or a missing folder."""
        require_sentence_transformers(f"cross_encoder:{name}", "huggingface")
        self.name, self.location = name, require_model_location(name)
        self.lock = threading.Lock()
        self.encoder: Any = None

    def score(self, question: str, texts: Sequence[str]) -> list[float | None]:
        """The scores of the texts, higher is better; None for one that is no number. Blocks."""
        with self.lock:
            if self.encoder is None:
                self.encoder = load_encoder(self.name, load_cross_encoder)
            scores = self.encoder.predict(
                [(question, text) for text in texts], batch_size=BATCH_SIZE, show_progress_bar=False
            )
        return [number if math.isfinite(number := float(score)) else None for score in scores]

    def identify(self) -> str:
        """The model's name at the hub, or the fingerprint of its folder. Reads the disk."""
        return fingerprint_model(self.location) if Path(self.location).is_dir() else self.name


def load_cross_encoder(location: str) -> Any:
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(location)
    if model.num_labels != 1:
        raise ValueError(f"it gives {model.num_labels} numbers for a pair, and a reranker gives one")
    return model


@lru_cache(2)
def get_cross_encoder(name: str) -> CrossEncoderModel:
    """The model, one per process; the two used last are kept."""
    return CrossEncoderModel(name)


async def score_pairs_with(name: str, question: str, texts: Sequence[str], context: Context) -> list[float | None]:
    """The scores of the texts, by the model NAME. Known scores come from the journal; the others are computed on a
    thread and kept there, by the model, the question and the text.
    """
    model = await asyncio.to_thread(get_cross_encoder, name)
    journal = await find_journal(context)
    identity = {"provider": "cross_encoder", "base_url": None, "model": await asyncio.to_thread(model.identify)}
    keys = [make_key(identity, {}, question, text, 0) for text in texts]
    records = [None] * len(keys) if journal is None else await asyncio.gather(*(journal.get(key) for key in keys))
    scores = [None if record is None else float(record.text) for record in records]
    unknown = [index for index, record in enumerate(records) if record is None]
    new_scores = await asyncio.to_thread(model.score, question, [texts[index] for index in unknown]) if unknown else []
    for index, score in zip(unknown, new_scores, strict=True):
        scores[index] = score
    if journal is not None:
        await asyncio.gather(
            *(
                journal.put(keys[index], make_record(f"cross_encoder:{name}", score))
                for index in unknown
                if (score := scores[index]) is not None
            )
        )
    return scores


def make_record(model: str, score: float) -> Record:
    """The journal's record of a score."""
    return Record(repr(score), "stop", 0, 0, 0, 0.0, model=model, prompt_name="rerank")
