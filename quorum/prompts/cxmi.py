"""Writes the prompts with which CXMI scores a piece of a passage.

CXMI is FILCO's measure of what a piece adds to the prompt. It compares the probability of the answer after two prompts:
the prompt that `filco` sends with this piece as its only passage, and the same prompt without a passage.
"""

from collections.abc import Callable

from quorum.algorithms.filco_measures import Piece
from quorum.core.state import Passage
from quorum.prompts import BUILT_IN, Overrides, render_prompt
from quorum.prompts.passages import format_passages_or_placeholder


def make_cxmi_prompt_writer(answer_type: str, overrides: Overrides = None) -> Callable[[str, Piece | None], str]:
    """A function (question, piece or None) -> the prompt that `filco` sends for this answer type with that piece.

    >>> make_cxmi_prompt_writer("short")("Who?", None).endswith("Question: Who?\\nAnswer:")
    True
    """
    name = f"answer_{answer_type}" if f"answer_{answer_type}" in BUILT_IN and answer_type != "short" else "answer"

    def write_prompt(question: str, piece: Piece | None) -> str:
        shown = [] if piece is None else [Passage(id="", title=piece.title, text=piece.text)]
        return render_prompt(name, overrides, question=question, passages=format_passages_or_placeholder(shown)).text

    return write_prompt
