"""The reader's reply when it should judge whether an answer is right: it cannot."""

from quorum.core.errors import SetupError
from quorum.models.embedded.replies import Draw, Inputs, Responder

CANNOT = (
    "The embedded reader cannot judge answers: it finds text, it does not weigh it; name a chat model, for example "
    "--judge openai:gpt-4o, or openai:NAME with OPENAI_BASE_URL for your own server."
)


async def correctness(inputs: Inputs, draw: Draw) -> str:
    """An extractive reader cannot tell whether two wordings mean the same."""
    raise SetupError(CANNOT)


RESPONDERS: dict[str, Responder] = {"correctness": correctness}
