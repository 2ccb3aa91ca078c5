"""The words of a question."""

import re

from quorum.core.sentences import make_word_set

FUNCTION_WORDS = make_word_set(
    """a an the and any are as at be been being by can could did do does for from had has have he her his how i if in
    into is it its many may might much must my of on or our she should so such than that their them then there these
    they this those to was we were what when where which who whom whose why will with would you your s called
    named name"""
)
QUESTION_WORD = re.compile(r"\A(?:who|what|which(?:\s+\w+)?)\s+", re.IGNORECASE)
OR_WORD = re.compile(r"\bor\b", re.IGNORECASE)  # the question "A or B?" contains its answer


def list_content_words(text: str) -> set[str]:
    """The folded words of a text, without function words."""
    return {fold_word(word) for word in re.findall(r"\w+", text) if word.lower() not in FUNCTION_WORDS}


def fold_words(text: str) -> set[str]:
    """The words of a text, each as `fold_word` gives it."""
    return {fold_word(word) for word in re.findall(r"\w+", text)}


def fold_word(word: str) -> str:
    """A word in lower case without its ending, by a rough rule: "builds" and "building" give "build"."""
    word = word.lower()
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
