"""Compares an answer with accepted answers: the measures for a user's own data.

They are SQuAD's (`quorum.core.text`, Rajpurkar et al. 2016) with three differences. Typography does not count: texts
are first folded as in a vote (`fold_characters`), and punctuation is that of all scripts. Numbers count: sign, decimal
point and what separates two numbers stay, so that 3.5 is not 35, -5 is not 5, and C++ is not C. In scripts without
spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan), every character is a token. For English
words without digits, "+" and "#" both measures are the same.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from quorum.algorithms.fold_characters import fold_characters
from quorum.core import text as squad
from quorum.core.text import LONGEST_CACHED_TEXT, PUBLISHED_MEASURE, AnswerMeasure, token_f1

ARTICLES = frozenset(("a", "an", "the"))
# Scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han. Each as a range of characters.
UNSPACED_RANGES = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf"
UNSPACED_RANGES += "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
MARKS = "".join(chr(code) for code in range(0x0E00, 0x30FF) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
# One character of such a script, with the vowel signs and accents that are written on it.
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED_RANGES}][{re.escape(MARKS)}]*")
PUNCTUATION = re.escape(string.punctuation)
THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{2,3})*,\d{3}(?!,?\d)")  # also India's 1,00,000
# The patterns begin with the sign that they look for, and look back from there, because that is faster.
# A minus sign is a dash before a number that no word, number, bracket or other dash precedes.
MINUS = re.compile(r"-(?<![\w)\]%'\"-]-)(?=[$€£¥]?\.?\d)")
LEADING_POINT = re.compile(r"\.(?<![\w.]\.)(?=\d)")  # of .5
NUMBER_SIGN = re.compile(r"[./:^](?<=\d.)(?=[\d\x07])")  # inside 3.5, 1/2, 12:30, 10^2
WORD_SIGN = re.compile(r"[+#](?<=[^\W\d_].)(?:(?<=\+)\+)?(?![\w+#])")  # of C++, C#, A+
BETWEEN_NUMBERS = re.compile(rf"[{PUNCTUATION}](?<=\d.)[{PUNCTUATION}]*(?=\d)")
# Signs that stay in a token are control characters while punctuation is removed.
KEPT_SIGNS, HIDDEN_SIGNS = "./:^+#-", "\x01\x02\x03\x04\x05\x06\x07"
HIDE, SHOW = str.maketrans(KEPT_SIGNS, HIDDEN_SIGNS), str.maketrans(HIDDEN_SIGNS, KEPT_SIGNS)
HIDDEN_POINT, HIDDEN_MINUS = HIDDEN_SIGNS[0], HIDDEN_SIGNS[-1]
ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
NON_ASCII = re.compile(r"[^\x00-\x7f]")
ANY_PUNCTUATION = "!"  # stands for a punctuation mark that is not ASCII


def split_tokens(text: str) -> list[str]:
    """The tokens of a text: words and numbers in lower case without punctuation and articles, and the characters of
    scripts without spaces. A text of punctuation alone is one token.

    >>> split_tokens("The Sean O’Brien Prize, 1914–1918"), split_tokens("-3.5 or 1,000,000 in C++")
    (['sean', 'obrien', 'prize', '1914', '1918'], ['-3.5', 'or', '1000000', 'in', 'c++'])
    >>> split_tokens("北京市。"), split_tokens("the"), split_tokens("?")
    (['北', '京', '市'], [], ['?'])
    """
    folded_text = fold_characters(text)
    marked_text = NON_ASCII.sub(mark_punctuation, folded_text.casefold())
    marked_text = THOUSANDS.sub(lambda match: match[0].replace(",", ""), marked_text)
    marked_text = LEADING_POINT.sub(f"0{HIDDEN_POINT}", MINUS.sub(HIDDEN_MINUS, marked_text))
    for kept_sign in (NUMBER_SIGN, WORD_SIGN):
        marked_text = kept_sign.sub(lambda match: match[0].translate(HIDE), marked_text)
    plain_text = BETWEEN_NUMBERS.sub(" ", marked_text).translate(ASCII_PUNCTUATION).translate(SHOW)
    words = separate_unspaced(plain_text).split()
    return [word for word in words if word not in ARTICLES] or ([] if words else folded_text.split())


split_tokens_cached = lru_cache(maxsize=1024)(split_tokens)  # several methods look for answers in the same passages


def separate_unspaced(text: str) -> str:
    """The text with spaces around each character of a script without spaces.

    >>> separate_unspaced("2008年").split()
    ['2008', '年']
    """
    return text if text.isascii() else UNSPACED_CHARACTER.sub(r" \g<0> ", text)


def mark_punctuation(match: re.Match[str]) -> str:
    return ANY_PUNCTUATION if unicodedata.category(match[0]).startswith("P") else match[0]


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if the prediction has the same tokens as any gold answer, in the same order, else 0.0.

    >>> exact_match("１９７４。", ["1974"]), exact_match("35", ["3.5"]), exact_match("C", ["C++", "C#"])
    (1.0, 0.0, 0.0)
    """
    tokens = split_tokens(prediction)
    return float(any(tokens == split_tokens(gold) for gold in golds))


def f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 over the tokens of prediction and gold answer, in 0..1, the highest over the gold answers.

    Two texts without a token give 1; no gold answer gives 0.

    >>> f1("tower in Paris", ["Paris tower"]), round(f1("北京市海淀", ["北京市海淀区"]), 3)
    (0.8, 0.909)
    """
    tokens = split_tokens(prediction)
    return max((token_f1(tokens, split_tokens(gold)) for gold in golds), default=0.0)


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether the text contains an answer as whole words or, in scripts without spaces, as consecutive characters.

    >>> contains_answer("I must.", ["US"]), contains_answer("35 m", ["3.5"]), contains_answer("在北京市。", ["北京"])
    (False, False, True)
    """
    padded_text = f" {' '.join(split_with_cache(text))} "
    return any(f" {' '.join(answer)} " in padded_text for answer in map(split_with_cache, answers) if answer)


def split_with_cache(text: str) -> list[str]:
    """The tokens of a text; those of the last texts that are not very long are remembered. Do not change the list."""
    return split_tokens(text) if len(text) > LONGEST_CACHED_TEXT else split_tokens_cached(text)


class AnswerComparison(NamedTuple):
    """The functions of one measure; see the functions of these names above."""

    split_tokens: Callable[[str], list[str]]
    exact_match: Callable[[str, Sequence[str]], float]
    f1: Callable[[str, Sequence[str]], float]
    contains_answer: Callable[[str, Iterable[str]], bool]


# The measure for a user's own data, and SQuAD's, which the papers' numbers need.
ANSWER_MEASURES: Mapping[AnswerMeasure, AnswerComparison] = {
    "exact_match": AnswerComparison(split_tokens, exact_match, f1, contains_answer),
    PUBLISHED_MEASURE: AnswerComparison(
        lambda text: squad.normalize(text).split(),
        squad.squad_exact_match,
        squad.squad_f1,
        squad.squad_contains_answer,
    ),
}
