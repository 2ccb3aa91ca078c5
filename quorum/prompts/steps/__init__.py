"""Prompts of the methods that search several times: ReAct (Yao et al. 2023), Self-Ask (Press et al. 2023), and the
agent that calls a search tool (Li et al. 2025).
"""

from quorum.models.embedded import replies, replies_steps
from quorum.models.embedded.replies import remove_label_colons
from quorum.models.embedded.replies_compare import prefer_rules
from quorum.parsing.answers import parse_reasoned_answer, parse_short_answer
from quorum.parsing.reply_forms import SHORT_ANSWER_FORM
from quorum.parsing.steps import parse_final_answer, parse_self_ask_step, parse_step
from quorum.prompts.prompt import Prompt

REACT = Prompt("react", parse=parse_step, reply="sentence", short_answer="end", offline=replies_steps.react)
REACT_ACTION = Prompt(
    "react_action", parse=parse_step, reply="short", short_answer="end", offline=replies_steps.react_action
)
AGENT = Prompt(
    "agent", parse=parse_reasoned_answer, reply="sentence", short_answer="end", offline=replies_steps.call_search
)
SELF_ASK = Prompt(
    "self_ask", parse=parse_self_ask_step, reply="sentence", short_answer="end", offline=replies_steps.self_ask
)
SELF_ASK_ANSWER = Prompt(
    "self_ask_answer",
    parse=parse_short_answer,
    form=SHORT_ANSWER_FORM,
    reply="short",
    short_answer="reply",
    offline=prefer_rules(replies.answer, remove_label_colons),
)
SELF_ASK_FINAL = Prompt(
    "self_ask_final",
    parse=parse_final_answer,
    reply="short",
    short_answer="end",
    offline=prefer_rules(replies_steps.self_ask_final, remove_label_colons),
)
