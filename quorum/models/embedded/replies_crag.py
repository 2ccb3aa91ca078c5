"""The reader's replies to CRAG's prompts."""

from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.replies import Inputs, Sampler

SURE, UNSURE = 1.0, -2.0  # log-odds; those of `quorum.models.passage_grades.READER_LIMITS`


async def grade(inputs: Inputs, sampler: Sampler) -> str:
    """Yes, Partly or No, by the reader's log-odds that the passage answers the question."""
    spans = (await read_passages(inputs["question"], inputs["passages"])).reading.spans
    best = max((span.score for span in spans), default=UNSURE - 1)
    return "Yes" if best >= SURE else "Partly" if best >= UNSURE else "No"
