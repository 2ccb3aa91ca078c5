"""The reader's replies to CRAG's prompts."""

from quorum.models.embedded.batching import read_passages
from quorum.models.embedded.replies import Inputs, Sampler
from quorum.models.passage_grades import READER_LIMITS


async def grade(inputs: Inputs, sampler: Sampler) -> str:
    """Yes, Partly or No, by the reader's log-odds that the passage answers the question."""
    spans = (await read_passages(inputs["question"], inputs["passages"])).reading.spans
    upper, lower = READER_LIMITS
    best = max((span.score for span in spans), default=lower - 1)
    return "Yes" if best >= upper else "Partly" if best >= lower else "No"
