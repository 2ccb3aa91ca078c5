"""The reader's reply to the prompt that asks whether an answer is right: it cannot judge."""

from quorum.core.errors import SetupError
from quorum.models.embedded.replies import Inputs, Responder, Sampler

CANNOT_JUDGE = (
    "The embedded reader cannot judge answers: it finds text, it does not weigh it; name a chat model, for example "
    "--judge openai:gpt-4o, or openai:NAME with OPENAI_BASE_URL for your own server."
)


async def correctness(inputs: Inputs, sampler: Sampler) -> str:
    """Raises SetupError: an extractive reader cannot tell whether two wordings mean the same."""
    raise SetupError(CANNOT_JUDGE)


RESPONDERS: dict[str, Responder] = {"correctness": correctness}
