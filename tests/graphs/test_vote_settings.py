"""Two settings change no answer. `speculative` sends concat_pf's prompt over all passages and its prompts over single
passages at the same time. `vote=staged` stops asking once the vote is decided.
"""

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as run_with
from hypothesis import strategies as st
from method_fixtures import PASSAGES, QUESTION, script_passage_answers

from quorum.core.context import Context
from quorum.core.state import Result
from quorum.graphs import answer

REPLIES = ("unknown", "1931", "1950")


async def run_method(method: str, concat_reply: str, passage_replies: tuple[str, ...], **settings: Any) -> Result:
    """Run the method with scripted replies.

    concat_reply: the reply to the prompt that shows all passages; passage_replies: for each passage, the reply to the
    prompt that shows only this passage.
    """
    model = script_passage_answers(*passage_replies).on("answer", concat_reply)
    return await answer(QUESTION, method, Context(model=model, **settings), given=PASSAGES[: len(passage_replies)])


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
async def test_the_settings_speculative_and_staged_change_no_answer(step: int) -> None:
    """All replies to three passages; by default every fifth of these cases, in which each reply stands everywhere."""
    for concat_reply, *passage_replies in list(product(REPLIES[:2], REPLIES, REPLIES, REPLIES))[::step]:
        expected = await run_method("concat_pf", concat_reply, tuple(passage_replies))
        for options in ({"speculative": True}, {"vote": "staged"}, {"speculative": True, "vote": "staged"}):
            variant_result = await run_method("concat_pf", concat_reply, tuple(passage_replies), **options)
            assert (variant_result["answer"], variant_result["unknown"]) == (expected["answer"], expected["unknown"])
            if "vote" not in options:  # the same result, except its usage
                assert {**variant_result, "usage": None} == {**expected, "usage": None}
            else:
                assert variant_result["confidence"] is None  # the vote may have stopped before all passages were asked


@run_with(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=5).map(tuple))
async def test_staged_post_fusion_gives_the_answer_of_the_full_vote(passage_replies: tuple[str, ...]) -> None:
    expected = await run_method("post_fusion", "", passage_replies)
    variant_result = await run_method("post_fusion", "", passage_replies, vote="staged")
    assert (variant_result["answer"], variant_result["unknown"]) == (expected["answer"], expected["unknown"])
    assert variant_result["confidence"] is None
    assert len(variant_result["votes"]) <= len(expected["votes"])
