"""Computes the key of an answer in a vote. Answers with the same key count as the same answer.

A key depends on one answer alone; the vote never compares two answers. So a passage that says "Paris or Lyon" cannot
merge the votes for Paris with those for Lyon, and the certificate of `quorum.algorithms.certificate` holds: a replaced
passage changes its own votes and no others.

SQuAD's normalisation, by which the papers compare answers, does not suit a vote. It separates "J. R. R. Tolkien" from
"J.R.R. Tolkien", "two" from "2", "4 July 1776" from "July 4, 1776", and it merges "3.5" with "35", "A. A. Milne" with
"Milne". In doubt, a key separates answers, because a wrong merge does more harm than a missed one. The experiments of
the papers vote by SQuAD's normalisation all the same (`squad_vote_key`); the setting `answer_measure` chooses.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from quorum.algorithms.answer_dates import rewrite_dates
from quorum.algorithms.answer_numbers import rewrite_numbers
from quorum.algorithms.fold_characters import fold_characters
from quorum.core.text import PUBLISHED_MEASURE, AnswerMeasure, normalize

LONGEST_SEARCHED_TEXT = 100_000  # characters; the rest of a text is not searched for an answer
LONGEST_ANSWER = 400  # characters; longer answers are the same only if SQuAD's normalisation makes them equal
LONGEST_CACHED_TEXT = 20_000  # characters; a longer passage is not cached, a longer answer's key is a digest


def vote_key(answer: str) -> str:
    """The key of an answer; "" for white space only. Takes linear time and never raises.

    The key ignores letter case, punctuation, articles and accents of Latin letters; the form of dates, numbers,
    ordinals, decades and units; dots and spaces in initials; the explanation after "yes" or "no"; and a clause at the
    end that explains the answer or names its source. These stay different: a number and a decade, different units, "the
    5th" and "5", a place with and without its country.

    >>> vote_key("J. R. R. Tolkien") == vote_key("J.R.R. Tolkien"), vote_key("3.5") == vote_key("35")
    (True, False)
    >>> vote_key("on July 4th, 1776.") == vote_key("4 July 1776"), vote_key("1990") == vote_key("the 1990s")
    (True, False)
    >>> vote_key("Paris, which is its capital") == vote_key("Paris"), vote_key("Paris, Texas") == vote_key("Paris")
    (True, False)
    """
    return make_short_key(answer) if len(answer) <= LONGEST_ANSWER else squad_vote_key(answer)


@lru_cache(maxsize=4096)  # a staged vote counts the same votes several times
def make_short_key(answer: str) -> str:
    text = drop_explanation(fold_characters(answer))
    verdict = YES_NO.match(text)
    if verdict:
        return "yes" if verdict["yes"] else "no"
    words = drop_preposition(drop_repetition_and_honorific(split_words(text), text))
    country = COUNTRIES.get(tuple(words))
    return country or join_words(rewrite_numbers([word.lower() for word in words])) or answer.strip().lower()


def contains_key(text: str, answer: str) -> bool:
    """Whether consecutive words of the text have the answer's key; false for an answer of more than 400 characters.

    Searches the first 100,000 characters of the text.

    >>> contains_key("It was finished on the 4th of July 1776.", "July 4, 1776"), contains_key("It took 20 years.", "2")
    (True, False)
    """
    key = vote_key(answer)
    if len(answer) > LONGEST_ANSWER or not key:
        return False
    words = (
        list_key_words(text[:LONGEST_SEARCHED_TEXT]) if len(text) > LONGEST_CACHED_TEXT else list_key_words_cached(text)
    )
    return any(begins_with_key(words, start, key) for start in range(len(words)))


def list_key_words(text: str) -> Sequence[str]:
    """The words of a text in the form in which a key joins them."""
    return rewrite_numbers([word.lower() for word in split_words(fold_characters(text))])


list_key_words_cached = lru_cache(maxsize=512)(list_key_words)  # several methods look for answers in the same passages


def begins_with_key(words: Sequence[str], start: int, key: str) -> bool:
    """Whether one or more words, from `start` on, make the key when joined."""
    joined_words = ""
    for word in words[start:]:
        joined_words = join_words([joined_words, word]) if joined_words else word
        if len(joined_words) >= len(key) or not key.startswith(joined_words):
            break
    return joined_words == key


def squad_vote_key(answer: str) -> str:
    """The key of an answer by SQuAD's normalisation (Rajpurkar et al. 2016).

    Of an answer of more than 20,000 characters it is a digest, to save memory.

    >>> squad_vote_key("J. R. R. Tolkien") == squad_vote_key("J.R.R. Tolkien"), squad_vote_key("The Rhine!")
    (False, 'rhine')
    """
    return (
        normalize(answer) or answer.strip().lower()
        if len(answer) <= LONGEST_CACHED_TEXT
        else hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()
    )


VoteKey = Callable[[str], str]
# How answers are compared with accepted ones -> by which key they are compared with one another.
VOTE_KEYS: Mapping[AnswerMeasure, VoteKey] = {"exact_match": vote_key, PUBLISHED_MEASURE: squad_vote_key}


SOURCE_NOUN = r"(?:passages?|contexts?|texts?|documents?|sources?|articles?|search results?|information)"
# An explanation that follows an answer: a clause in lower case, the name of a source, or a sentence. The patterns are
# meant not to match inside an answer that is a name, such as "Paris, Texas".
EXPLANATION = re.compile(
    rf" ?[(\[](?:{SOURCE_NOUN}|source:|see|ref)?[ #]{{0,2}}\d{{1,3}}(?:, ?\d{{1,3}}){{0,9}}[)\]]\W*$"
    r"|, (?:which|who|whose|whom|because|since it|as it|as he|as she|as they) "
    r"| because (?:\w+ ){2}"
    rf"|,? (?:according to|based on|as (?:\w+ ){{1,2}}in|per) (?:the |this |these )?(?:\w+ )?{SOURCE_NOUN}\b"
    rf"|(?<=[^\W_]{{3}})[.;] (?=(?:[Tt]his|[Ii]t|[Hh]e|[Ss]he|[Tt]hey|[Aa]ccording to|[Bb]ased on"
    rf"|[Ee]xplanation|[Nn]ote|[Tt]he {SOURCE_NOUN})\b.{{6}})"
)
YES_NO = re.compile(
    r"\W*(?:(?P<yes>yes|yeah|yep)|no|nah)"
    r"(?:\W*$|[,.;:!]? (?:it|he|she|they|this|that|there|these|those|because|but|the)\b(?: \S+){1,99}\W*$)",
    re.IGNORECASE,
)


def drop_explanation(text: str) -> str:
    """The answer without the explanation after it; the whole text if no word would be left."""
    match = EXPLANATION.search(text, 1)
    return text[: match.start()] if match and re.search(r"\w", text[: match.start()]) else text


DOTTED_INITIALS = re.compile(r"(?<![^\W_])(?:[^\W\d_]\. ?){2,9}(?![^\W_]\b)")
# The first of spaced initials is not A or I, which are words: "A New York hotel".
SPACED_INITIALS = re.compile(r"(?<!\S)[B-HJ-Z](?: [A-Z]){1,3}(?= [A-Z][a-z])")
SHORT_NAMES = (
    (re.compile(r"\bSt\.? (?=[A-Z])"), "Saint "),
    (re.compile(r"\bMt\.? (?=[A-Z])"), "Mount "),
    (re.compile(r"\bA\.?D\.? (\d{1,4})\b"), r"\1 AD"),
)


def join_initials(text: str) -> str:
    """Join initials: "J. R. R. Tolkien" and "J R R Tolkien" -> "JRR Tolkien"; "U.S." -> "US".

    Then rewrite the forms in SHORT_NAMES: "St. Louis" -> "Saint Louis"; "A.D. 79" -> "79 AD".
    """
    text = DOTTED_INITIALS.sub(lambda match: re.sub(r"[. ]", "", match[0]) + " ", text)
    text = SPACED_INITIALS.sub(lambda match: match[0].replace(" ", ""), text)
    for short, long in SHORT_NAMES:
        text = short.sub(long, text)
    return text


WORD_OF_SYMBOL = {"&": "and", "%": "percent"}
NUMBER = r"(?<![^\W_])-?\d{1,3}(?:,\d{3}){1,6}(?:\.\d+)?(?!\d)|(?<![^\W_])-\d+(?:\.\d+)?|\d+(?:[.:/]\d+)*"
ORDINAL_ENDING = r"(?:st|nd|rd|th|s)(?![^\W_])"  # also the "s" of a decade: the 1990s
# Vowel signs, which `re` does not count as letters.
VOWEL_SIGN = r"[\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u200c\u200d]"
WORD = rf"(?:[^\W\d_]|{VOWEL_SIGN})+(?:\+\+?|#)?(?!\w)|(?:[^\W\d_]|{VOWEL_SIGN})+"
REWRITTEN_DATE = r"\d{0,4}m\d\d(?:d\d\d)?(?!\w)"  # as `rewrite_dates` writes it: 1776m07d04, 1776m07, m07d04
# The dot stays in the initial of "A. Milne", so that `is_article` does not drop it as the article "A".
TOKEN = re.compile(rf"{REWRITTEN_DATE}|(?:{NUMBER})(?:{ORDINAL_ENDING})?|[&%$£€¥]|A\.(?= )|{WORD}|[^\W_]")
FEET_MARK = re.compile(r"(?<=\d)'(?=\d)")  # 5'10
RANGE_DASH = re.compile(r"(?<=\d) ?- ?(?=\d|m\d\d)")  # a range of years, dates or numbers; also a score
SCALE_WORD = re.compile(r"(?:hundred|thousand|million|billion|trillion)$")


def split_words(text: str) -> list[str]:
    """The numbers, words and meaningful symbols of the text, without articles. Letter case stays."""
    text = join_initials(rewrite_dates(text))
    text = (
        FEET_MARK.sub(" feet ", text)
        .replace("'", "")
        .replace("°C", " degrees celsius")
        .replace("°F", " degrees fahrenheit")
    )
    text = RANGE_DASH.sub(" to ", text)
    words = [WORD_OF_SYMBOL.get(word, word.replace(",", "")) for word in TOKEN.findall(text)]
    kept_words = [word for index, word in enumerate(words) if not is_article(words, index)]
    return kept_words or words


def is_article(words: list[str], index: int) -> bool:
    """Whether `words[index]` is an article: "the", or "a" or "an" before a word.

    Not articles: the "a" of "a million", which is part of the number, and the A of "Vitamin A" and "Type A blood".
    """
    word, following = words[index], words[index + 1 : index + 2]
    if word.lower() == "the":
        return True
    if word.lower() not in ("a", "an") or not following or SCALE_WORD.match(following[0]):
        return False
    return word != "A" or (index == 0 and len(following[0]) > 1)


def drop_repetition_and_honorific(words: list[str], text: str) -> list[str]:
    """ "Kigali Kigali" (a passage's title, then the first word of its text) -> "Kigali"; "New York, New York" stays;
    "Sir John Smith" -> "John Smith".
    """
    half = len(words) // 2
    if half and words[:half] == words[half:] and "," not in text and not words[0][0].isdecimal():
        words = words[:half]
    return words[1:] if len(words) > 2 and words[0] in ("Sir", "Dame") and words[2][0].isupper() else words


def drop_preposition(words: list[str]) -> list[str]:
    """ "in Paris" -> "Paris", "On 1776m07d04" -> "1776m07d04", "from 1939 to 1945" -> "1939 to 1945".

    A capital "In" before a place stays, because "In Bruges" may be a title.
    """
    if words[:1] == ["from"] and "to" in words and re.match(r"\d|m\d\d", words[1]):
        return words[1:]
    first, second = (*words, "", "")[:2]
    is_time = re.fullmatch(rf"{REWRITTEN_DATE}|[12]\d\d\d", second) is not None
    is_place = first in ("in", "on", "at") and (second[:1].isupper() or second[:1].isdecimal())
    return words[1:] if is_place or (is_time and first.lower() in ("in", "on")) else words


COUNTRIES = {
    ("US",): "unitedstates",
    ("USA",): "unitedstates",
    ("United", "States", "of", "America"): "unitedstates",
    ("UK",): "unitedkingdom",
}


def join_words(words: list[str]) -> str:
    """Join the words without spaces ("Spider-Man" and "Spiderman" are one), but with a space between two digits."""
    key = ""
    for word in words:
        key += f" {word}" if key[-1:].isdecimal() and word[:1].isdecimal() else word
    return key
