"""Replaces number words by digits where they refer to passages."""

import re

COUNT_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINAL_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
PASSAGE_NOUN = (
    r"(?:passages?|knowledges?|documents?|docs?|texts?|contexts?|paragraphs?|sources?|ids?|numbers?|nos?\b\.?)"
)
COUNT_WORD = rf"(?:{'|'.join(COUNT_WORDS)})"
ORDINAL = rf"(?:{'|'.join(ORDINAL_WORDS)}|last|\d{{1,3}}(?:st|nd|rd|th))"
AND_SIGN = r"(?:,? and |, | & |/)(?:the )?"
# What must follow "the second" if it means a passage ("the second world war" does not).
AFTER_PASSAGE_ORDINAL = (
    rf"(?=\s*(?:$|[.,;:!)\n]|and\b|or\b|&|{PASSAGE_NOUN}|ones?\b|is\b|are\b|does\b|has\b|says\b|mentions\b))"
)
NUMBER_WORDS_ALONE = re.compile(rf"(?:\b(?:{COUNT_WORD}|{ORDINAL}|and|the|only|{PASSAGE_NOUN})\b|[\W_])+")
FIRST_OR_LAST_FEW = re.compile(rf"\b(?P<side>first|last) (?P<words>{COUNT_WORD}|\d{{1,2}})\b")
NOUN_WITH_COUNT_WORDS = re.compile(rf"\b(?P<noun>{PASSAGE_NOUN}) (?P<words>{COUNT_WORD}(?:{AND_SIGN}{COUNT_WORD})*)\b")
POINTING_ORDINAL = re.compile(
    rf"(?:\bthe |\bonly ){ORDINAL}(?:{AND_SIGN}{ORDINAL})*\b{AFTER_PASSAGE_ORDINAL}"
    rf"|\b{ORDINAL}(?:{AND_SIGN}{ORDINAL})+\b{AFTER_PASSAGE_ORDINAL}|\b{ORDINAL}(?= {PASSAGE_NOUN})"
)


def replace_number_words(text: str, count: int) -> str:
    """Replace the number words in "passage two", "the second", "the first three" and "the last" by digits in brackets.

    text: in lower case. count: the number of passages. Other number words stay, unless the text consists only of number
    words and words such as "and", "the" and "passages".

    >>> replace_number_words("the second and the last passage, and two rivers", 5)
    'the [2] and the [5] passage, and two rivers'
    >>> replace_number_words("two and three", 5)
    '[2] and [3]'
    """
    text = FIRST_OR_LAST_FEW.sub(lambda match: replace_first_or_last_few(match, count), text)
    if NUMBER_WORDS_ALONE.fullmatch(text):
        return re.sub(rf"\b(?:{COUNT_WORD}|{ORDINAL})\b", lambda match: f"[{read_number(match[0], count)}]", text)
    text = NOUN_WITH_COUNT_WORDS.sub(
        lambda match: f"{match['noun']} {replace_words(match['words'], COUNT_WORD, count)}", text
    )
    return POINTING_ORDINAL.sub(lambda match: replace_words(match[0], ORDINAL, count), text)


def replace_first_or_last_few(match: re.Match[str], count: int) -> str:
    """ "first three" -> "[1-3]"; of five passages, "last two" -> "[4-5]"."""
    few = min(read_number(match["words"], count), count)
    return f"[1-{few}]" if match["side"] == "first" else f"[{count - few + 1}-{count}]"


def replace_words(text: str, word_pattern: str, count: int) -> str:
    """Replace the number words that match the pattern by digits in brackets. count: the number of passages."""
    return re.sub(rf"\b{word_pattern}\b", lambda match: f"[{read_number(match[0], count)}]", text)


def read_number(word: str, count: int) -> int:
    """The number that a number word stands for; "last" stands for `count`, the number of passages."""
    if word == "last":
        return count
    for words in (COUNT_WORDS, ORDINAL_WORDS):
        if word in words:
            return words.index(word) + 1
    return int(re.sub(r"\D", "", word))
