"""A model of vLLM's prefix cache: blocks of 16 tokens. The key of a block is all tokens from the prompt's first to the
block's last.

A block can serve other requests as soon as the first request that has it is scheduled. The last token of a prompt is
always computed, and nothing is evicted. A token is a piece of at most four letters or digits, one other sign, or
white space.
"""

import re

BLOCK = 16
TOKEN = re.compile(r"[^\W_]{1,4}|\s?[^\w\s]|_|\s+")
# The parts of a prompt of Quorum, in their order, by their keys in `variables`. "" is the fixed text at its head.
PART_ORDER = ("", "demonstrations", "passages", "question")
# Prompts that one graph sends about the same passages are a family, named by one of them. A prompt that is not listed
# is a family of its own.
FAMILY_OF_PROMPT = {
    **dict.fromkeys(("conditional_summary", "conditional_summary_long", "answer_choices"), "candidates"),
    "choose": "judge",
    "answer_candidates": "answer",
}


def split_tokens(text: str) -> list[str]:
    return TOKEN.findall(text)


class PrefixCache:
    """What the cache knows of the prompts so far.

    blocks: the hash of each beginning whose length is a whole number of blocks; beginnings: the hash of each beginning
    of any length; seen_parts: (family, name of the part, text) of each part of these prompts.

    `seen_parts` tells which parts of a new prompt an earlier prompt of the same family had, too. In a better order
    these parts could stand at the beginning, where the cache would serve them. Their tokens therefore count among those
    that the cache could have served at most.
    """

    def __init__(self) -> None:
        self.blocks: set[int] = set()
        self.beginnings: set[int] = set()
        self.seen_parts: set[tuple[str, str, str]] = set()

    def add_prompt(self, text: str, name: str, variables: dict[str, str]) -> tuple[int, int, int]:
        """Add a prompt. Returns how many tokens it has, how many of them the cache serves, and how many it could have
        served at most.

        name: the prompt's name; variables: the texts of its parts, by the keys of PART_ORDER. The third number
        is the greater of two, rounded down to whole blocks: the longest beginning that an earlier prompt had, and the
        parts (fixed text, demonstrations, passages, question) that an earlier prompt of the same family had anywhere. A
        family is the prompts that one graph sends about the same passages.
        """
        tokens = split_tokens(text)
        cached_count, known_length = self.look_up_and_add(tokens)
        maximum = min(
            max(known_length, self.count_seen_tokens(FAMILY_OF_PROMPT.get(name, name), variables)), len(tokens) - 1
        )
        return len(tokens), cached_count, maximum // BLOCK * BLOCK

    def look_up_and_add(self, tokens: list[str]) -> tuple[int, int]:
        """The number of tokens in cached blocks and in the longest known beginning. Adds all tokens to the cache."""
        prefix_hash, cached_count, known_length, is_cached, is_known = 0, 0, 0, True, True
        for index, token in enumerate(tokens):
            prefix_hash = hash((prefix_hash, token))
            is_known = is_known and prefix_hash in self.beginnings
            self.beginnings.add(prefix_hash)
            known_length += is_known
            if (index + 1) % BLOCK == 0:
                is_cached = is_cached and prefix_hash in self.blocks and index + 1 < len(tokens)
                self.blocks.add(prefix_hash)
                cached_count += BLOCK if is_cached else 0
        return cached_count, known_length

    def count_seen_tokens(self, family: str, variables: dict[str, str]) -> int:
        """The number of tokens in the parts that an earlier prompt of the family had. The question counts only if the
        passages do, because it follows them. Adds the parts to `seen_parts`.
        """
        parts = [(family, name, variables[name]) for name in PART_ORDER if variables.get(name)]
        seen_names = {part[1] for part in parts if part in self.seen_parts}
        self.seen_parts.update(parts)
        if "passages" not in seen_names:
            seen_names.discard("question")
        return sum(len(split_tokens(variables[name])) for name in seen_names)
