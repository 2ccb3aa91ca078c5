"""Answers questions that compare two things, by the dates and numbers that passages give for each of them.

Rules decide, without a model. They cover questions such as which of two was born first, is taller or has more of
something, and whether one is older than the other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quorum.algorithms.answer_dates import rewrite_dates
from quorum.algorithms.answer_numbers import is_number, rewrite_numbers
from quorum.core.sentences import make_word_set

Extreme = Literal["least", "most"]
Kind = Literal["date", "number"]

EARLIER_WORDS = make_word_set("first earlier earliest older oldest sooner before")
LATER_WORDS = make_word_set("later latest last younger youngest newer newest recently recent after")
MORE_WORDS = make_word_set(
    "taller tallest higher highest larger largest bigger biggest longer longest more most greater deeper heavier"
)
LESS_WORDS = make_word_set("smaller smallest shorter shortest fewer fewest less least lower lowest lighter")
# comparing word -> what it compares, and which end of the scale wins: "older" asks for the least (earliest) date
KIND_AND_EXTREME: dict[str, tuple[Kind, Extreme]] = {
    **dict.fromkeys(EARLIER_WORDS, ("date", "least")),
    **dict.fromkeys(LATER_WORDS, ("date", "most")),
    **dict.fromkeys(MORE_WORDS, ("number", "most")),
    **dict.fromkeys(LESS_WORDS, ("number", "least")),
}
COMPARATIVE = rf"\b(?:{'|'.join(sorted(KIND_AND_EXTREME))})\b"
TWO_OPTIONS = r"(?P<first>[^?]+?),? or (?P<second>[^?]+?)"
QUESTION_FORMS = [
    rf"^(?P<criterion>.*?{COMPARATIVE}[^,:?]*?)\s*(?:,|:|--|–)\s*{TWO_OPTIONS}$",  # Who was born first, A or B?
    rf"^(?:which|what|who)\b[^,]*, {TWO_OPTIONS}, "
    rf"(?P<criterion>.*{COMPARATIVE}.*)$",  # Which band, A or B, has more members?
    rf"^(?P<criterion>.*{COMPARATIVE})\s+{TWO_OPTIONS}$",  # Who is older A or B?
    # Between A and B, which is taller?
    rf"^(?:in )?between (?:the \w+ )?{TWO_OPTIONS.replace(' or ', ' and ')},? (?P<criterion>(?:which|who"
    rf"|what).*{COMPARATIVE}.*)$",
    rf"^(?:did|was|were|is) {TWO_OPTIONS} (?P<criterion>(?-i:[a-z]+"
    rf"(?: [a-z]+)*) {COMPARATIVE})$",  # Did A or B happen first?
]
THAN_QUESTION = re.compile(
    rf"^(?:is|was|are|were|did|does|has|have) (?P<first>[^?]+) (?P<criterion>{COMPARATIVE}.*?) than (?P<second>[^?]+)$",
    re.IGNORECASE,
)
QUESTION_PATTERNS = [*(re.compile(form, re.IGNORECASE) for form in QUESTION_FORMS), THAN_QUESTION]
LEADING_WORD = re.compile(r"^(?:the|a|an|either|film|movie)\s+", re.IGNORECASE)
BRACKETED_TEXT = re.compile(r"\s*\([^)]*\)")
# a date as `rewrite_dates` writes it, "1815m12d10", or a year alone
REWRITTEN_DATE = re.compile(
    r"(?<![\d.,$€£])(?P<year>[12]\d{3}|[5-9]\d\d(?=m\d\d))(?:m(?P<month>\d\d)(?:d(?P<day>\d\d))?)?(?![\d,.]\d|\d)"
)
WORD = re.compile(r"[^\W_]+")
METRES_PER_UNIT = {
    "m": 1.0,
    "km": 1000.0,
    "cm": 0.01,
    "mm": 0.001,
    "mile": 1609.3,
    "foot": 0.3048,
    "inch": 0.0254,
    "yard": 0.9144,
}
SIZE_WORDS = make_word_set("taller tallest higher highest longer longest deeper shorter shortest lower lowest")
FUNCTION_WORDS = make_word_set(
    """which who what was were is are has had have did do does the a an of in on to by for with or and more most than
    that it one between these those two their its"""
)


PERSON_NAME = r"[A-Z][\w.'’-]*(?: (?:[A-Z][\w.'’-]*|de|la|von|van|del|der|di))*(?<!\.)"
# role that a question names -> the word before "by NAME" in a text about the work
VERB_OF_ROLE = {
    "director": "directed",
    "performer": "performed",
    "composer": "composed",
    "author": "written",
    "writer": "written",
}
ROLE = re.compile(rf"\b(?:{'|'.join(VERB_OF_ROLE)})\b", re.IGNORECASE)
# "Who lived longer?" asks for the years between birth and death.
LIVED_WORD = re.compile(r"\blived\b", re.IGNORECASE)


@dataclass(frozen=True)
class Comparison:
    """A question that compares two options, `first` and `second`.

    kind: what is compared. extreme: which end of the scale the question asks for. criterion: the question without the
    options. is_yes_no: the question is whether the first option surpasses the second, as in "Is A older than B?". In
    these questions a verb before the comparing word is not in the criterion but in `first`: "Did A die earlier than B?"
    has the criterion "earlier" and the first option "A die".
    """

    first: str
    second: str
    kind: Kind
    extreme: Extreme
    criterion: str
    is_yes_no: bool = False


def parse_comparison(question: str) -> Comparison | None:
    """The two options and what is compared; None if the question compares nothing.

    >>> comparison = parse_comparison("Who was born first, Ada Lovelace or Mary Somerville?")
    >>> comparison.first, comparison.second, comparison.kind, comparison.extreme
    ('Ada Lovelace', 'Mary Somerville', 'date', 'least')
    >>> parse_comparison("Who built the tower?") is None
    True
    """
    text = " ".join(question.split()).rstrip(" ?")
    for pattern in QUESTION_PATTERNS:
        match = pattern.match(text)
        if match is None:
            continue
        first, second = tidy_option(match["first"]), tidy_option(match["second"])
        if not first or not second:
            return None
        kind, extreme = find_kind_and_extreme(match["criterion"])
        return Comparison(first, second, kind, extreme, match["criterion"], pattern is THAN_QUESTION)
    return None


def tidy_option(text: str) -> str:
    """The option without quotation marks and commas around it, and without its first word if that is "the", "a",
    "either", "film" or the like. Only one word is removed: "the film Jaws" becomes "film Jaws".
    """
    return LEADING_WORD.sub("", text.strip(" ,;:\"“”'")).strip(' ,"“”')


def find_kind_and_extreme(question_part: str) -> tuple[Kind, Extreme]:
    """What is compared, and which end of the scale the question asks for.

    If several words compare, words about dates take precedence over words about numbers, and the last word decides:
    "more recently" asks for the later date.
    """
    words = [word.lower() for word in WORD.findall(question_part)]
    comparatives = [KIND_AND_EXTREME[word] for word in words if word in KIND_AND_EXTREME]
    of_dates = [comparative for comparative in comparatives if comparative[0] == "date"]
    return (of_dates or comparatives)[-1]


def answer_comparison(question: str, passages: Sequence[tuple[str, str]]) -> str | None:
    """The option that wins, or "yes" or "no" if the question asks whether the first option does. None if the passages
    give no value for an option, if both values are equal, or if the question compares nothing.

    passages: (title, text) of each passage.

    >>> passages = [("Ada Lovelace", "Ada Lovelace (10 December 1815 – 27 November 1852) was a writer."),
    ...             ("Mary Somerville", "Mary Somerville (26 December 1780 – 29 November 1872) was a scientist.")]
    >>> answer_comparison("Who was born first, Ada Lovelace or Mary Somerville?", passages)
    'Mary Somerville'
    >>> answer_comparison("Is Ada Lovelace older than Mary Somerville?", passages)
    'no'
    """
    comparison = parse_comparison(question)
    if comparison is None:
        return None
    first_value = read_value(comparison, comparison.first, passages)
    second_value = read_value(comparison, comparison.second, passages)
    if first_value is None or second_value is None or first_value == second_value:
        return None
    first_wins = first_value < second_value if comparison.extreme == "least" else first_value > second_value
    if comparison.is_yes_no:
        return "yes" if first_wins else "no"
    return comparison.first if first_wins else comparison.second


def read_value(comparison: Comparison, option: str, passages: Sequence[tuple[str, str]]) -> tuple[float, ...] | None:
    """What the passages give for an option: (year, month, day), or a tuple of one number; None if they give nothing.

    If the question names a role, as in "Which film has the director who was born first, A or B?", it is the value of
    the person in this role: for the option A, the birth date of A's director.
    """
    text = find_text_about(option, passages)
    if text is not None and (role := ROLE.search(comparison.criterion)):
        text = find_text_about_person(role.group().lower(), text, passages)
    if text is None:
        return None
    if LIVED_WORD.search(comparison.criterion):
        return read_age(text)
    if comparison.kind == "date":
        return read_date(comparison.criterion, text)
    return read_asked_number(comparison.criterion, text)


def find_text_about(option: str, passages: Sequence[tuple[str, str]]) -> str | None:
    """The text of the passage whose title is most similar to the option; None if no title is similar enough.

    A title also counts as similar if the first 160 characters of the text below it contain all words of the option.
    """
    option_words = list_words(option)
    best_similarity, text = 0.0, None
    for title, body in passages:
        title_words = list_words(BRACKETED_TEXT.sub("", title))
        similarity = len(option_words & title_words) / max(1, len(option_words | title_words))
        if option_words and option_words <= list_words(body[:160]):
            similarity = max(similarity, 0.6)
        if similarity > best_similarity:
            best_similarity, text = similarity, body
    return text if best_similarity >= 0.5 else None


def find_text_about_person(role: str, text: str, passages: Sequence[tuple[str, str]]) -> str | None:
    """The text of the passage about the person whom `text` names in this role, one of VERB_OF_ROLE: for "director", the
    person after "directed by". None if `text` names nobody or no passage is about the person.
    """
    match = re.search(rf"\b{VERB_OF_ROLE[role]} by (?P<name>{PERSON_NAME})", text)
    return find_text_about(match["name"], passages) if match else None


def list_words(text: str) -> frozenset[str]:
    """The words in lower case, without articles."""
    return frozenset(word.lower() for word in WORD.findall(text)) - {"the", "a", "an"}


def read_date(question_part: str, text: str) -> tuple[float, ...] | None:
    """(year, month, day) of the event that the question asks for; None if the text gives no date.

    Death: see `read_death`. Birth or age: the first date after "born". Any other event, or no date after "born": the
    first date in the text.
    """
    rewritten_text = rewrite_dates(text)
    dates = [(match.start(), read_matched_date(match)) for match in REWRITTEN_DATE.finditer(rewritten_text)]
    if not dates:
        return None
    if re.search(r"\bdi(?:ed|e)\b|\bdeath\b", question_part, re.IGNORECASE):
        return read_death(rewritten_text, dates)
    after = (
        find_end_of_match(rewritten_text, r"\bborn\b")
        if re.search(r"\b(?:born|older|oldest|younger|youngest)\b", question_part, re.IGNORECASE)
        else None
    )
    return next((date for place, date in dates if after is None or place > after), dates[0][1])


def read_age(text: str) -> tuple[float, ...] | None:
    """The years between birth and death, as a tuple of one number; None if the text does not give both dates,
    or gives a death that is not after the birth.
    """
    born, died = read_date("born", text), read_date("died", text)
    if born is None or died is None or died <= born:
        return None
    years_per_part = (1, 1 / 12, 1 / 365)  # of a year, a month, a day
    return (sum((end - begin) * years for begin, end, years in zip(born, died, years_per_part, strict=True)),)


def read_death(text: str, dates: Sequence[tuple[int, tuple[float, ...]]]) -> tuple[float, ...] | None:
    """The date of death: the last date in the first brackets that look like a life span, "(1815 – 1852)".

    If there are no such brackets, or they hold fewer than two dates, it is the first date after "died" or "death"; None
    if there is none. text: as `rewrite_dates` returns it. dates: (position in the text, date) of each date.
    """
    span = re.search(r"\([^)]*?\d[^)]*?\s?[–—-]\s?[^)]*?\d{3}[^)]*\)", text)
    if span is not None:
        inside = [date for place, date in dates if span.start() < place < span.end()]
        if len(inside) > 1:
            return inside[-1]
    after = find_end_of_match(text, r"\bdied\b|\bdeath\b")
    return None if after is None else next((date for place, date in dates if place > after), None)


def find_end_of_match(text: str, pattern: str) -> int | None:
    match = re.search(pattern, text, re.IGNORECASE)
    return match.end() if match else None


def read_matched_date(match: re.Match[str]) -> tuple[float, ...]:
    """(year, month, day); a part that is missing is 0, so that 1931 comes before 4 July 1931."""
    return tuple(float(match[name] or 0) for name in ("year", "month", "day"))


def read_asked_number(question_part: str, text: str) -> tuple[float, ...] | None:
    """The number that the question asks for, as a tuple of one number; None if the text gives none.

    If the question is about size, it is the first length in the text, in metres. Otherwise it is the first number that
    stands shortly before a word of the question or, if there is none, shortly after one. Years do not count.
    """
    words = rewrite_numbers(
        re.findall(r"[$€£¥]|\d+(?:\.\d+)?|[^\W\d_]+", re.sub(r"(?<=\d),(?=\d{3})", "", text.lower()))
    )
    numbers = [(place, float(word)) for place, word in enumerate(words) if is_number(word) and not is_year(word)]
    asked_words = {word.lower() for word in WORD.findall(question_part)}
    if asked_words & SIZE_WORDS:
        for place, value in numbers:
            unit = words[place + 1] if place + 1 < len(words) else ""
            if unit in METRES_PER_UNIT:
                return (value * METRES_PER_UNIT[unit],)
        return None
    nouns = {stem_word(word) for word in asked_words - FUNCTION_WORDS - set(KIND_AND_EXTREME)}
    for place, value in numbers:
        if any(stem_word(word) in nouns for word in words[place + 1 : place + 4]):
            return (value,)
    for place, value in numbers:
        if any(stem_word(word) in nouns for word in words[max(0, place - 4) : place]):
            return (value,)
    return None


def is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal() and 1500 <= int(word) <= 2100


def stem_word(word: str) -> str:
    return word.rstrip("s") if len(word) > 3 else word
