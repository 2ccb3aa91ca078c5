"""A model of vLLM's prefix cache: whole blocks of 16 tokens, found by all tokens up to their end.

A block can serve the next request as soon as its first request is scheduled. The last token of a prompt is always
computed, and nothing is evicted. A token is a piece of at most four letters or digits, or one other sign.
"""

import re

BLOCK = 16
TOKEN = re.compile(r"[^\W_]{1,4}|\s?[^\w\s]|_|\s+")
SLOT_ORDER = ("", "demonstrations", "passages", "question")  # the order of Quorum's prompts: constant parts come first
FAMILY_OF_PROMPT = {
    **dict.fromkeys(("conditional_summary", "answer_choices"), "candidates"),
    "choose": "judge",
    "answer_candidates": "answer",
}


def split_tokens(text: str) -> list[str]:
    return TOKEN.findall(text)


class PrefixCache:
    """Blocks by the hash of all tokens up to their end, and the text pieces that a better order could have shared."""

    def __init__(self) -> None:
        self.blocks: set[int] = set()
        self.starts: set[int] = set()
        self.pieces: set[tuple[str, str, str]] = set()

    def add_prompt(self, text: str, name: str, slots: dict[str, str]) -> tuple[int, int, int]:
        """How many tokens the prompt has, how many the cache serves, and how many it could have served at most.

        The last counts whole blocks: the longest beginning that an earlier prompt had or, if that is more, the head,
        demonstrations, passages and question that an earlier prompt of the same family had anywhere. A family is the
        prompts that one graph sends about the same passages.
        """
        tokens = split_tokens(text)
        cached, beginning = self.look_up_and_add(tokens)
        maximum = min(max(beginning, self.count_seen_tokens(FAMILY_OF_PROMPT.get(name, name), slots)), len(tokens) - 1)
        return len(tokens), cached, maximum // BLOCK * BLOCK

    def look_up_and_add(self, tokens: list[str]) -> tuple[int, int]:
        """The number of tokens in cached blocks and in the longest known beginning. Adds all tokens to the cache."""
        prefix_hash, cached, beginning, hit, known = 0, 0, 0, True, True
        for index, token in enumerate(tokens):
            prefix_hash = hash((prefix_hash, token))
            known = known and prefix_hash in self.starts
            self.starts.add(prefix_hash)
            beginning += known
            if (index + 1) % BLOCK == 0:
                hit = hit and prefix_hash in self.blocks and index + 1 < len(tokens)
                self.blocks.add(prefix_hash)
                cached += BLOCK if hit else 0
        return cached, beginning

    def count_seen_tokens(self, family: str, slots: dict[str, str]) -> int:
        """The number of tokens in pieces that the family had before. The question counts only if its passages do,
        because it follows them.
        """
        pieces = [(family, kind, slots[kind]) for kind in SLOT_ORDER if slots.get(kind)]
        seen_names = {piece[1] for piece in pieces if piece in self.pieces}
        self.pieces.update(pieces)
        if "passages" not in seen_names:
            seen_names.discard("question")
        return sum(len(split_tokens(slots[kind])) for kind in seen_names)
