"""Everything that runs a model: chat models and embeddings by spec. Only `models.call` calls a chat model."""

from models.chat import chat_model, identity
from models.embed import embedding_name, embeddings

__all__ = ["chat_model", "embedding_name", "embeddings", "identity"]
