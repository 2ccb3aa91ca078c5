"""Rerank and REPLUG: votes are weighted by the similarity of their passage to the question."""

import pytest
from method_fixtures import FIRST_STEPS, PASSAGES, QUESTION, script_passage_answers, trace_method

from quorum.core.context import Context
from quorum.graphs import answer


@pytest.mark.parametrize(("method", "weighing_node"), [("rerank", "weigh_by_words"), ("replug", "weigh_by_meaning")])
async def test_the_passage_most_similar_to_the_question_outvotes_the_majority(method: str, weighing_node: str) -> None:
    steps = await trace_method(method, script_passage_answers("1931", "1950", "1950"))
    assert steps[:2] == FIRST_STEPS
    assert [step[0] for step in steps[2:]] == ["passage_answer"] * 3 + [weighing_node, "vote", "find_evidence"]
    assert steps[-3][1] == {"votes": ["0 1931", "1 1950", "2 1950"]}
    assert steps[-2][1]["answer"] == "1931"  # the majority says 1950
    assert steps[-1][1]["evidence"] == ["p1 32-36"]
    assert 0.5 < steps[-2][1]["confidence"] < 1


@pytest.mark.parametrize("method", ["rerank", "replug"])
async def test_all_passages_are_asked_and_unknown_replies_do_not_count(method: str) -> None:
    model = script_passage_answers("unknown", "1950", "unknown")
    result = await answer(QUESTION, method, Context(model=model, k=3, vote="staged"), given=PASSAGES)
    assert (result["answer"], len(result["votes"])) == ("1950", 3)  # all 3 passages are asked, also with vote="staged"
    all_unknown = await answer(
        QUESTION, method, Context(model=script_passage_answers(*["unknown"] * 3), k=3), given=PASSAGES
    )
    assert (all_unknown["answer"], all_unknown["unknown"], all_unknown["confidence"]) == ("unknown", True, None)


@pytest.mark.parametrize("method", ["rerank", "replug"])
async def test_each_sample_has_the_weight_of_its_passage(method: str) -> None:
    model = script_passage_answers(["1931", "1950"], ["1950", "1950"])
    result = await answer(QUESTION, method, Context(model=model, k=2, samples=2, temperature=0.7), given=PASSAGES)
    weights = [(vote["rank"], vote["weight"]) for vote in result["votes"]]
    assert len(weights) == 4
    assert len(set(weights)) == 2
    assert sorted(weights)[0] == sorted(weights)[1]
