"""The embedded reader uses rules, instead of reading a span, to answer a question that compares two things."""

import pytest

from quorum import Context, Passage, answer

PASSAGES = [
    Passage(id="a", title="Ada Korn", text="Ada Korn (12 March 1851 – 4 May 1920) was a Norwegian engineer."),
    Passage(id="p", title="Per Lund", text="Per Lund (born 3 July 1849; died 1931) was a painter from Oslo, Norway."),
    Passage(id="t", title="Tea", text="Tea is a drink made from leaves."),
]


@pytest.mark.parametrize("method", ["concat", "direct", "base", "cot", "zero_shot_cot", "concat_pf", "self_ask"])
async def test_every_method_that_reads_all_passages_answers_a_comparison_question(method: str) -> None:
    result = await answer("Who was born first, Ada Korn or Per Lund?", method, Context(), given=PASSAGES)
    assert (result["answer"], result["malformed"]) == ("Per Lund", {})


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Are Ada Korn and Per Lund from the same country?", "yes"), ("Is Ada Korn older than Per Lund?", "no")],
)
async def test_a_yes_no_question_is_answered_by_comparing_values(question: str, expected: str) -> None:
    result = await answer(question, "concat", Context(), given=PASSAGES)
    assert result["answer"].lower() == expected
    yes_no_result = await answer(question, "direct", Context(answer_type="yes_no"), given=PASSAGES)
    assert yes_no_result["answer"].lower() == expected


async def test_questions_that_compare_nothing_are_answered_from_the_text() -> None:
    result = await answer("What was Ada Korn?", "concat", Context(), given=PASSAGES)
    assert "engineer" in result["answer"]
