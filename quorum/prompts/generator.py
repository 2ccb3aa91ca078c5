"""The prompt that a generator is asked, as CXMI scores it: the graph's own prompt with one piece of the passages."""

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
