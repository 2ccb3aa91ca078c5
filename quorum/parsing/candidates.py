"""Reads candidate answers from a reply: a lettered, numbered or bulleted list, or JSON."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from quorum.algorithms.vote_key import VoteKey, vote_key
from quorum.core.json_text import parse_json
from quorum.core.text import is_unknown
from quorum.parsing.answers import Parsed, clean_answer, get_first_line, list_lines
from quorum.parsing.wrapping import remove_wrapping

# Only so many characters and items are read; a longer reply comes from a model that repeats itself without end.
LONGEST_READ_REPLY, MAX_ITEMS = 20_000, 100


def parse_candidates(reply: str, limit: int, key: VoteKey = vote_key) -> Parsed[list[str]]:
    """At most `limit` distinct candidates, in the reply's order. `key` gives the same text for candidates that are one.

    An item that says "unknown" or "N/A" is not a candidate, nor is a "None" after the first item.

    The reply may be JSON, or a list with markers in one of these styles, tried in this order: (a) [a] a) a. a: (1) 1)
    1. 1: [1], bullets. A letter may be a capital. Any other reply is malformed: its candidates are the quoted strings
    if it looks like broken JSON, else its lines, except those that end with a colon.

    >>> parse_candidates("(a) Oslo (b) Bergen", 2).value
    ['Oslo', 'Bergen']
    """
    text = remove_wrapping(reply).strip()[:LONGEST_READ_REPLY]
    items = read_json_candidates(text) or split_at_markers(text)
    if items:
        return Parsed(find_distinct_candidates(items, key)[:limit])
    items = find_quoted_values(text) or [line for line in list_lines(text) if not line.endswith((":", "："))]
    return Parsed(find_distinct_candidates(items, key)[:limit], malformed=True)


def find_distinct_candidates(items: Iterable[str], key: VoteKey) -> list[str]:
    """The first MAX_ITEMS items, cleaned, without those that say "unknown" or have no letter or digit, and without
    repetitions (items with an equal key).

    A "None" that is not the first item only fills the list, and is left out; as the first one it is an answer.
    """
    distinct: dict[str, str] = {}
    for number, item in enumerate(map(clean_item, islice(items, MAX_ITEMS))):
        fills_list = number > 0 and item.lower() == "none"
        if any(character.isalnum() for character in item) and not is_unknown(item) and not fills_list:
            distinct.setdefault(key(item), item)
    return list(distinct.values())


@dataclass(frozen=True)
class Style:
    """A way to mark items. labels: the labels in the order in which a list uses them. pattern: a regular expression
    that has LABEL where the label stands.

    has_brackets: whether brackets enclose the label: (a), [a]. may_stand_alone: whether a single marker makes a list; a
    marker without brackets must then begin a line. places: where markers may stand: 1 only at the beginning of a line,
    2 also after a separator, 3 also after any space, 4 anywhere; smaller numbers are tried first.
    """

    labels: tuple[str, ...]
    pattern: str
    has_brackets: bool = False
    may_stand_alone: bool = True
    places: int = 3


LOWER_LETTERS, UPPER_LETTERS = tuple(ascii_lowercase), tuple(ascii_uppercase)
NUMBERS = tuple(str(number) for number in range(1, 27))
CANDIDATE_NOUN = r"(?:(?i:candidate|answer|option|choice|prediction)s?[ \t]*#?)?"
ROUND_LABEL = r"[(]\s?[*_]{0,2}LABEL[*_]{0,2}\s?[)][*_]{0,2}[.:：]?"  # (a)
SQUARE_LABEL = r"\[\s?LABEL\s?\][.:：]?"  # [a]
PARENTHESIS_LABEL = r"LABEL[)][.:：]?"  # a)
DOT_LABEL = r"LABEL[*_]{0,2}\.(?=[\s*_]|\Z)"  # a.
COLON_LABEL = r"LABEL[\"'*_]{0,2}[ \t]?[:：](?=[\s*_]|\Z)"  # a:
LABEL_STYLES = (
    *(
        Style(letters, pattern, has_brackets=True, places=4)
        for pattern in (ROUND_LABEL, SQUARE_LABEL)
        for letters in (LOWER_LETTERS, UPPER_LETTERS)
    ),
    *(Style(letters, PARENTHESIS_LABEL) for letters in (LOWER_LETTERS, UPPER_LETTERS)),
    Style(LOWER_LETTERS, DOT_LABEL),
    Style(UPPER_LETTERS, DOT_LABEL, may_stand_alone=False),  # "A. A. Milne" is a name
    *(Style(letters, COLON_LABEL) for letters in (UPPER_LETTERS, LOWER_LETTERS)),
    Style(NUMBERS, ROUND_LABEL, has_brackets=True),
    *(Style(NUMBERS, pattern) for pattern in (PARENTHESIS_LABEL, DOT_LABEL, COLON_LABEL)),
    Style(NUMBERS, SQUARE_LABEL, places=1),  # inside a line, [1] cites a passage
)
MARKDOWN = r"[*_`\"'“]{0,3}"
LINE_START = rf"^[ \t]*(?:[-•*>#|+–]{{1,4}}[ \t]+|\d{{1,2}}[.)][ \t]+)?{MARKDOWN}"
AFTER_SEPARATOR = rf"(?:(?:(?<=[,;|/:.])|(?<!\w)(?:and|or|&))\s+|(?<=[,;|/])){MARKDOWN}"
AFTER_SPACE = rf"(?<!\S){MARKDOWN}"
LABEL_PLACES = (LINE_START, AFTER_SEPARATOR, AFTER_SPACE, "")
BULLET = re.compile(r"^[ \t]*(?:[-*+–—][ \t]+|[•·‣▪][ \t]*)(?=\S)|(?<=\s)[•‣▪][ \t]*", re.MULTILINE)


@cache
def compile_marker(style: Style, label: str, places: int) -> re.Pattern[str]:
    """The pattern of one marker. places: where it matches: 1 only at the beginning of a line, 2 also after a separator,
    3 also after any space, 4 anywhere.
    """
    places_pattern = "|".join(LABEL_PLACES[:places])
    label_pattern = style.pattern.replace("LABEL", label)
    return re.compile(rf"(?:{places_pattern}){CANDIDATE_NOUN}{label_pattern}(?:[*_`]{{1,3}}(?=\s|\Z))?", re.MULTILINE)


def split_at_markers(text: str) -> list[str]:
    """The items of the first style that finds two or more of them. If none does: the only item of the first style that
    may mark a single one, else the items after bullets. Empty if there are no markers.
    """
    single_item: list[str] = []
    for style in LABEL_STYLES:
        for places in range(1, 1 + style.places):
            items = split_at_style(text, style, places)
            if len(items) > 1:
                return items
            if len(items) == 1 and not single_item and style.may_stand_alone and (style.has_brackets or places == 1):
                single_item = items
    return single_item or [item for item in BULLET.split(text)[1:] if item.strip()]


def split_at_style(text: str, style: Style, places: int) -> list[str]:
    """The text after each marker of one style, as long as the labels come in order.

    Unless the style has brackets, there must be text between two markers.
    """
    markers: list[re.Match[str]] = []
    for label in style.labels:
        begin = markers[-1].end() if markers else 0
        matches = compile_marker(style, label, places).finditer(text, begin)
        marker = next(
            (match for match in matches if not markers or style.has_brackets or text[begin : match.start()].strip()),
            None,
        )
        if marker is None:
            break
        markers.append(marker)
    ends = [*(marker.start() for marker in markers[1:]), len(text)] if markers else []
    return [
        remove_closing_asterisk(marker.group(), text[marker.end() : end])
        for marker, end in zip(markers, ends, strict=True)
    ]


def remove_closing_asterisk(marker: str, item: str) -> str:
    """The item without its closing asterisk if the opening one is part of its marker, as in "*(a) Oslo*"."""
    return re.sub(r"\*(?=\W{0,9}\Z)", "", item, count=1) if marker.count("*") == 1 else item


# What introduces a candidate: "The answer to the question is: Oslo".
LEAD_IN = re.compile(
    r"(?:the|my|one|an?|another)\s+(?:\w+\s+){0,2}?(?:candidate|answer|option|prediction)s?(?:\s+answers?)?"
    r"(?P<to>\s+to\s+(?:the|this|your|that)\s+question)?"
    r"\s+(?:is|are|was|were|would\s+be|could\s+be|may\s+be|might\s+be)(?:\s*[:：]\s*|(?(to)\s+|(?!)))",
    re.IGNORECASE,
)
UNFINISHED_LABEL = re.compile(r"\s{0,9}[(\[]\s?\w?\s?\Z")  # an unfinished marker at the end of the reply
CITATION = re.compile(
    r"(?:\s{0,9}(?:\[[\d, –-]{1,40}\]|[(\[](?:passages?|sources?|see|from)\b[^()\[\]]{0,80}[)\]])){1,5}\W{0,5}\Z",
    re.IGNORECASE,
)


def clean_item(item: str) -> str:
    """The first line of an item, without lead-in, citations, markdown, quotes and trailing punctuation."""
    line = CITATION.sub("", UNFINISHED_LABEL.sub("", get_first_line(item)))
    if lead_in := LEAD_IN.match(line.lstrip(" *_`\"'“")):
        line = line.lstrip(" *_`\"'“")[lead_in.end() :].lstrip(" *_")
    text = clean_answer(line.strip(" |/&"))
    for left, right in (("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("“", "”")):
        text_without_closing_mark = text.removesuffix(right)
        # The opening mark is not in the item, but before the item's marker, as in "**(a) Oslo**".
        if text_without_closing_mark != text and left not in text_without_closing_mark:
            text = clean_answer(text_without_closing_mark)
    return text


# A key of a JSON object that is a letter or a number, perhaps after a noun: "b", "3", "candidate 2".
LABEL_KEY = re.compile(r"\W*(?:(?:candidate|answer|option|choice|prediction)s?[\W_]*)?(?:[a-z]|\d{1,2})\W*")
LIST_KEYS = ("candidates", "candidate_answers", "answers", "options", "choices", "predictions")


def read_json_candidates(text: str) -> list[str]:
    """The candidates in a reply's JSON list or object (see `collect_candidates`); empty if there is no valid JSON."""
    for piece in find_json_pieces(text):
        try:
            return [str(item) for item in collect_candidates(parse_json(piece))]
        except ValueError:
            continue
    return []


def find_json_pieces(text: str) -> list[str]:
    """The parts that may be JSON: the outermost list, if the text begins with it or has a code fence, and the outermost
    object.
    """
    list_text = text[text.find("[") : text.rfind("]") + 1] if text.startswith("[") or "```" in text else ""
    object_text = text[text.find("{") : text.rfind("}") + 1]
    return [piece for piece in (list_text, object_text) if piece]


def collect_candidates(value: Any) -> Sequence[str | int | float]:
    """The candidates in a JSON value.

    Of a list: its texts and numbers, and the first candidate of each object in it. Of an object, the first of these
    that it has: the value of a key such as "candidates", the values of lettered or numbered keys, the list or object
    under its only key, the values of "candidate", "answer", "text" and "value".
    """
    if isinstance(value, list):
        return [
            text
            for item in value
            for text in (collect_candidates(item)[:1] if isinstance(item, dict) else keep_scalars([item]))
        ]
    if not isinstance(value, dict):
        return []
    by_name = {key.lower().strip(): content for key, content in value.items()}
    nested_list = next((by_name[name] for name in LIST_KEYS if isinstance(by_name.get(name), list | dict)), None)
    if nested_list is not None:
        return collect_candidates(nested_list)
    if labelled_values := keep_scalars(content for key, content in by_name.items() if LABEL_KEY.fullmatch(key)):
        return labelled_values
    if len(by_name) == 1 and isinstance(only_value := next(iter(by_name.values())), list | dict):
        return collect_candidates(only_value)
    return keep_scalars(by_name[name] for name in ("candidate", "answer", "text", "value") if name in by_name)


def keep_scalars(values: Iterable[Any]) -> list[str | int | float]:
    return [value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)]


QUOTED_ITEM = re.compile(r"(?<=[\[{,:\s])(?:\"([^\"\n]*)\"?|'([^'\n]*)')(?=\s{0,9}[,\]}]|\s{0,9}\Z)")


def find_quoted_values(text: str) -> list[str]:
    """The quoted values of a list or object that is not valid JSON, because it was cut or is Python."""
    if not text.startswith(("{", "[")):
        return []
    return [double or single for double, single in QUOTED_ITEM.findall(text)]
