"""Compares what an answer says with what a sentence says: words, numbers, names, negation and opposites.

Pure functions on English text. Words are compared by their stems (the Snowball stemmer, Porter 2001), numbers and dates
in the form of `quorum.algorithms.vote_key`: "eight" is 8, "October 31, 2025" is 2025-10-31.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from quorum.algorithms.opposites import NEGATIONS, OPPOSITES
from quorum.algorithms.vote_key import list_key_words
from quorum.core.labels import REFUTES, SUPPORTS
from quorum.core.sentences import make_word_set

FUNCTION_WORDS = make_word_set(
    """a an and any are as at be because been being both by can could did do does done for from had has have he her here
    his how i if in into is it its itself may might must my of on one or our own per quite rather shall she should since
    so some such than that the their them then there theres these they this those thus to too upon us was we were what
    when where whether which while who whom whose why will with would you your yours also just like about didnt doesnt
    dont isnt arent wasnt werent wont not no"""
)
# Words with which a model introduces an answer. They say nothing about the documents.
LEAD_WORDS = make_word_set(
    """according based sure certainly course great question answer answers passage passages context text provided given
    found say says said stated mention mentions mentioned called yes"""
)
CITATION = re.compile(
    r"\[\d{1,3}(?:[,\s]+\d{1,3})*\]|[(\[]?\b(?:passage|source|document|context)s?\s*#?\d{1,3}(?:\s*(?:,|and)\s*\d{1,3})*[)\]]?",
    re.IGNORECASE,
)
MARKUP = re.compile(r"[*`#>|]+|(?<!\w)_+|_+(?!\w)")
VERDICT = re.compile(r"\W*(?P<word>yes|yeah|yep|no|nope)\b\W*(?:(?<=[,.;:!\u2013\u2014])\s*|\Z)", re.IGNORECASE)
# What ends the reach of a negation. A negation in a condition denies nothing: "if no file is given, it prints".
SCOPE_END = re.compile(
    r"[;:.()?!](?!\w)|[()]|\b(?:but|however|except|although|whereas|though|because|since|while)\b", re.IGNORECASE
)
CONDITION = re.compile(r"\W*(?:if|when|unless)\b", re.IGNORECASE)
CLAUSE_START = re.compile(r"\W*(?:(?:and|so|then) )?(?:it|he|she|they|we|you|this|these|there)\b", re.IGNORECASE)
PIECE_END = re.compile(r", |(?= (?:if|when|unless) )")
NOT_ONLY = re.compile(r"\bnot (?:only|just|merely)\b", re.IGNORECASE)
IN_PLACE_OF = re.compile(r"\b(?:rather than|instead of)\b", re.IGNORECASE)
CALL = re.compile(r"(?<=\w)\(([^()]*)\)")  # the parentheses of code, such as append(item), separate no thoughts
QUOTED = re.compile(r"[`\"“]([^`\"“”]{2,60})[`\"”]")
CODE_LIKE = re.compile(r"(?!\d)\w*(?:[^\W\d]\w*\d|[a-z][A-Z]|[A-Z]{2}|[^\W_]_[^\W_])\w*")
NAME = re.compile(r"\w+(?:[._]\w+)*")
POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
STEMMERS = threading.local()  # a Stemmer must not be shared between threads


@dataclass(frozen=True)
class Claim:
    """What an answer says.

    text: the answer without introductions, citation marks and verdict; for a bare verdict, the question. words: the
    stems of its content words that the question does not hold; for a bare verdict, those of the question. shared: the
    stems that answer and question share. numbers, names: those of `words` that are numbers, names or code. verdict:
    True for yes or SUPPORTS, False for no or REFUTES, else None. is_bare: whether the answer is only a verdict.
    """

    text: str
    words: frozenset[str]
    shared: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    verdict: bool | None = None
    is_bare: bool = False


@dataclass(frozen=True)
class Agreement:
    """How well a sentence agrees with a claim.

    coverage: the share (0..1) of the claim's words that the sentence holds; a word that only its context holds counts
    half. missing: the numbers and names of the claim that neither holds. opposes: whether the sentence denies what the
    claim affirms, or the other way round, by a negation or an opposite word. is_full: whether sentence and context
    hold all words.
    """

    coverage: float
    missing: frozenset[str]
    opposes: bool
    is_full: bool


def read_claim(question: str, answer: str) -> Claim:
    """What the answer to a question says.

    >>> claim = read_claim("How long may it be?", "Sure! Based on passage 2, at most **72 bytes**.")
    >>> sorted(claim.words), sorted(claim.numbers)
    (['72', 'byte', 'most'], ['72'])
    >>> read_claim("Is it open?", "No, it is closed.").verdict
    False
    """
    text = MARKUP.sub(" ", CITATION.sub(" ", answer)).strip()
    verdict: bool | None = None
    if text.strip(" .!") in (SUPPORTS, REFUTES):
        verdict, text = text.startswith(SUPPORTS), ""
    elif match := VERDICT.match(text):
        verdict, text = match["word"].lower().startswith("y"), text[match.end() :]
    asked, said = list_content_stems(question), list_content_stems(text) - LEAD_STEMS
    is_bare = verdict is not None and len(said) < 2
    source = question if is_bare else text
    stems = asked if is_bare else said
    words = stems if is_bare else frozenset(word for word in stems if not is_there(word, asked))
    names = find_names(source if is_bare else answer) & words
    return Claim(source, words, frozenset() if is_bare else stems - words, find_numbers(words), names, verdict, is_bare)


def compare(claim: Claim, sentence: str, context: str, *, label: str) -> Agreement:
    """How well a sentence agrees with a claim.

    context: what the sentence is about without saying it (title, headings, the sentences before it in its line).
    label: the part of it that names the sentence (title, headings, the beginning of its line): a number of the claim
    must stand in the sentence or in its label.

    >>> claim = read_claim("How long may it be?", "It may have 64 bytes.")
    >>> compare(claim, "Its length is at most 72 bytes.", "Passwords", label="Passwords")
    Agreement(coverage=0.5, missing=frozenset({'64'}), opposes=False, is_full=False)
    """
    said, around = list_content_stems(sentence), list_content_stems(context)
    words = claim.words or claim.shared
    shares = [1.0 if is_in(word, said) else 0.5 if is_in(word, around) else 0.0 for word in words]
    named = list_content_stems(label)
    missing = frozenset(
        {word for word in claim.numbers if not is_there(word, said | named)}
        | {word for word in claim.names if not is_there(word, said | around)}
    )
    coverage = sum(shares) / len(shares) if shares else 0.0
    return Agreement(coverage, missing, is_opposed(claim, sentence), is_full=min(shares, default=0.0) > 0)


def is_opposed(claim: Claim, sentence: str) -> bool:
    """Whether the claim and the sentence deny each other: exactly one of them is negated, or one has the opposite of a
    word of the other, but not both.
    """
    own, other = Counter(list_key_words(claim.text)), Counter(list_key_words(sentence))
    flips = any(
        own[word] > other[word] and any(other[opposite] > own[opposite] for opposite in OPPOSITES[word])
        for word in own
        if word in OPPOSITES
    )
    said = list_content_stems(sentence)
    asked = claim.words if claim.verdict is None else claim.words | claim.shared
    common = frozenset(word for word in asked if is_in(word, said))
    common = common or frozenset(word for word in claim.shared if is_in(word, said))
    return flips != (is_negated(claim.text, common) != is_negated(sentence, common))


def is_negated(text: str, stems: frozenset[str]) -> bool:
    """Whether at least half of the words with these stems stand in a part of the text that a negation reaches.

    >>> is_negated("It does not handle redirects, cookies or JSON.", frozenset({"json"}))
    True
    >>> is_negated("It returns the smallest item, not the largest.", frozenset({"smallest"}))
    False
    """
    text = IN_PLACE_OF.sub(", not ", NOT_ONLY.sub(" ", CALL.sub(r" \1 ", text)))
    denied = affirmed = frozenset[str]()
    for part in SCOPE_END.split(text):
        is_denied = False
        for piece in PIECE_END.split(part):
            words, is_condition = list_key_words(piece), CONDITION.match(piece) is not None
            is_denied = is_denied and not CLAUSE_START.match(piece)
            is_denied = is_denied or not (is_condition or NEGATIONS.isdisjoint(words))
            found = frozenset(own for own in stems if is_in(own, frozenset(map(stem, words))))
            if is_denied and not is_condition:
                denied |= found
            else:
                affirmed |= found
    only_denied = denied - affirmed
    return len(only_denied) > 0 and len(only_denied) >= len(affirmed)


def list_content_stems(text: str) -> frozenset[str]:
    """The stems of a text's content words, and its numbers."""
    return list_content_stems_cached(text) if len(text) <= 2000 else compute_content_stems(text)


def compute_content_stems(text: str) -> frozenset[str]:
    text = POSSESSIVE.sub("", text)
    words = [word for word in list_key_words(text) if len(word) > 1 or word.isdigit()]
    stems = {stem(word) for word in words if word not in FUNCTION_WORDS}
    # Code is one word, whatever its signs and digits: h1, XXHASH_LINK_SO.
    return frozenset(
        stems | {match.group().lower() for match in NAME.finditer(text) if CODE_LIKE.fullmatch(match.group())}
    )


list_content_stems_cached = lru_cache(maxsize=4096)(compute_content_stems)


def stem(word: str) -> str:
    """The stem of an English word in lower case; a number stays as it is."""
    if not hasattr(STEMMERS, "english"):
        import Stemmer

        STEMMERS.english = Stemmer.Stemmer("english")
    return word if word[:1].isdigit() else str(STEMMERS.english.stemWord(word))


LEAD_STEMS = frozenset(map(stem, LEAD_WORDS))


def is_in(word: str, stems: frozenset[str]) -> bool:
    """Whether a stem is among these, or one that begins alike, such as written and write."""
    return is_there(word, stems) or (
        len(word) > 4 and not word[0].isdigit() and any(begins_alike(word, other) for other in stems)
    )


def is_there(word: str, stems: frozenset[str]) -> bool:
    """Whether a stem or number is among these. A year is also found in a date."""
    if word in stems:
        return True
    return word.isdigit() and len(word) == 4 and any(other.startswith(f"{word}m") for other in stems)


def begins_alike(first: str, second: str) -> bool:
    shared = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= 4 and shared >= 0.55 * max(len(first), len(second))


def find_numbers(stems: Iterable[str]) -> frozenset[str]:
    """Those that are numbers or dates, without 1: "one" is seldom meant as a number."""
    return frozenset(word for word in stems if word[:1].isdigit() and word not in ("1", "1st"))


def find_names(text: str) -> frozenset[str]:
    """The stems of names and code in a text: quoted words, and words that are capitalised within a sentence or hold
    digits, capitals or signs.
    """
    names: set[str] = set()
    for quoted in QUOTED.findall(text):
        if len(quoted.split()) <= 3:
            names |= list_content_stems(quoted)
    for match in NAME.finditer(text):
        word, before = match.group(), text[: match.start()].rstrip(" \"'“‘([")
        is_at_start = not before or before[-1] in ".!?:\n"
        is_capitalised = word[0].isupper() and not is_at_start and len(word) > 1
        if CODE_LIKE.fullmatch(word):
            names.add(word.lower())
        elif is_capitalised or "." in word.strip("."):
            names.update(stem(part) for part in list_key_words(word) if not part[:1].isdigit())
    return frozenset(names)


def says_more(text: str, answer: str) -> bool:
    """Whether a text says more than the answer within it, apart from words that introduce it.

    >>> says_more("Based on the passages, the answer is **pino**.", "pino")
    False
    >>> says_more("It is pino, by Ada Korn.", "pino")
    True
    """
    said = list_content_stems(MARKUP.sub(" ", CITATION.sub(" ", text)))
    return not said <= (list_content_stems(answer) | LEAD_STEMS)
