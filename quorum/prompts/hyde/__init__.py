"""HyDE's prompt: it asks for a passage that might answer the question, to search with (Gao et al. 2023)."""

from quorum.models.embedded import replies_blend
from quorum.parsing.reasoning import parse_free_text
from quorum.prompts.prompt import Prompt

HYPOTHETICAL = Prompt("hypothetical", parse=parse_free_text, reply="long", offline=replies_blend.write_unknown)
