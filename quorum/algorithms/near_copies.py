"""Compares an answer with a sentence that has almost the same words: what it repeats, and which words it exchanges.

Pure functions on English text; words are compared by their stems, as in `quorum.algorithms.agreement`.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

from quorum.algorithms.agreement import FUNCTION_WORDS, is_in, stem
from quorum.algorithms.opposites import OPPOSITES
from quorum.algorithms.vote_key import list_key_words
from quorum.core.sentences import make_word_set

FEWEST_WORDS = 3  # content words that are repeated
MOST_OTHER_WORDS = 1  # content words that may stand between those of a repeated text
# Words that relate, limit or connect others. A text may exchange them and still say the same.
RELATING_WORDS = make_word_set(
    """about according across after against all along already also although always among another anything around away
    before besides between beyond certain currently different during each either else etc even ever every
    everything example except few following for further generally given hence however including indeed instance
    instead kind later least like likely long made make makes making many maybe merely more moreover most mostly
    much namely near nearly need next note now often only onto other others otherwise out outside over
    particular perhaps possible possibly provided providing rather regarding same second several simply some
    something sort still that them there therefore though through throughout thus together too towards type
    under until upon use used uses using usual usually various version very via way well whatever whatsoever
    whenever whether within without yet 1st"""
)


def list_content_words(text: str) -> list[str]:
    """The content words of a text, in their order."""
    words = list_key_words(text)
    return [word for word in words if word not in FUNCTION_WORDS and (len(word) > 1 or word.isdigit())]


def is_repeated(text: str, sentence: str) -> bool:
    """Whether a sentence has all content words of a text, at least three, in one stretch with at most one other.

    >>> is_repeated("It is widely run in production.", "It is run widely in production, and supports HTTP/2.")
    True
    >>> is_repeated("The tower was sold in 1931.", "The tower was painted and sold after the war, in 1931.")
    False
    """
    wanted = frozenset(map(stem, list_content_words(text)))
    stems = [stem(word) for word in list_content_words(sentence)]
    if len(wanted) < FEWEST_WORDS:
        return False
    width = len(list_content_words(text)) + MOST_OTHER_WORDS
    return any(wanted.issubset(stems[start : start + width]) for start in range(max(1, len(stems) - width + 1)))


def find_exchanged_words(text: str, sentence: str) -> list[tuple[str, str]]:
    """(a word of the text, the other word that a sentence has in its place), if the sentence repeats all other words.

    A word is exchanged if one other word stands in its place, and the text's word stands nowhere in the sentence.
    Whether both mean the same is not looked at, but words that only relate others are left out.

    >>> find_exchanged_words("A password is added to signed tokens.", "A timestamp is added to signed tokens.")
    [('password', 'timestamp')]
    """
    own, other = list_content_words(text), list_content_words(sentence)
    own_stems, other_stems = list(map(stem, own)), list(map(stem, other))
    operations = SequenceMatcher(None, own_stems, other_stems, autojunk=False).get_opcodes()
    equal_count = sum(end - start for name, start, end, _, _ in operations if name == "equal")
    pairs = [
        (own[start], other[other_start])
        for name, start, end, other_start, other_end in operations
        if name == "replace" and end - start == 1 == other_end - other_start
    ]
    if equal_count < FEWEST_WORDS or equal_count + len(pairs) < len(own):
        return []
    return [pair for pair in pairs if is_exchange(pair, frozenset(own_stems), frozenset(other_stems))]


def is_exchange(pair: tuple[str, str], stems: frozenset[str], other_stems: frozenset[str]) -> bool:
    """Whether neither word stands in the other text, and both say something themselves."""
    own, other = pair
    says_something = not any(word in RELATING_WORDS or word.endswith("ly") for word in pair)
    return says_something and not is_in(stem(own), other_stems) and not is_in(stem(other), stems)


def is_said_of_opposite(text: str, sentence: str) -> bool:
    """Whether a sentence with both words of a pair of opposites says of the other one what the text says of its own.

    What follows the text's word ("hash128" in "signed values for hash128") follows the opposite in the sentence.

    >>> sentence = "It returns signed values for 32 bits and unsigned values for hash128."
    >>> [is_said_of_opposite(f"It returns {word} values for hash128.", sentence) for word in ("signed", "unsigned")]
    [True, False]
    """
    own, other = list_key_words(text), list_key_words(sentence)
    for at, word in enumerate(own):
        opposites = OPPOSITES.get(word, frozenset()) & set(other)
        if word not in other or not opposites or opposites & set(own):
            continue
        following = [stem(later) for later in own[at + 1 :] if later not in FUNCTION_WORDS]
        sides = [find_sides(later, other, word, opposites) for later in dict.fromkeys(following)]
        if sides.count({"opposite"}) > sides.count({"own"}):
            return True
    return False


def find_sides(wanted: str, words: Sequence[str], own: str, opposites: frozenset[str] | set[str]) -> set[str]:
    """Which of the two, "own" or "opposite", stands last before a word with the wanted stem; of several words, each."""
    sides, last = set(), None
    for word in words:
        last = "own" if word == own else "opposite" if word in opposites else last
        if last is not None and stem(word) == wanted:
            sides.add(last)
    return sides
