"""Reads which parts of the passages a reply keeps: sentences that it copies, or passages that it names."""

from collections.abc import Sequence

from quorum.algorithms.copied_sentences import match_copies, says_no_sentence_helps
from quorum.algorithms.filco_measures import Piece, split_pieces
from quorum.core.state import Passage
from quorum.core.thinking import extract_first_turn
from quorum.parsing.answers import Parsed
from quorum.parsing.passage_ids import parse_passage_ids
from quorum.parsing.wrapping import LONGEST_READ_TEXT, shorten_reply

LONGEST_REFUSAL = 1000  # characters; a longer reply is not taken to say that no sentence helps


def parse_copied_sentences(reply: str, passages: Sequence[Passage]) -> Parsed[list[Piece]]:
    """The passages' sentences that the reply copies, in reading order; none if the reply says that no sentence helps.

    Text that is in no passage is left out and makes the reply malformed. A reply without copies is malformed, too,
    unless it says that no sentence helps.
    """
    turn = extract_first_turn(shorten_reply(reply, LONGEST_READ_TEXT))
    copies = match_copies(turn, passages)
    if not copies.pieces and 0 < len(turn.strip()) < LONGEST_REFUSAL and says_no_sentence_helps(turn):
        return Parsed([])
    return Parsed(copies.pieces, malformed=bool(copies.unmatched) or not copies.pieces)


def parse_chosen_passages(reply: str, passages: Sequence[Passage]) -> Parsed[list[Piece]]:
    """The passages that the reply chooses, one piece each. A malformed reply keeps all (see `parse_passage_ids`)."""
    numbers = parse_passage_ids(reply, count=len(passages))
    chosen_pieces = [piece for piece in split_pieces(passages, "passage") if piece.rank + 1 in numbers.value]
    return Parsed(chosen_pieces, numbers.malformed)
