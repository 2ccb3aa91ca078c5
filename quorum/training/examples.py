"""A question for training, and whether it belongs to the part that is never trained on."""

import hashlib
from dataclasses import dataclass

# This percentage of the questions is never used for training. We fit the reader's confidence on these questions, and
# choose and test the threshold of the sentence filter on them.
CALIBRATION_PERCENT = 4


@dataclass(frozen=True)
class Example:
    """One question with the text of one or more passages.

    `spans` are the character ranges of all gold answers in `context`; empty if `context` does not contain an answer.
    `source` is the name of the data source, and decides the example's weight (see `training.examples.get_weight`).
    """

    question: str
    context: str
    spans: tuple[tuple[int, int], ...] = ()
    source: str = ""


def is_held_out(example: Example, percent: int) -> bool:
    """Whether an example belongs to the calibration part: about `percent` of all questions, chosen by a hash of their
    text, so that all examples of one question are in the same part.
    """
    return int(hashlib.sha256(example.question.strip().lower().encode()).hexdigest()[:8], 16) % 100 < percent
