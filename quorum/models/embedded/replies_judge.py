"""The reader's replies to prompts that judge generated texts."""

from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded.reading import Reading
from quorum.models.embedded.replies import Inputs, Responder, Sampler, read_each

TIE_MARGIN = 0.05  # probabilities that differ by less are a tie


async def preference(inputs: Inputs, sampler: Sampler) -> str:
    """Prefers the summary in which the reader finds the answer with more certainty."""
    texts = [Passage(id=name, title="", text=str(inputs[name])) for name in ("first", "second")]
    first, second = (
        find_certainty(reading, inputs["answer"]) for reading in await read_each(inputs["question"], texts)
    )
    if abs(first - second) < TIE_MARGIN:
        return "Tie"
    return "Summary 1" if first > second else "Summary 2"


def find_certainty(reading: Reading, answer: str) -> float:
    """The probability (0..1) of the answer in this reading; 0 if it is not among the spans."""
    found = (span for span in reading.spans if normalize(span.text) == normalize(answer))
    return max((Reading([span], span.score).probability for span in found), default=0.0)


RESPONDERS: dict[str, Responder] = {"preference": preference}
