"""What a reply that ranks passages says."""

import re
from collections.abc import Callable

from quorum.parsing.answers import Parsed
from quorum.parsing.wrapping import unwrapped

WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
PASSAGE = r"(?:passages?|documents?|docs?|texts?|contexts?|sources?|articles?)"
ORDINAL = re.compile(rf"\b({'|'.join(WORDS)})[ \t]+(?=(?:{PASSAGE}|one)\b)", re.IGNORECASE)
HEADING = re.compile(r"\b(?:ranking|order|ranked|answer|result)\b[^\n:：]{0,60}[:：]", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?!\w|\.\d)")
BRACKETS = re.compile(r"\[([\s\d#,\"']{1,9000})\]")
NAMED = re.compile(
    rf"\b{PASSAGE}[\s#:(\[]{{0,5}}\d{{1,9}}\b(?:[)\]]{{0,2}}(?:\s{{0,3}}(?:,|;|/|&|\band\b|\bthen\b)){{1,3}}\s{{0,3}}[#(\[]{{0,2}}\d{{1,9}}\b)*",
    re.IGNORECASE,
)
ARROW = re.compile(r"[-=]?>+=?|≻|→|⇒|≥|=")
LISTED = re.compile(r"^\W{0,4}(\d{1,4})[.):]\s+(.*)$")


def ranking(reply: str, count: int) -> Parsed[list[int]]:
    """The order of `count` passages, from 0, that a reply gives by their numbers, from 1: "[2] > [3] > [1]".

    Also read: bare numbers, "Passage 2, Passage 1", numbered lists, JSON, prose that names each passage in turn. A
    number that comes again, or that no passage has, is left out. Default: passages that were not named follow in the
    order they had; malformed, unless they are the last ones (which may not have fitted the prompt) after two or more.
    """
    if count < 2:
        return Parsed(list(range(count)))
    text = ORDINAL.sub(number_of, unwrapped(reply).replace("&gt;", ">").translate(MARKDOWN))
    named = numbers_in(final_part(text))
    known = list(dict.fromkeys(number - 1 for number in named if 0 < number <= count))
    rest = [place for place in range(count) if place not in set(known)]
    return Parsed(known + rest, malformed=len(known) < 2 or max(known) >= len(known))


MARKDOWN = str.maketrans("", "", "*`_")


def number_of(found: re.Match[str]) -> str:
    """'the second passage' as 'the passage 2 passage'."""
    return f"passage {WORDS.index(found[1].lower()) + 1} "


def final_part(text: str) -> str:
    """What follows the last "Ranking:", if that holds a number."""
    last = max((number.start() for number in NUMBER.finditer(text)), default=-1)
    ends = [heading.end() for heading in HEADING.finditer(text) if heading.end() <= last]
    return text[ends[-1] :] if ends else text


def numbers_in(text: str) -> list[int]:
    """The numbers of passages by the first way of writing that the text uses."""
    ways: tuple[Callable[[str], list[int]], ...] = (in_chain, in_list, in_brackets, by_name, bare)
    return next((found for way in ways if (found := way(text))), [])


def in_chain(text: str) -> list[int]:
    """'[2] Tea > [1] Coffee': the longest such line, the last of equals."""
    joined = re.sub(r"[ \t]{0,9}\n\s{0,9}(?=>)|(?<=>)[ \t]{0,9}\n\s{0,9}", " ", text)
    chains = [[n for part in ARROW.split(line) for n in first_of(part)] for line in joined.splitlines()]
    best = max(reversed(chains), key=len, default=[])
    return best if len(best) > 1 else []


def in_list(text: str) -> list[int]:
    """'1. Passage 3' and '2. Passage 1' on lines of their own: the rank, then the passage."""
    rows = [row for line in text.splitlines() if (row := LISTED.match(line.strip()))]
    ranks = [int(row[1]) for row in rows]
    found = [n for row in rows for n in first_of(row[2])]
    return found if len(rows) > 1 and len(found) == len(rows) and ranks == list(range(1, len(rows) + 1)) else []


def first_of(part: str) -> list[int]:
    """The number of the passage that a part of a line is about."""
    return (in_brackets(part) or by_name(part) or bare(part))[:1]


def in_brackets(text: str) -> list[int]:
    return [int(n) for inside in BRACKETS.findall(text) for n in NUMBER.findall(inside)]


def by_name(text: str) -> list[int]:
    return [int(n) for named in NAMED.findall(text) for n in NUMBER.findall(named)]


def bare(text: str) -> list[int]:
    return [int(n) for n in NUMBER.findall(text)]
