"""How CRAG acts on the grades of the passages, and what it keeps of them (Yan et al. 2024, sections 4.2 to 4.4;
arXiv:2401.15884). Pure functions.
"""

import math
from collections.abc import Sequence
from typing import Literal

from quorum.algorithms.filco_measures import Piece, split_pieces
from quorum.core.state import Passage

Action = Literal["correct", "ambiguous", "incorrect"]
STRIP_SENTENCES = 3  # in a strip, as in the authors' code
FEWEST_WORDS = 4  # a strip of fewer words says nothing
MOST_STRIPS = 10


def choose_action(grades: Sequence[float | None], upper: float, lower: float) -> Action:
    """Correct if a passage's grade is at least `upper`; else ambiguous if one is at least `lower`; else incorrect.

    grades: one per passage, on the evaluator's scale, higher is better; None: no grade, which is below both limits.

    >>> choose_action([-3.0, 0.5], upper=1.0, lower=-2.0), choose_action([], upper=1.0, lower=-2.0)
    ('ambiguous', 'incorrect')
    """
    best = max((grade for grade in grades if grade is not None), default=None)
    if best is None or best < lower:
        return "incorrect"
    return "correct" if best >= upper else "ambiguous"


def split_strips(passages: Sequence[Passage]) -> list[Piece]:
    """The strips of the passages, in reading order: three sentences each, the last of a passage perhaps fewer. Strips
    of fewer than four words are left out.
    """
    strips: list[Piece] = []
    for rank, passage in enumerate(passages):
        sentences = split_pieces([passage])
        for first in range(0, len(sentences), STRIP_SENTENCES):
            group = sentences[first : first + STRIP_SENTENCES]
            start, end = group[0].start, group[-1].end
            strips.append(Piece(rank, start, end, passage["title"], passage["text"][start:end]))
    return [strip for strip in strips if len(strip.text.split()) >= FEWEST_WORDS]


def choose_strips(strips: Sequence[Piece], grades: Sequence[float | None]) -> list[Piece]:
    """The ten strips with the best grades, in reading order; of strips with the same grade the first ones.

    grades: one per strip; a strip without a grade comes last.
    """
    known_grades = [-math.inf if grade is None else grade for grade in grades]
    order = sorted(range(len(strips)), key=lambda index: -known_grades[index])
    return [strips[index] for index in sorted(order[:MOST_STRIPS])]
