"""Prompts of commands: they judge answers, compare summaries, and write questions."""

from quorum.models.embedded import replies_judge
from quorum.parsing.correctness import parse_correctness
from quorum.parsing.preferences import parse_preference
from quorum.parsing.reply_forms import make_choice_form
from quorum.parsing.written_questions import WrittenQuestion, parse_written_question
from quorum.prompts.prompt import Prompt

CORRECTNESS = Prompt(
    "correctness",
    parse=parse_correctness,
    form=make_choice_form("verdict", ("correct", "incorrect")),
    reply="word",
    offline=(
        "The embedded reader cannot judge answers, because it only finds text in passages; name a chat model, for "
        "example --judge openai:gpt-4o, or --judge openai:NAME with OPENAI_BASE_URL set to the address of your own "
        "server."
    ),
    sent_by=("quorum eval --judge", "quorum compare --judge"),
)
ANSWER_CHECK = Prompt(
    "answer_check",
    parse=parse_correctness,
    form=make_choice_form("verdict", ("correct", "incorrect")),
    reply="word",
    offline=(
        "The embedded reader cannot judge answers, because it only finds text in passages; name a chat model, for "
        "example --judge openai:gpt-4o, or --judge openai:NAME with OPENAI_BASE_URL set to the address of your own "
        "server."
    ),
    sent_by=("quorum serve --judge",),
)
PREFERENCE = Prompt(
    "preference",
    parse=parse_preference,
    form=make_choice_form("choice", ("Summary 1", "Summary 2", "Tie")),
    reply="word",
    offline=replies_judge.preference,
    sent_by=("quorum experiment",),
)


def make_question_prompt(kind: str) -> Prompt[WrittenQuestion | None]:
    """The prompt for questions of a kind: from a single passage, from two, or without an answer."""
    return Prompt(
        f"question_{kind}",
        parse=parse_written_question,
        reply="sentence",
        offline=(
            "The embedded reader cannot write questions, because it only finds text in passages; choose a chat model, "
            "for example --model openai:gpt-4o-mini, or --model openai:NAME with OPENAI_BASE_URL set to the address of "
            "your own server."
        ),
        sent_by=("quorum questions",),
    )


QUESTION_PROMPTS = {kind: make_question_prompt(kind) for kind in ("single", "two", "unanswerable")}
