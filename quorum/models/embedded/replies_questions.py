"""The reader's replies to the prompts that ask for new questions: it refuses, because it cannot write questions."""

from quorum.core.errors import SetupError
from quorum.models.embedded.replies import Inputs, Responder, Sampler


async def refuse_to_write_question(inputs: Inputs, sampler: Sampler) -> str:
    """Raises SetupError: an extractive reader only finds spans, and a span is not a question."""
    raise SetupError(
        "The embedded reader cannot write questions, because it only finds text in passages; choose a chat model, for "
        "example --model openai:gpt-4o-mini, or --model openai:NAME with OPENAI_BASE_URL set to the address of your "
        "own server."
    )


RESPONDERS: dict[str, Responder] = {
    "question_single": refuse_to_write_question,
    "question_two": refuse_to_write_question,
    "question_unanswerable": refuse_to_write_question,
}
