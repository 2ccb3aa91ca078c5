"""Reads which parts of the passages a reply keeps: sentences that it copies, or passages that it names."""

from collections.abc import Sequence

from quorum.algorithms.copied_sentences import is_refusal, match_copies
from quorum.algorithms.filco_measures import Piece, split_pieces
from quorum.core.state import Passage
from quorum.core.thinking import cut_own_turn
from quorum.parsing.answers import Parsed
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.wrapping import LONGEST_TEXT, shorten

LONGEST_REFUSAL = 1000  # characters of a reply that may say that no sentence helps


def parse_copied_sentences(reply: str, passages: Sequence[Passage]) -> Parsed[list[Piece]]:
    """The passages' sentences that the reply copies, in reading order. "None" keeps no sentence.

    Text that is in no passage makes the reply malformed and is dropped; a reply that copies nothing keeps nothing.
    """
    own = cut_own_turn(shorten(reply, LONGEST_TEXT))
    found = match_copies(own, passages)
    if not found.pieces and 0 < len(own.strip()) < LONGEST_REFUSAL and is_refusal(own):
        return Parsed([])
    return Parsed(found.pieces, malformed=bool(found.strange) or not found.pieces)


def parse_chosen_passages(reply: str, passages: Sequence[Passage]) -> Parsed[list[Piece]]:
    """The whole passages whose numbers the reply gives. If it is malformed, all passages (see `parse_passage_ids`)."""
    numbers = parse_passage_ids(reply, count=len(passages))
    kept = [piece for piece in split_pieces(passages, "passage") if piece.rank + 1 in numbers.value]
    return Parsed(kept, numbers.malformed)
