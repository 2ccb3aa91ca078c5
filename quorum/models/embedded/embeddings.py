"""Sentence embeddings for Chroma, from the embedded encoder."""

from langchain_core.embeddings import Embeddings

from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.recent_items import RecentItems

# The vectors of a longer list are not remembered: most long lists come from indexing, which embeds each text only once.
LONGEST_REMEMBERED_LIST = 64  # texts
RECENT_VECTORS: RecentItems[str, list[float]] = RecentItems(2048)


class EmbeddedEmbeddings(Embeddings):
    """Normalised 384-d vectors of all-MiniLM-L6-v2 with int8 weights (mean pooling).

    Only a text's first 254 tokens count. The vectors of short lists are remembered: those of queries, and of passages
    that several methods compare with a question.
    """

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if len(texts) > LONGEST_REMEMBERED_LIST:
            return embed_without_memory(texts)
        known_vectors = {text: vector for text in texts if (vector := RECENT_VECTORS.get(text))}
        new_texts = [text for text in dict.fromkeys(texts) if text not in known_vectors]
        for text, vector in zip(new_texts, embed_without_memory(new_texts), strict=True):
            known_vectors[text] = vector
            RECENT_VECTORS.put(text, vector)
        return [[*known_vectors[text]] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def embed_without_memory(texts: list[str]) -> list[list[float]]:
    """The vectors of the texts, computed by the encoder. Remembered vectors are neither used nor added."""
    vectors: list[list[float]] = get_encoder().embed(texts).tolist()
    return vectors
