"""Collects the functions that write the embedded reader's replies.

RESPONDERS: the name of each prompt that the reader serves -> the function that writes the reply to it.
"""

from quorum.models.embedded import (
    replies,
    replies_baselines,
    replies_blend,
    replies_compare,
    replies_correctness,
    replies_explain,
    replies_filter,
    replies_follow_up,
    replies_judge,
    replies_questions,
    replies_steps,
    replies_sure,
)
from quorum.models.embedded.replies import Responder

RESPONDERS: dict[str, Responder] = replies_compare.try_rules_first(
    {
        **replies.RESPONDERS,
        **replies_baselines.RESPONDERS,
        **replies_blend.RESPONDERS,
        **replies_correctness.RESPONDERS,
        **replies_explain.RESPONDERS,
        **replies_filter.RESPONDERS,
        **replies_follow_up.RESPONDERS,
        **replies_judge.RESPONDERS,
        **replies_questions.RESPONDERS,
        **replies_steps.RESPONDERS,
        **replies_sure.RESPONDERS,
    }
)
