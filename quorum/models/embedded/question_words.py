"""The content words of a question, and whether an answer says more than the question does."""

import re

from quorum.core.sentences import make_word_set

WORD = re.compile(r"[^\W_]+")
FUNCTION_WORDS = make_word_set(
    """a an and any are as at be been being by can could did do does for from had has have he her his how i if in into
    is it its me may might much many must my of on or our she shall should so such than that the their them then there
    these they this those to was we were what when where which who whom whose why will with would you your"""
)
OR_WORD = re.compile(r"\bor\b", re.IGNORECASE)  # the question "A or B?" contains its answer


def is_no_answer(text: str, question: str) -> bool:
    """Whether a text says nothing that the question does not say: all its content words are the question's, unless
    that offers a choice; or it has only function words, in lower case.

    >>> question = "Where do the boats of the station go?"
    >>> [is_no_answer(text, question) for text in ("go", "the boats", "to the", "the lifeguards")]
    [True, True, True, False]
    >>> is_no_answer("tea", "Is it tea or coffee?"), is_no_answer("The Who", "Who sang it?")
    (False, False)
    """
    words = WORD.findall(text)
    if not all(word in FUNCTION_WORDS for word in words):
        return not OR_WORD.search(question) and repeats_question(text, question)
    return bool(words)


def repeats_question(text: str, question: str) -> bool:
    """Whether all content words of a text are in the question; false for a text without content words."""
    stems = list_stems(text)
    return bool(stems) and set(list_stems(question)).issuperset(stems)


def list_stems(text: str) -> list[str]:
    """The content words of a text without their endings."""
    return [stem_word(word.lower()) for word in WORD.findall(text) if word.lower() not in FUNCTION_WORDS]


def stem_word(word: str) -> str:
    """A word without its plural or verb ending, by a rough rule: "copies" gives "copi", "copy" stays."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending).rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word
