"""Finds codes, such as E-4021, RTX3080 or v2.1b, that a question names and a text lacks."""

import re

# Letters and digits in one word. Words such as mid-1990s, ordinals, decades and amounts are no codes.
WORD = re.compile(r"\b(?=[\w.-]*[^\W\d_])(?=[\w.-]*\d)[^\W_](?:[\w.-]*[^\W_])?")
NO_CODE = re.compile(
    r"(?:top|pre|post|mid|early|late)-\d+s?|\d+(?:st|nd|rd|th)(?:-[a-z]+)*|\d+(?:-[a-z]+)+|\d[\d.,]*-?[^\W\d_]{1,3}",
    re.IGNORECASE,
)
RUN = re.compile(r"[^\W\d_]+|\d+|[^\w]|_")


def find_codes(text: str) -> list[str]:
    """The codes in a text, in their order.

    >>> find_codes("What does E-4021 mean on the RTX3080 with v2.1b since the mid-1990s, for the 3rd time?")
    ['E-4021', 'RTX3080', 'v2.1b']
    """
    words = [word for match in WORD.finditer(text) if (word := match.group().strip(".-"))]
    return [word for word in words if not NO_CODE.fullmatch(word)]


def find_missing_codes(question: str, text: str) -> list[str]:
    """The codes of the question that the text lacks. A space or sign between letters and digits makes no difference.

    >>> find_missing_codes("What is E-4021?", "E 4021: no power")
    []
    >>> find_missing_codes("What is E-40?", "E-4021: no power")
    ['E-40']
    """
    return [code for code in find_codes(question) if not make_pattern(code).search(text)]


def make_pattern(code: str) -> re.Pattern[str]:
    """Matches the code, with any sign or none between its letters and digits, as a whole word."""
    runs = [run for run in RUN.findall(code) if run.isalnum()]
    between = r"[-._/\s]?"
    return re.compile(rf"(?<![^\W_]){between.join(map(re.escape, runs))}(?![^\W_])", re.IGNORECASE)
