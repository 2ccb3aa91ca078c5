"""Creates chat models and embeddings from specs such as "openai:NAME". Only `quorum.models.call` calls chat models."""

from quorum.models.chat import chat_model, get_model_identity
from quorum.models.embeddings import embeddings, get_embedding_name

__all__ = ["chat_model", "embeddings", "get_embedding_name", "get_model_identity"]
