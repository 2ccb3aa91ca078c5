"""Writes number words that refer to passages as digits."""

import re

COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
NOUN = r"(?:passages?|knowledges?|documents?|docs?|texts?|contexts?|paragraphs?|sources?|ids?|numbers?|nos?\b\.?)"
COUNT = rf"(?:{'|'.join(COUNTS)})"
ORDINAL = rf"(?:{'|'.join(ORDINALS)}|last|\d{{1,3}}(?:st|nd|rd|th))"
AND = r"(?:,? and |, | & |/)(?:the )?"
# Words that may follow "the second" if it means a passage ("the second world war" does not).
MEANT = rf"(?=\s*(?:$|[.,;:!)\n]|and\b|or\b|&|{NOUN}|ones?\b|is\b|are\b|does\b|has\b|says\b|mentions\b))"
ALONE = re.compile(rf"(?:\b(?:{COUNT}|{ORDINAL}|and|the|only|{NOUN})\b|[\W_])+")
SEVERAL = re.compile(rf"\b(?P<side>first|last) (?P<count>{COUNT}|\d{{1,2}})\b")
AFTER_NOUN = re.compile(rf"\b(?P<noun>{NOUN}) (?P<count>{COUNT}(?:{AND}{COUNT})*)\b")
POINTED = re.compile(
    rf"(?:\bthe |\bonly ){ORDINAL}(?:{AND}{ORDINAL})*\b{MEANT}"
    rf"|\b{ORDINAL}(?:{AND}{ORDINAL})+\b{MEANT}|\b{ORDINAL}(?= {NOUN})"
)


def write_digits(text: str, count: int) -> str:
    """Lower-case text with "passage two", "the second", "the first three" and "the last" (of `count`) as digits.

    Other number words stay, unless the whole text consists of number words.
    """
    text = SEVERAL.sub(lambda found: convert_several(found, count), text)
    if ALONE.fullmatch(text):
        return re.sub(rf"\b(?:{COUNT}|{ORDINAL})\b", lambda found: f"[{read_number(found[0], count)}]", text)
    text = AFTER_NOUN.sub(lambda found: f"{found['noun']} {replace_words(found['count'], COUNT, count)}", text)
    return POINTED.sub(lambda found: replace_words(found[0], ORDINAL, count), text)


def convert_several(found: re.Match[str], count: int) -> str:
    """ "first three" -> "[1-3]"."""
    many = min(read_number(found["count"], count), count)
    return f"[1-{many}]" if found["side"] == "first" else f"[{count - many + 1}-{count}]"


def replace_words(text: str, word: str, count: int) -> str:
    return re.sub(rf"\b{word}\b", lambda found: f"[{read_number(found[0], count)}]", text)


def read_number(word: str, count: int) -> int:
    """The number that a number word stands for, with `count` passages."""
    if word == "last":
        return count
    for words in (COUNTS, ORDINALS):
        if word in words:
            return words.index(word) + 1
    return int(re.sub(r"\D", "", word))
