"""Sentence embeddings for Chroma, from the embedded encoder."""

from langchain_core.embeddings import Embeddings

from quorum.models.embedded.encoder import get_encoder


class EmbeddedEmbeddings(Embeddings):
    """Normalised 384-d vectors of all-MiniLM-L6-v2 (mean pooling), int8. Only a text's first 254 tokens count."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = get_encoder().embed(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
