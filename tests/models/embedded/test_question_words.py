"""An answer of the embedded reader says more than the question does."""

import pytest

from quorum import Context, Passage, answer
from quorum.models.embedded.batching import Job, PassageReading, join_parts, read_jobs
from quorum.models.embedded.reading import Reading, Span
from quorum.models.embedded.replies import Sampler

QUESTION = "Where do its boats go?"


def join(question: str, *texts: str) -> Reading:
    spans = [Span(text, 0, 0, len(text), 3.0 - number) for number, text in enumerate(texts)]
    return join_parts(question, [PassageReading([], [(span.text, span) for span in spans])])


@pytest.mark.parametrize(
    ("question", "texts", "expected"),
    [
        (QUESTION, ["go", "boats go", "to the", "the lifeguards"], "the lifeguards"),
        (QUESTION, ["go", "its boats"], "Unknown"),
        ("Is the boat red or green?", ["red", "paint"], "red"),
        ("Who sang it?", ["The Who", "a band"], "The Who"),
        ("Is the lighthouse built of stone?", ["built of stone", "a hill"], "built of stone"),
    ],
)
def test_the_next_best_span_is_taken_if_one_only_repeats_the_question(
    question: str, texts: list[str], expected: str
) -> None:
    reading = join(question, *texts)
    assert reading.score == 3.0  # what was left out still shows that the passages answer
    assert Sampler().choose(reading, 0.5) == expected


async def test_no_span_of_a_reading_repeats_the_question() -> None:
    passage = Passage(id="1", title="", text="Its boats go to the lifeguards.")
    (result,) = read_jobs([Job(QUESTION, [passage])])
    assert result.reading.spans
    assert {"go", "boats", "Its boats", "boats go"}.isdisjoint(span.text for span in result.reading.spans)
    assert "lifeguards" in (await answer(QUESTION, "concat", Context(), given=[passage]))["answer"]
