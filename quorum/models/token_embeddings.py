"""Late-interaction encoders (Khattab and Zaharia 2020, ColBERT): a vector for every token of a text."""

import hashlib
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.models.load_encoder import (
    load_encoder,
    load_multi_vector_encoder,
    require_model_location,
    require_sentence_transformers,
)

BATCH_SIZE = 32


class TokenEncoder:
    """One late-interaction model, loaded when first needed and used by one thread at a time."""

    def __init__(self, name: str) -> None:
        """name: a model folder or hub name. Raises `SetupError` if sentence-transformers or the folder is missing."""
        require_sentence_transformers(f"The retriever 'colbert:{name}'", "colbert")
        self.name, self.location = name, require_model_location(name)
        self.lock = threading.Lock()
        self.encoder: Any = None

    @property
    def fingerprint(self) -> str:
        """Identifies the model: a hash of its name or folder and, for a folder, of its files' sizes and times."""
        digest = hashlib.sha256(self.location.encode())
        for file in sorted(Path(self.location).rglob("*")) if Path(self.location).is_dir() else ():
            state = file.stat()
            digest.update(f"\n{file} {state.st_size} {state.st_mtime_ns}".encode())
        return digest.hexdigest()[:12]

    def encode_question(self, text: str) -> NDArray[np.float32]:
        """An array (tokens, dimension): the vectors of a question's tokens and of those that the model adds to them."""
        with self.lock:
            vectors: NDArray[np.float32] = self.get_model().encode_query(
                [text], convert_to_numpy=True, show_progress_bar=False
            )[0]
        return vectors

    def encode_passages(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """An array (tokens, dimension) for each passage, without the tokens that the model leaves out."""
        with self.lock:
            vectors: list[NDArray[np.float32]] = self.get_model().encode_document(
                texts, batch_size=BATCH_SIZE, convert_to_numpy=True, show_progress_bar=False
            )
        return vectors

    def get_model(self) -> Any:
        if self.encoder is None:
            self.encoder = load_encoder(self.name, load_multi_vector_encoder)
        return self.encoder


@lru_cache(maxsize=4)
def get_token_encoder(name: str) -> TokenEncoder:
    """The encoder of a model. The process keeps the four that were used last."""
    return TokenEncoder(name)
