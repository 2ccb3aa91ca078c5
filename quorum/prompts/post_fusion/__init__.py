"""Prompts that answer from passages (Liu et al. 2024): from all, from one, and with candidates from single passages."""

from typing import Any

from quorum.models.embedded import replies, replies_explain, replies_filter
from quorum.models.embedded.replies import remove_label_colons
from quorum.models.embedded.replies_compare import prefer_rules
from quorum.parsing.answers import parse_reasoned_answer, parse_short_answer
from quorum.parsing.labels import parse_label
from quorum.parsing.long_answers import parse_long_answer, parse_turn
from quorum.parsing.reply_forms import EXPLAINED_YES_NO_FORM, LABEL_FORM, SHORT_ANSWER_FORM, YES_NO_FORM
from quorum.parsing.yes_no import parse_yes_no
from quorum.prompts.prompt import Prompt


def make_variants(name: str) -> tuple[Prompt[Any], ...]:
    """The prompts for the answer types other than short. The embedded reader ignores candidates, because it reads the
    passages that they came from.
    """
    return (
        Prompt(
            f"{name}_yes_no",
            parse=parse_yes_no,
            form=EXPLAINED_YES_NO_FORM,
            plain_form=YES_NO_FORM,
            reply="sentence",
            answer_type="yes_no",
            offline=replies_explain.answer_yes_no,
        ),
        Prompt(
            f"{name}_label",
            parse=parse_label,
            form=LABEL_FORM,
            reply="word",
            answer_type="label",
            offline=replies_filter.answer_label,
        ),
        Prompt(
            f"{name}_dialogue",
            parse=parse_turn,
            reply="sentence",
            answer_type="dialogue",
            streams=True,
            offline=replies_filter.answer_dialogue,
        ),
        Prompt(
            f"{name}_long",
            parse=parse_long_answer,
            reply="long",
            answer_type="long",
            streams=True,
            offline=replies_explain.answer_long,
        ),
    )


ANSWER = Prompt(
    "answer",
    parse=parse_short_answer,
    form=SHORT_ANSWER_FORM,
    reply="short",
    short_answer="reply",
    offline=prefer_rules(replies.answer, remove_label_colons),
    variants=make_variants("answer"),
)
ANSWER_CANDIDATES = Prompt(
    "answer_candidates",
    parse=parse_short_answer,
    form=SHORT_ANSWER_FORM,
    reply="short",
    short_answer="reply",
    offline=replies.answer_candidates,
    variants=make_variants("answer_candidates"),
)
PRUNING = Prompt(  # the rationale before the answer rules out passages
    "pruning", parse=parse_reasoned_answer, reply="long", short_answer="end", offline=replies.pruning
)
SUMMARY = Prompt(  # the rationale before the answer summarises the passages
    "summary", parse=parse_reasoned_answer, reply="long", short_answer="end", offline=replies.summary
)
