"""A model of a prefix cache, as vLLM keeps it: whole blocks of 16 tokens, found by all that stands before them.

A block can be served to the next request as soon as the one that brings it is scheduled, the last token of a prompt is
always computed, and nothing is ever evicted. Tokens are pieces of at most four letters or digits, one sign each.
"""

import re

BLOCK = 16
TOKEN = re.compile(r"[^\W_]{1,4}|\s?[^\w\s]|_|\s+")
ORDER = ("", "demonstrations", "passages", "question")  # the house's order of a prompt: what never changes comes first
FAMILY = {
    **dict.fromkeys(("conditional_summary", "answer_choices"), "candidates"),
    "choose": "judge",
    "answer_candidates": "answer",
}


def tokens_of(text: str) -> list[str]:
    return TOKEN.findall(text)


class PrefixCache:
    """Blocks by the hash of all up to their end, and every text piece that a better order could have shared."""

    def __init__(self) -> None:
        self.blocks: set[int] = set()
        self.starts: set[int] = set()
        self.pieces: set[tuple[str, str, str]] = set()

    def take(self, text: str, name: str, slots: dict[str, str]) -> tuple[int, int, int]:
        """Tokens of the prompt, those served from the cache, and the most that could have been.

        That ceiling is what the texts allow, in whole blocks: the longest beginning that an earlier prompt had or, if
        that is more, what stands in an earlier prompt of the same family (those that one graph sends about the same
        passages) of head, demonstrations, passages and question, wherever it stands.
        """
        tokens = tokens_of(text)
        cached, beginning = self.serve(tokens)
        most = min(max(beginning, self.seen_before(FAMILY.get(name, name), slots)), len(tokens) - 1)
        return len(tokens), cached, most // BLOCK * BLOCK

    def serve(self, tokens: list[str]) -> tuple[int, int]:
        """Tokens found in whole blocks, and in the longest known beginning; all of them are known from now on."""
        so_far, cached, beginning, hit, known = 0, 0, 0, True, True
        for index, token in enumerate(tokens):
            so_far = hash((so_far, token))
            known = known and so_far in self.starts
            self.starts.add(so_far)
            beginning += known
            if (index + 1) % BLOCK == 0:
                hit = hit and so_far in self.blocks and index + 1 < len(tokens)
                self.blocks.add(so_far)
                cached += BLOCK if hit else 0
        return cached, beginning

    def seen_before(self, family: str, slots: dict[str, str]) -> int:
        """Tokens of a prompt's pieces that its family had before; the question counts with its passages alone, for it
        follows them.
        """
        pieces = [(family, kind, slots[kind]) for kind in ORDER if slots.get(kind)]
        seen = {piece[1] for piece in pieces if piece in self.pieces}
        self.pieces.update(pieces)
        if "passages" not in seen:
            seen.discard("question")
        return sum(len(tokens_of(slots[kind])) for kind in seen)
