"""Generated input for `benchmarks.fuzz`: odd replies, damaged documents and damaged data files."""

import gzip
import json
import random
from typing import Any

from hypothesis import strategies as st

REPLY_PIECES = [
    *("Answer:", "**Answer:**", "Rationale:", "Question:", "Passage 1", "Passage 2", "passage", "Passages:", "[1]"),
    *("[2] > [1]", "(a)", "(b)", "a)", "A.", "1.", "- ", "* ", "1-3", "the second", "none", "None.", "all", "True"),
    *("False", "not", "isn't", "neither", "both", "yes", "No.", "unknown", "Unknown -", "I don't know", "Search["),
    *("Finish[", "]", "Action 1:", "Thought 2:", "Observation 1:", "Follow up:", "Intermediate answer:", "Notes:"),
    *(
        "So the final answer is:",
        "So the answer is",
        "[DONE]",
        "[MASK]",
        "Hidden:",
        "Statement:",
        "<think>",
        "</think>",
    ),
    *(
        '{"answer": "',
        '"}',
        '{"ids": [1, 2',
        "]}",
        "```json",
        "```",
        "{",
        "}",
        '"',
        "SUPPORTS",
        "REFUTES",
        "\\",
        "\\ud83d",
        '{"answer": "\\ud83d", "rationale": "',
        "\x00",
    ),
    *(
        "Joseph Haydn was born in Rohrau.",
        "99999999999999999999",
        "１２",
        "٣",
        "\u202e",
        "🗼",
        "ß",
        "İ",
        "\n",
        "\n\n",
        "\t",
        "…",
    ),
]
LONG_REPEATS = ["(" * 200, "[" * 200, "a" * 2000, "1, " * 300, "not " * 200, "- x\n" * 200, "1" * 5000, '{"a":' * 2000]
ODD_VALUES: list[Any] = [
    *(None, 0, -1.5, True, "", "x", "\ud83d", [], {}, [None], [[1]], {"a": {}}, float("nan"), 10**30, 10**4000),
]
# No lone surrogates: the replies that `quorum.models.call` returns have none, either.
WHOLE_CHARACTERS = st.characters(exclude_categories=["Cs"])
WORDS = st.one_of(st.sampled_from(REPLY_PIECES), st.text(WHOLE_CHARACTERS, max_size=12), WHOLE_CHARACTERS)
REPLIES = st.builds(
    lambda parts, separator, repetition: separator.join([*parts, repetition, *parts[:2]]),
    st.lists(WORDS, max_size=14),
    st.sampled_from(["", " ", "\n"]),
    # one reply in nine repeats itself, like a model in a loop
    st.sampled_from([*LONG_REPEATS, *[""] * 8 * len(LONG_REPEATS)]),
)


HEADS = {
    ".pdf": b"%PDF-1.4\n",
    ".docx": b"PK\x03\x04",
    ".odt": b"PK\x03\x04",
    ".rtf": b"{\\rtf1\\ansi ",
    ".msg": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
}


def make_document(suffix: str, text: str, rng: random.Random) -> bytes:
    """Bytes for a file with this suffix: the text in the file's format with random damage, or random bytes.

    For .pdf, .docx and the like, only the first bytes are those of the format; damaged text or random bytes follow.
    """
    if suffix.startswith(".jsonl"):
        values = [{"id": f"i{rng.randrange(9)}", "title": "t", "text": piece} for piece in text.split("\n\n")]
        unpacked_data = damage_bytes("\n".join(json.dumps(value) for value in values).encode(), rng)
        if suffix == ".jsonl":
            return unpacked_data
        packed_data = gzip.compress(unpacked_data)
        return damage_bytes(packed_data, rng) if rng.random() < 0.3 else packed_data
    if suffix == ".html":
        return damage_bytes(f"<html><body><h1>{text[:40]}</h1><p>{text}</p></body></html>".encode(), rng)
    return HEADS.get(suffix, b"") + damage_bytes(text.encode(), rng)


def damage_bytes(data: bytes, rng: random.Random) -> bytes:
    """The bytes, some of them removed, doubled or replaced by random ones; sometimes only random bytes."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(2000))
    damaged_data = bytearray(data)
    for _ in range(rng.choice((0, 1, 3, 20))):
        if not damaged_data:
            break
        start, length = rng.randrange(len(damaged_data)), rng.randrange(1, 40)
        odd_bytes = rng.choice((b"\n", b"\xff\xfe", b"\\ud83d", b"1" * 5000, b"[" * 2000))
        damaged_data[start : start + length] = rng.choice(
            (b"", rng.randbytes(length), damaged_data[start : start + length] * 2, odd_bytes)
        )
    return bytes(damaged_data)


def damage_value(value: Any, rng: random.Random) -> Any:
    """The JSON value with some of its parts replaced by odd values, and some keys of its objects removed."""
    if rng.random() < 0.06:
        return rng.choice(ODD_VALUES)
    if isinstance(value, dict):
        return {key: damage_value(part, rng) for key, part in value.items() if rng.random() > 0.03}
    return [damage_value(part, rng) for part in value] if isinstance(value, list) else value
