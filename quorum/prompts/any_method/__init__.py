"""Prompts that any method may send."""

from quorum.models.embedded import replies_follow_up
from quorum.parsing.answers import parse_short_answer
from quorum.parsing.stand_alone import parse_stand_alone_question
from quorum.prompts.prompt import Prompt

SHORTEN = Prompt(
    "shorten",
    parse=parse_short_answer,
    reply="short",
    offline="The embedded reader is never asked to shorten a reply, because it finds short answers only.",
    sent_by=("any method with shorten=auto or shorten=model",),
)
STAND_ALONE = Prompt(
    "stand_alone",
    parse=parse_stand_alone_question,
    reply="sentence",
    offline=replies_follow_up.stand_alone,
    sent_by=("quorum chat", "any method with a history"),
)
