"""Prompts of the baselines: chain of thought without examples, selection-inference, self-verification."""

from collections.abc import Sequence
from typing import Any

from quorum.models.embedded import replies_baselines
from quorum.models.embedded.replies_compare import prefer_rules, write_reasoned_answer
from quorum.parsing.answers import Parsed, parse_reasoned_answer
from quorum.parsing.rankings import parse_ranking
from quorum.parsing.reply_forms import RANKING_FORM
from quorum.parsing.statements import parse_answer_with_notes, parse_masked_statement, parse_missing_words
from quorum.prompts.prompt import Prompt


def read_masked_statement(reply: str, candidates: Sequence[str] = ()) -> Parsed[Any]:
    """The masked statement of a reply. candidates: the proposed answer as a list of one, or an empty list; the hidden
    words must not be this answer.
    """
    return parse_masked_statement(reply, next(iter(candidates), ""))


INFERENCE = Prompt(  # shows one more passage; the reply holds the updated notes and an answer
    "inference",
    parse=parse_answer_with_notes,
    reply="long",
    short_answer="end",
    offline=replies_baselines.inference,
)
MASK_CONDITION = Prompt(
    "mask_condition",
    parse=parse_masked_statement,
    read=read_masked_statement,
    reply="sentence",
    offline=replies_baselines.mask_condition,
)
RANK_PASSAGES = Prompt(
    "rank_passages",
    parse=parse_ranking,
    form=RANKING_FORM,
    reply="list",
    offline=replies_baselines.rank_passages,
    sent_by=("any method with reranker=listwise",),
)
RECOVER_CONDITION = Prompt(
    "recover_condition",
    parse=parse_missing_words,
    reply="short",
    offline=replies_baselines.recover_condition,
)
ZERO_SHOT_COT = Prompt(
    "zero_shot_cot",
    parse=parse_reasoned_answer,
    reply="long",
    short_answer="end",
    offline=prefer_rules(replies_baselines.zero_shot_cot, write_reasoned_answer),
)
