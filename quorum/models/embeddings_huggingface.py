"""Bi-encoders from the Hugging Face hub or a folder: DPR, Contriever, GTR, E5, BGE and similar models."""

import threading
from typing import Any, Literal

from langchain_core.embeddings import Embeddings

from quorum.models.embeddings_spec import EncoderOptions, make_prefix, parse_encoder_spec
from quorum.models.load_encoder import (
    load_encoder,
    load_sentence_encoder,
    require_model_location,
    require_sentence_transformers,
)
from quorum.models.model_spec import Spec

BATCH_SIZE = 32


class HuggingFaceEmbeddings(Embeddings):
    """Embeds questions with one encoder and passages with the same or another. Models are loaded on first use.

    `similarity` says how passages are ranked: by "cosine" or "dot" (DPR and Contriever were trained for "dot").
    """

    def __init__(self, spec: Spec) -> None:
        """Raise a `SetupError` for an invalid spec, a missing package or a missing folder."""
        self.model = spec.text
        encoder_spec = parse_encoder_spec(spec.name)
        require_sentence_transformers(f"The embeddings {spec.text!r}", "huggingface")
        self.similarity = encoder_spec.options.similarity
        self.passage_encoder = SentenceEncoder(encoder_spec.passage, encoder_spec.options)
        is_same = encoder_spec.question == encoder_spec.passage
        self.question_encoder = (
            self.passage_encoder if is_same else SentenceEncoder(encoder_spec.question, encoder_spec.options)
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.passage_encoder.compute_vectors(texts, "document")

    def embed_query(self, text: str) -> list[float]:
        return self.question_encoder.compute_vectors([text], "query")[0]


class SentenceEncoder:
    """One model, loaded once and used by one thread at a time, because its tokenizer is not thread-safe."""

    def __init__(self, name: str, options: EncoderOptions) -> None:
        require_model_location(name)
        self.name, self.options = name, options
        self.lock = threading.Lock()
        self.encoder: Any = None

    def compute_vectors(self, texts: list[str], kind: Literal["query", "document"]) -> list[list[float]]:
        """One vector per text. A text that is too long for the model is cut at its end.

        kind: whether the texts are questions or passages, which may have different prefixes.
        """
        if not texts:
            return []
        with self.lock:
            if self.encoder is None:
                self.encoder = load_encoder(self.name, lambda location: load_configured_encoder(location, self.options))
            encode = self.encoder.encode_query if kind == "query" else self.encoder.encode_document
            vectors: list[list[float]] = encode(
                texts, batch_size=BATCH_SIZE, show_progress_bar=False, normalize_embeddings=bool(self.options.normalize)
            ).tolist()
        return vectors


def load_configured_encoder(location: str, options: EncoderOptions) -> Any:
    """Load the model and apply the options. For an option that is None, the value in the model's files holds."""
    from quorum.core.errors import SetupError

    prefixes = {"query": options.query, "document": options.passage}
    model = load_sentence_encoder(
        location, {name: make_prefix(text) for name, text in prefixes.items() if text is not None}
    )
    modules = list(model)
    if options.pooling is not None:
        pooling_modules = [module for module in modules if type(module).__name__ == "Pooling"]
        if not pooling_modules:
            raise SetupError(f"The model {location!r} has no pooling to set; leave out pooling={options.pooling}.")
        pooling_modules[0].pooling_mode = options.pooling
    if options.normalize is False:
        for index in reversed([index for index, module in enumerate(modules) if type(module).__name__ == "Normalize"]):
            del model[index]
    if options.length is not None:
        model.max_seq_length = options.length
    return model
