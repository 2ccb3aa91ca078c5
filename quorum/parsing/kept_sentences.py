"""What a reply keeps of the passages: sentences that it copies, or passages that it names."""

from collections.abc import Sequence

from quorum.algorithms.copied_sentences import is_refusal, match_copies
from quorum.algorithms.filco_measures import Piece, split_pieces
from quorum.core.state import Passage
from quorum.core.thinking import own_turn
from quorum.parsing.answers import Parsed
from quorum.parsing.passage_ids import passage_ids
from quorum.parsing.wrapping import LONGEST_TEXT, shortened

LONGEST_REFUSAL = 1000  # characters of a reply that says that no sentence helps


def copied_sentences(reply: str, passages: Sequence[Passage]) -> Parsed[list[Piece]]:
    """The passages' sentences that the reply copies, in reading order; "None" is no sentence.

    Default (malformed): what is in no passage is dropped, so that a reply that copies nothing keeps nothing.
    """
    own = own_turn(shortened(reply, LONGEST_TEXT))
    found = match_copies(own, passages)
    if not found.pieces and 0 < len(own.strip()) < LONGEST_REFUSAL and is_refusal(own):
        return Parsed([])
    return Parsed(found.pieces, malformed=bool(found.strange) or not found.pieces)


def chosen_passages(reply: str, passages: Sequence[Passage]) -> Parsed[list[Piece]]:
    """The passages, whole, whose numbers the reply gives. Default (malformed): all, as of `passage_ids`."""
    numbers = passage_ids(reply, count=len(passages))
    kept = [piece for piece in split_pieces(passages, "passage") if piece.rank + 1 in numbers.value]
    return Parsed(kept, numbers.malformed)
