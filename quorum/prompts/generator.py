"""Writes the prompts with which CXMI scores a piece of a passage.

It compares the answer's probability after the prompt that `filco` sends with this piece as its only passage, and after
the same prompt without a passage.
"""

from collections.abc import Callable

from quorum.algorithms.filco_measures import Piece
from quorum.core.state import Passage
from quorum.prompts import BUILT_IN, Overrides, render_prompt
from quorum.prompts.passages import number_passages_or_none


def make_generator_prompt(answer_type: str, overrides: Overrides = None) -> Callable[[str, Piece | None], str]:
    """(question, piece or None) -> the prompt that `filco` sends for this answer type with that piece as its context.

    >>> make_generator_prompt("short")("Who?", None).endswith("Question: Who?\\nAnswer:")
    True
    """
    name = f"answer_{answer_type}" if f"answer_{answer_type}" in BUILT_IN and answer_type != "short" else "answer"

    def render_piece(question: str, piece: Piece | None) -> str:
        shown = [] if piece is None else [Passage(id="", title=piece.title, text=piece.text)]
        return render_prompt(name, overrides, question=question, passages=number_passages_or_none(shown)).text

    return render_piece
