"""Gives replies of odd shapes to all code that reads replies: python -m benchmarks.reply_shapes [--characters N]

A reader is here a function that reads a model's reply. A megabyte of each of 26 shapes goes through all readers: every
parser, the removal of thoughts, `is_unknown`, and the normalisation and comparison of answers. Prints the slowest
reader of each shape with its time, also for half the size: a linear reader takes about twice as long for twice the
text. Exits 1 if a reader takes more than --limit seconds.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks.fuzz import find_parsers
from benchmarks.harness import judge_targets, report
from quorum.algorithms.vote_key import vote_key
from quorum.core.text import is_unknown, normalize, squad_exact_match
from quorum.core.thinking import extract_first_turn, remove_thinking

MEGABYTE = 1_000_000  # characters


def repeat_text(piece: str, characters: int) -> str:
    return (piece * (characters // len(piece) + 1))[:characters]


def make_numbered_lines(characters: int) -> str:
    return "".join(f"{number}. item {number}\n" for number in range(characters // 12))[:characters]


def make_distinct_words(characters: int) -> str:
    return " ".join(f"w{number:x}" for number in range(characters // 6))[:characters]


def make_nested_text(opening: str, closing: str, characters: int) -> str:
    depth = characters // (len(opening) + len(closing))
    return opening * depth + closing * depth


SHAPES: Mapping[str, Callable[[int], str]] = {
    "opening brackets": partial(repeat_text, "["),
    "pairs of brackets": partial(repeat_text, "[1] "),
    "parentheses": partial(make_nested_text, "(", ")"),
    "tags": partial(repeat_text, "<answer>"),
    "boxes": partial(repeat_text, "\\boxed{"),
    "one word, spaced": partial(repeat_text, "the "),
    "one word, endless": partial(repeat_text, "a"),
    "words": make_distinct_words,
    "spaces": partial(repeat_text, " "),
    "new lines": partial(repeat_text, "\n"),
    "blank lines with spaces": partial(repeat_text, " \t\n"),
    "digits": partial(repeat_text, "1"),
    "quotes": partial(repeat_text, "\"'"),
    "thoughts never closed": partial(repeat_text, "<think>"),
    "thoughts in thoughts": partial(make_nested_text, "<think>", "</think>"),
    "answers": partial(repeat_text, "Answer: "),
    "lettered items": partial(repeat_text, "(a) "),
    "numbered lines": make_numbered_lines,
    "commas": partial(repeat_text, ", "),
    "combining marks": partial(repeat_text, "e\u0301\u0323"),
    "marks of direction": partial(repeat_text, "\u202e\u2067a"),
    "JSON, deep": partial(make_nested_text, '{"a":', "}"),
    "a table": partial(repeat_text, "| a | b |\n|---|---|\n"),
    "code fences": partial(repeat_text, "```json\n{}\n```\n"),
    "not, not": partial(repeat_text, "is not Passage 1 but Summary 2 is better than not, "),
    "sentences": partial(repeat_text, "I do not know whether it is true, but so the answer is (B). "),
}


def find_readers() -> dict[str, Callable[[str], Any]]:
    """Every function that reads a model's whole reply, by name."""
    return {
        **find_parsers(),
        "remove_thinking": remove_thinking,
        "extract_first_turn": extract_first_turn,
        "is_unknown": is_unknown,
        "normalize": normalize,
        "vote_key": vote_key,
        "exact_match": lambda reply: squad_exact_match(reply, ["Rohrau"]),
    }


def time_reader(read: Callable[[str], Any], reply: str) -> float:
    """The processor time, in seconds, that the reader takes for the reply: the shorter of two measurements."""
    seconds = []
    for _ in range(2):
        begin = time.process_time()
        read(reply)
        seconds.append(time.process_time() - begin)
    return min(seconds)


def find_slowest_reader(shape: str, characters: int) -> dict[str, Any]:
    """The reader that takes longest for a reply of a shape, and its seconds for the whole reply and for half of it."""
    reply, half_reply = SHAPES[shape](characters), SHAPES[shape](characters // 2)
    seconds = {name: time_reader(read, reply) for name, read in find_readers().items()}
    slowest = max(seconds, key=lambda name: seconds[name])
    return {
        "shape": shape,
        "slowest": slowest,
        "half": f"{time_reader(find_readers()[slowest], half_reply):.3f}",
        "all": f"{seconds[slowest]:.3f}",
    }


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--characters", type=int, default=MEGABYTE, help="length of a reply")
    cli.add_argument("--limit", type=float, default=0.3, help="seconds that a reader may take")
    options = cli.parse_args()
    rows = [find_slowest_reader(shape, options.characters) for shape in SHAPES]
    verdicts = {row["shape"]: float(row["all"]) <= options.limit for row in rows}
    title = f"the slowest reader of {options.characters:,} characters, in seconds"
    report(title, list(rows[0]), [list(row.values()) for row in rows], **judge_targets(verdicts))
    sys.exit(not all(verdicts.values()))


if __name__ == "__main__":
    main()
