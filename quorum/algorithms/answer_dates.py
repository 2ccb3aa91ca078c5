"""Writes dates in one form: "July 4th, 1776" and "4 July 1776" become "1776m07d04"."""

import re

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
SHORT_MONTHS = r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
MONTH = rf"(?P<month>(?:{'|'.join(MONTHS)})\b|(?:{SHORT_MONTHS})\b\.?)"
WEEKDAY = r"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? (?:the )?)?"
DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"
NO_MORE = r"(?![\w:]|[.,/]\d)"  # the number ends here: no letter, no further digits, no time or other date follows
# 500 to 2999. Numbers below 500 are not read as years, because they seldom are.
YEAR = rf"(?P<year>1\d{{3}}|2\d{{3}}|[5-9]\d\d){NO_MORE}"
OF_OR_COMMA = r"(?: of|,)?"
DATE_FORMS = [
    rf"{WEEKDAY}\b{MONTH} (?:the )?{DAY}(?:st|nd|rd|th)?(?:{OF_OR_COMMA} {YEAR}|{NO_MORE})",  # July 4, 1776; July 4th
    # 4th of July, 1776; 4 July
    rf"{WEEKDAY}(?<![\w.,/:-]){DAY}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:{OF_OR_COMMA} {YEAR})?(?!\w)",
    rf"\b{MONTH}{OF_OR_COMMA} {YEAR}",  # July 1776
    rf"(?<![\w.,/:-]){YEAR.replace(NO_MORE, '')}-(?P<month>0[1-9]|1[0-2])-{DAY}{NO_MORE}(?!-)",  # 1776-07-04
]
DATE_PATTERNS = [re.compile(form, re.IGNORECASE) for form in DATE_FORMS]


def rewrite_dates(text: str) -> str:
    """Rewrite as "1776m07d04" every date that names its month. A year or day that is not given is left out.

    Dates in numbers alone stay as they are, because the order of day and month depends on the country
    (4/7/1776); only 1776-07-04 is rewritten. A month alone stays, too: "May" is also a word and a name.

    >>> [rewrite_dates(text) for text in ("on Monday, 4th of July, 1776", "July 1776", "Jul. 4", "May")]
    ['on 1776m07d04', '1776m07', 'm07d04', 'May']
    """
    for pattern in DATE_PATTERNS:
        text = pattern.sub(format_date, text)
    return text


def format_date(match: re.Match[str]) -> str:
    """The date that a pattern found, as in "1776m07d04"."""
    parts = match.groupdict()
    year, day = parts.get("year") or "", parts.get("day")
    return f"{year}m{parse_month(parts['month']):02}" + (f"d{int(day):02}" if day else "")


def parse_month(name: str) -> int:
    """The number of a month, 1 to 12, from its name ("July"), its short form ("Jul.") or its digits ("07")."""
    if name.isdecimal():
        return int(name)
    return next(number for number, month in enumerate(MONTHS, 1) if month[:3] == name[:3].lower())
