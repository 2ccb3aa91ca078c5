"""Writes the prompts with which CXMI scores a piece of a passage.

CXMI is FILCO's measure of what a piece adds to the prompt. It compares the probability of the answer after two prompts:
the prompt that `filco` sends with this piece as its only passage, and the same prompt without a passage.
"""

from collections.abc import Callable

from quorum.algorithms.filco_measures import Piece
from quorum.core.state import Passage
from quorum.prompts import Overrides, render_prompt
from quorum.prompts.citing import choose_texts
from quorum.prompts.escape import escape
from quorum.prompts.passages import format_passages_or_placeholder
from quorum.prompts.post_fusion import ANSWER


def make_cxmi_prompt_writer(answer_type: str, overrides: Overrides = None) -> Callable[[str, Piece | None], str]:
    """Return a function (question, piece or None) -> the prompt that `filco` sends for this answer type.

    The prompt shows the piece, or no passage if it is None. It asks for no citations, because the answers whose
    probability it gives have none.

    >>> make_cxmi_prompt_writer("short")("Who?", None).endswith("Question: Who?\\nAnswer:")
    True
    """
    texts = choose_texts(overrides, cites=False, is_plain=True)
    prompt_name = ANSWER.for_answer_type(answer_type).name

    def write_prompt(question: str, piece: Piece | None) -> str:
        shown_passages = [] if piece is None else [Passage(id="", title=piece.title, text=piece.text)]
        passages_text = format_passages_or_placeholder(shown_passages)
        return render_prompt(prompt_name, texts, question=escape(question), passages=passages_text).text

    return write_prompt
