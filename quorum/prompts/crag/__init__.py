"""CRAG's prompts: they ask whether a passage helps, and what else to search for (Yan et al. 2024)."""

from quorum.models.embedded import replies_blend, replies_crag
from quorum.parsing.grades import GRADES, parse_grade
from quorum.parsing.keywords import parse_keywords
from quorum.parsing.reply_forms import make_choice_form
from quorum.prompts.prompt import Prompt

GRADE = Prompt(
    "grade",
    parse=parse_grade,
    form=make_choice_form("grade", tuple(GRADES)),
    reply="word",
    offline=replies_crag.grade,
)
KEYWORDS = Prompt("keywords", parse=parse_keywords, reply="short", offline=replies_blend.write_unknown)
