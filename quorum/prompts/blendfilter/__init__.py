"""Prompts of BlendFilter, and of few-shot answering with and without reasoning (Wei et al. 2022, Brown et al. 2020)."""

from quorum.models.embedded import replies, replies_blend
from quorum.models.embedded.replies import remove_label_colons
from quorum.models.embedded.replies_compare import (
    prefer_rules,
    write_rule_conclusion,
    write_verdict,
    write_verdict_conclusion,
)
from quorum.parsing.answers import parse_short_answer
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_topic, parse_yes_no_conclusion
from quorum.parsing.reply_forms import NUMBER_LIST_FORM, SHORT_ANSWER_FORM, YES_NO_FORM
from quorum.parsing.yes_no import parse_yes_no
from quorum.prompts.prompt import Prompt

DIRECT = Prompt(
    "direct",
    parse=parse_short_answer,
    form=SHORT_ANSWER_FORM,
    reply="short",
    short_answer="reply",
    offline=prefer_rules(replies.answer, remove_label_colons),
    variants=(
        Prompt(
            "direct_yes_no",
            parse=parse_yes_no,
            form=YES_NO_FORM,
            reply="word",
            answer_type="yes_no",
            offline=prefer_rules(replies_blend.answer_yes_no, write_verdict),
        ),
    ),
)
DIRECT_FROM_MEMORY = Prompt(
    "direct_from_memory",
    parse=parse_short_answer,
    form=SHORT_ANSWER_FORM,
    reply="short",
    short_answer="reply",
    offline=replies_blend.write_unknown,
    variants=(
        Prompt(
            "direct_from_memory_yes_no",
            parse=parse_yes_no,
            form=YES_NO_FORM,
            reply="word",
            answer_type="yes_no",
            offline=replies_blend.write_unknown,
        ),
    ),
)
REASON = Prompt(
    "reason",
    parse=parse_conclusion,
    reply="long",
    short_answer="end",
    offline=prefer_rules(replies_blend.reason, write_rule_conclusion),
    variants=(
        Prompt(
            "reason_yes_no",
            parse=parse_yes_no_conclusion,
            reply="long",
            answer_type="yes_no",
            offline=prefer_rules(replies_blend.reason_yes_no, write_verdict_conclusion),
        ),
    ),
)
REASON_FROM_MEMORY = Prompt(
    "reason_from_memory",
    parse=parse_conclusion,
    reply="long",
    short_answer="end",
    offline=replies_blend.write_unknown_conclusion,
    variants=(
        Prompt(
            "reason_from_memory_yes_no",
            parse=parse_yes_no_conclusion,
            reply="long",
            answer_type="yes_no",
            offline=replies_blend.write_unknown_conclusion,
        ),
    ),
)
EXTRACT_ANSWER = Prompt(
    "extract_answer",
    parse=parse_short_answer,
    form=SHORT_ANSWER_FORM,
    reply="short",
    short_answer="reply",
    offline=replies_blend.extract_answer,
    variants=(
        Prompt(
            "extract_answer_yes_no",
            parse=parse_yes_no,
            form=YES_NO_FORM,
            reply="word",
            answer_type="yes_no",
            offline=replies_blend.extract_answer_yes_no,
        ),
    ),
)
INTERNAL = Prompt(  # a passage that the model writes from its memory
    "internal", parse=parse_free_text, reply="long", offline=replies_blend.write_unknown
)
TOPIC = Prompt("topic", parse=parse_topic, reply="short", offline=replies_blend.write_topic)
JUDGE = Prompt(
    "judge",
    parse=parse_free_text,
    reply="long",
    offline=replies_blend.judge_passages,
    variants=(
        Prompt(
            "judge_yes_no",
            parse=parse_free_text,
            reply="long",
            answer_type="yes_no",
            offline=replies_blend.judge_passages,
        ),
    ),
)
CHOOSE = Prompt(
    "choose",
    parse=parse_passage_ids,
    form=NUMBER_LIST_FORM,
    reply="word",
    offline=replies_blend.choose_passages,
    variants=(
        Prompt(
            "choose_yes_no",
            parse=parse_passage_ids,
            form=NUMBER_LIST_FORM,
            reply="word",
            answer_type="yes_no",
            offline=replies_blend.choose_passages,
        ),
    ),
)
JUDGE_AND_CHOOSE = Prompt(
    "judge_and_choose",
    parse=parse_passage_ids,
    reply="long",
    offline=replies_blend.judge_and_choose_passages,
    variants=(
        Prompt(
            "judge_and_choose_yes_no",
            parse=parse_passage_ids,
            reply="long",
            answer_type="yes_no",
            offline=replies_blend.judge_and_choose_passages,
        ),
    ),
)
