"""Reads the order in which a reply ranks passages."""

import re
from collections.abc import Callable

from quorum.parsing.answers import Parsed
from quorum.parsing.wrapping import remove_wrapping

ORDINAL_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
PASSAGE_NOUN = r"(?:passages?|documents?|docs?|texts?|contexts?|sources?|articles?)"
ORDINAL = re.compile(rf"\b({'|'.join(ORDINAL_WORDS)})[ \t]+(?=(?:{PASSAGE_NOUN}|one)\b)", re.IGNORECASE)
HEADING = re.compile(r"\b(?:ranking|order|ranked|answer|result)\b[^\n:：]{0,60}[:：]", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?!\w|\.\d)")
BRACKETED_NUMBERS = re.compile(r"\[([\s\d#,\"']{1,9000})\]")
NAMED_PASSAGES = re.compile(
    rf"\b{PASSAGE_NOUN}[\s#:(\[]{{0,5}}\d{{1,9}}\b(?:[)\]]{{0,2}}(?:\s{{0,3}}(?:,|;|/|&|\band\b|\bthen\b)){{1,3}}\s{{0,3}}[#(\[]{{0,2}}\d{{1,9}}\b)*",
    re.IGNORECASE,
)
ARROW = re.compile(r"[-=]?>+=?|≻|→|⇒|≥|=")
NUMBERED_LINE = re.compile(r"^\W{0,4}(\d{1,4})[.):]\s+(.*)$")


def parse_ranking(reply: str, count: int) -> Parsed[list[int]]:
    """The order in which a reply ranks `count` passages, best first, as positions in the prompt, counted from 0.

    The reply numbers passages from 1: "[2] > [3] > [1]". It may also consist of bare numbers ("2, 3, 1"), named
    passages ("Passage 2, Passage 1"), a numbered list, JSON, or prose that names each passage in turn. Repeated numbers
    and numbers that no passage has are ignored.

    Passages that the reply does not name follow in their original order. A reply that leaves out passages is malformed,
    with one exception: it names at least two passages and leaves out only the last ones of the original order, because
    these may not have fitted into the prompt.

    >>> parse_ranking("[2] > [3] > [1]", 3).value
    [1, 2, 0]
    """
    if count < 2:
        return Parsed(list(range(count)))
    text = ORDINAL.sub(rewrite_ordinal, remove_wrapping(reply).replace("&gt;", ">").translate(MARKDOWN_MARKS))
    numbers = find_numbers(find_final_part(text))
    ranked_positions = list(dict.fromkeys(number - 1 for number in numbers if 0 < number <= count))
    rest = [position for position in range(count) if position not in set(ranked_positions)]
    named_count = len(ranked_positions)
    return Parsed(ranked_positions + rest, malformed=named_count < 2 or max(ranked_positions) >= named_count)


MARKDOWN_MARKS = str.maketrans("", "", "*`_")


def rewrite_ordinal(match: re.Match[str]) -> str:
    """Write "second" as "passage 2 ": "the second passage" becomes "the passage 2 passage"."""
    return f"passage {ORDINAL_WORDS.index(match[1].lower()) + 1} "


def find_final_part(text: str) -> str:
    """The text after the last heading such as "Ranking:" that has a number after it; the whole text if there is no such
    heading.
    """
    last = max((number.start() for number in NUMBER.finditer(text)), default=-1)
    ends = [heading.end() for heading in HEADING.finditer(text) if heading.end() <= last]
    return text[ends[-1] :] if ends else text


def find_numbers(text: str) -> list[int]:
    """The passages' numbers in the order of the text, by the first of the readers below that finds any."""
    readers: tuple[Callable[[str], list[int]], ...] = (
        read_chain,
        read_numbered_list,
        read_bracketed_numbers,
        read_named_passages,
        read_bare_numbers,
    )
    return next((numbers for read in readers if (numbers := read(text))), [])


def read_chain(text: str) -> list[int]:
    """The numbers in a line such as "[2] Tea > [1] Coffee". If the text has several such lines, the one with the most
    numbers is read, and of equally long ones the last. Empty if no line has two numbers with an arrow between them.
    """
    joined_text = re.sub(r"[ \t]{0,9}\n\s{0,9}(?=>)|(?<=>)[ \t]{0,9}\n\s{0,9}", " ", text)
    chains = [[n for part in ARROW.split(line) for n in read_first_number(part)] for line in joined_text.splitlines()]
    best = max(reversed(chains), key=len, default=[])
    return best if len(best) > 1 else []


def read_numbered_list(text: str) -> list[int]:
    """The passages' numbers in a list whose lines begin with the rank: "1. Passage 3", "2. Passage 1". Empty if the
    ranks are not 1, 2, 3 ... or a line names no passage.
    """
    rows = [row for line in text.splitlines() if (row := NUMBERED_LINE.match(line.strip()))]
    ranks = [int(row[1]) for row in rows]
    numbers = [n for row in rows for n in read_first_number(row[2])]
    return numbers if len(rows) > 1 and len(numbers) == len(rows) and ranks == list(range(1, len(rows) + 1)) else []


def read_first_number(part: str) -> list[int]:
    """The first passage number in a part of a line, as a list of one number; empty if there is none."""
    return (read_bracketed_numbers(part) or read_named_passages(part) or read_bare_numbers(part))[:1]


def read_bracketed_numbers(text: str) -> list[int]:
    return [int(n) for inside in BRACKETED_NUMBERS.findall(text) for n in NUMBER.findall(inside)]


def read_named_passages(text: str) -> list[int]:
    return [int(n) for named_group in NAMED_PASSAGES.findall(text) for n in NUMBER.findall(named_group)]


def read_bare_numbers(text: str) -> list[int]:
    return [int(n) for n in NUMBER.findall(text)]
