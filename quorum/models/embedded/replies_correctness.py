"""The reader's reply to the prompt that asks whether an answer is right: an error, because the reader cannot judge."""

from quorum.core.errors import SetupError
from quorum.models.embedded.replies import Inputs, Responder, Sampler

CANNOT_JUDGE = (
    "The embedded reader cannot judge answers, because it only finds text in passages; name a chat model, for example "
    "--judge openai:gpt-4o, or --judge openai:NAME with OPENAI_BASE_URL set to the address of your own server."
)


async def correctness(inputs: Inputs, sampler: Sampler) -> str:
    """Raises SetupError: an extractive reader cannot tell whether two wordings mean the same."""
    raise SetupError(CANNOT_JUDGE)


RESPONDERS: dict[str, Responder] = {"correctness": correctness}
