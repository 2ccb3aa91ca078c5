"""SuRe's prompts and those of its ablations (Kim et al. 2024, listings 1 to 14)."""

from quorum.models.embedded import replies_baselines, replies_blend, replies_sure
from quorum.models.embedded.replies import Responder, remove_label_colons
from quorum.models.embedded.replies_compare import prefer_rules
from quorum.parsing.answers import Parsed, parse_short_answer
from quorum.parsing.candidates import parse_candidates
from quorum.parsing.choices import parse_choice
from quorum.parsing.preferences import parse_preference
from quorum.parsing.reply_forms import SHORT_ANSWER_FORM, make_choice_form, make_letter_form
from quorum.parsing.summaries import parse_long_summary, parse_summary
from quorum.parsing.verdicts import parse_validity
from quorum.prompts.prompt import Prompt

RERANKER = "any method with reranker=rationale"


def read_candidates(reply: str, count: int) -> Parsed[list[str]]:
    """The candidates that a reply lists. count: how many the prompt asked for."""
    return parse_candidates(reply, count)


CANDIDATES = Prompt(
    "candidates",
    parse=parse_candidates,
    read=read_candidates,
    reply="list",
    short_answer="items",
    offline=replies_sure.candidates,
    sent_by=(RERANKER,),
)
CONDITIONAL_SUMMARY = Prompt(
    "conditional_summary",
    parse=parse_summary,
    reply="long",
    offline=replies_sure.conditional_summary,
    sent_by=(RERANKER,),
    variants=(
        Prompt(
            "conditional_summary_long",
            parse=parse_long_summary,
            reply="long",
            answer_type="long",
            offline=replies_sure.conditional_summary_long,
        ),
    ),
)
GENERIC_SUMMARY = Prompt(
    "generic_summary",
    parse=parse_summary,
    reply="long",
    offline=replies_sure.generic_summary,
    sent_by=("any method with reranker=summary",),
)
VALIDITY = Prompt(
    "validity",
    parse=parse_validity,
    form=make_choice_form("verdict", ("True", "False")),
    reply="word",
    model="verifier",
    offline=replies_sure.validity,
    sent_by=(RERANKER,),
)
RANKING = Prompt(
    "ranking",
    parse=parse_preference,
    form=make_choice_form("choice", ("Passage 1", "Passage 2", "Tie")),
    plain_form=make_choice_form("choice", ("Passage 1", "Passage 2")),
    reply="word",
    model="verifier",
    offline=replies_sure.ranking,
    sent_by=(RERANKER,),
)
ANSWER_CHOICES = Prompt(
    "answer_choices",
    parse=parse_choice,
    form=lambda inputs: make_letter_form(str(inputs.get("choices", ""))),
    reply="word",
    offline=replies_sure.answer_choices,
)


def make_answer_prompt(name: str, offline: Responder) -> Prompt[str]:
    """A prompt whose reply is a short answer and nothing else."""
    return Prompt(
        name,
        parse=parse_short_answer,
        form=SHORT_ANSWER_FORM,
        reply="short",
        short_answer="reply",
        offline=offline,
    )


ANSWER_SUMMARIES = make_answer_prompt("answer_summaries", replies_sure.answer_summaries)
ANSWER_SUMMARY = make_answer_prompt("answer_summary", replies_sure.answer_summary)
ANSWER_BASE = make_answer_prompt(
    "answer_base",
    prefer_rules(replies_baselines.answer_base, remove_label_colons),
)
ANSWER_BASE_CLOSED = make_answer_prompt("answer_base_closed", replies_blend.write_unknown)
