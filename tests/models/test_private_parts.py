"""What Quorum uses of other projects that is not public, in the versions for which it was tried."""

import inspect
from importlib.metadata import version

from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI

from quorum.models.openai_chat import OpenAIChat

OVERRIDDEN = {
    "_create_chat_result": ["self", "response", "generation_info"],
    "_convert_chunk_to_generation_chunk": ["self", "chunk", "default_chunk_class", "base_generation_info"],
}


def test_langchain_openai_still_calls_the_two_methods_that_keep_the_reasoning() -> None:
    """Tried with langchain-openai 1.7.3. Otherwise our methods would not be called, and no reply checked."""
    for name, parameters in OVERRIDDEN.items():
        advice = (
            f"langchain-openai {version('langchain-openai')} has another {name} than 1.7.3; "
            "read quorum/models/openai_chat.py against it before allowing this version."
        )
        theirs = getattr(BaseChatOpenAI, name, None)
        assert theirs is not None, advice
        assert list(inspect.signature(theirs).parameters) == parameters, advice
        assert f"self.{name}(" in inspect.getsource(BaseChatOpenAI), advice
        assert getattr(OpenAIChat, name) is not getattr(ChatOpenAI, name)
