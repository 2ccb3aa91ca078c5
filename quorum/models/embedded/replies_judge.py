"""The reader's replies to prompts that judge generated texts."""

from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded.reading import Reading
from quorum.models.embedded.replies import Inputs, Sampler, read_each

TIE_MARGIN = 0.05  # probabilities that differ by less are a tie


async def preference(inputs: Inputs, sampler: Sampler) -> str:
    """Names the summary in which the reader finds the answer with the higher probability, or replies "Tie"."""
    summaries = [Passage(id=key, title="", text=str(inputs[key])) for key in ("first", "second")]
    readings = await read_each(inputs["question"], summaries)
    first, second = (find_answer_probability(reading, inputs["answer"]) for reading in readings)
    if abs(first - second) < TIE_MARGIN:
        return "Tie"
    return "Summary 1" if first > second else "Summary 2"


def find_answer_probability(reading: Reading, answer: str) -> float:
    """The probability (0..1) that this reading gives to the answer; 0 if the answer is not among its spans."""
    spans_with_answer = (span for span in reading.spans if normalize(span.text) == normalize(answer))
    return max((Reading([span], span.score).probability for span in spans_with_answer), default=0.0)
