"""Runs models: chat models and embeddings by spec. Only `quorum.models.call` calls a chat model."""

from quorum.models.chat import chat_model, identity
from quorum.models.embeddings import embedding_name, embeddings

__all__ = ["chat_model", "embedding_name", "embeddings", "identity"]
