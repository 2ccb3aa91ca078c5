"""BM25 (Robertson et al.; k1 0.9, b 0.4): splits texts into tokens, and ranks passages by the scores of bm25s."""

import logging
import re
import threading
import unicodedata
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quorum.core.sentences import make_word_set
from quorum.core.state import Passage
from quorum.documents.split import UNSPACED_SCRIPTS
from quorum.retrievers.bm25_within import K1, B, score_within
from quorum.retrievers.passages import copy_with_score, make_indexed_text

if TYPE_CHECKING:
    import bm25s

ENGLISH, NO_LANGUAGE = "english", "none"
MAX_CHOSEN = 16  # filters of which an index remembers the passages that pass
HANGUL = "\uac00-\ud7a3"  # Korean has spaces, but is split like the unspaced scripts
MARKED_SCRIPTS = "\u0900-\u0963\u0966-\u0dff"  # scripts of India, whose vowel signs are not letters to Python
STEMMERS = threading.local()  # a Stemmer must not be shared between threads
WORD_RUN = re.compile(
    rf"(?P<unspaced>[{UNSPACED_SCRIPTS}{HANGUL}]+)|(?:[^\W_{UNSPACED_SCRIPTS}{HANGUL}]|[{MARKED_SCRIPTS}])+"
)
SPECIAL_CHARACTER = re.compile(rf"[{UNSPACED_SCRIPTS}{HANGUL}{MARKED_SCRIPTS}]")
WORD = re.compile(r"[^\W_]+")  # finds the same as WORD_RUN in texts without special characters
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# A table for str.translate: each ASCII character that is no letter or digit becomes a space.
ASCII_WORD_TABLE = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))
ACCENT = re.compile("[\u0300-\u036f]")
STOP_WORDS = make_word_set(
    """a an and are as at be but by did do does for from had has have how in into is it its of on or s such t that the
    their then there these they this to was were what when where which who whom whose why will with"""
)


def tokenize_text(text: str, language: str = ENGLISH) -> list[str]:
    """The tokens of a text: stemmed words of its language, words of other scripts, characters and bigrams of unspaced
    scripts.

    Case and accents are folded. Stop words are kept: `tokenize_query` drops them from questions. language: one of
    `quorum.core.context.Language`.
    """
    return stem_words(split_words(text, language), language)


def split_words(text: str, language: str = ENGLISH) -> list[str]:
    """The words of a text, folded but not stemmed, with the characters and bigrams of unspaced scripts.

    The words of languages other than English keep their accents, which their stemmers read.
    """
    # Where a letter and its accent are one sign, NFKC makes them one. Other accents, such as a stress, are dropped.
    folded_text = (
        fold_text(text) if language == ENGLISH else ACCENT.sub("", unicodedata.normalize("NFKC", text.casefold()))
    )
    # Two quicker ways for texts without special characters: the first if all word characters are ASCII, the second if
    # some are not. Both give the words that the loop below would give.
    non_ascii = "" if folded_text.isascii() else "".join(NOT_ASCII.findall(folded_text))
    if not WORD.search(non_ascii) and not SPECIAL_CHARACTER.search(non_ascii):
        return (NOT_ASCII.sub(" ", folded_text) if non_ascii else folded_text).translate(ASCII_WORD_TABLE).split()
    if not SPECIAL_CHARACTER.search(non_ascii):
        return WORD.findall(folded_text)
    words: list[str] = []
    for run in WORD_RUN.finditer(folded_text):
        word = run.group()
        if run["unspaced"]:
            words += [*word, *(word[i : i + 2] for i in range(len(word) - 1))]
        else:
            words.append(word)
    return words


def tokenize_query(text: str, language: str = ENGLISH) -> list[str]:
    """The tokens of a question without its stop words. A question that has only stop words ("Who are The Who?") keeps
    them.
    """
    if language == ENGLISH:
        tokens = tokenize_text(text)
        return [token for token in tokens if token not in STOP_WORDS] or tokens
    words, stop_words = split_words(text, language), read_stop_words(language)
    return stem_words([word for word in words if word not in stop_words] or words, language)


@cache
def read_stop_words(language: str) -> frozenset[str]:
    """The stop words of a language other than English, from bm25s; empty if it has none."""
    from bm25s import stopwords

    return frozenset(getattr(stopwords, f"STOPWORDS_{language.upper()}", ()))


def fold_text(text: str) -> str:
    """The text in lower case, without accents, with compatibility forms unified."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", ACCENT.sub("", parts))


def stem_words(words: list[str], language: str = ENGLISH) -> list[str]:
    """The stems of words, by the Snowball stemmer of their language (Porter 2001), without accents. In English, words
    that are not ASCII and stop words stay unchanged; without a language ("none"), only accents are folded.
    """
    if language == NO_LANGUAGE:
        return [fold_text(word) for word in words]
    stemmers = STEMMERS.__dict__
    if language not in stemmers:
        import Stemmer

        stemmers[language] = Stemmer.Stemmer(language)
    stems = stemmers[language].stemWords(words)
    if language != ENGLISH:
        return [fold_text(stem) for stem in stems]
    return [s if w.isascii() and w not in STOP_WORDS else w for w, s in zip(words, stems, strict=True)]


class BM25Index:
    """Searches passages by BM25. scores: the scores of the tokens in the passages; if None, they are computed.

    language: whose stems and stop words are used.
    """

    def __init__(
        self, passages: Sequence[Passage], scores: "bm25s.BM25 | None" = None, language: str = ENGLISH
    ) -> None:
        self.passages, self.language = passages, language
        self.scores = compute_scores(map(make_indexed_text, passages), language) if scores is None else scores
        self.chosen: OrderedDict[frozenset[str], NDArray[np.bool_]] = OrderedDict()  # of the filters used last

    def find_best(self, query: str, k: int, within: frozenset[str] | None = None) -> list[Passage]:
        """The best k passages, or all if there are fewer. Passages with equal scores stay in the order of
        `self.passages`.

        within: ids of the passages among which to search, as if there were no others; None: all.
        """
        if within is None:
            numbers, scores = np.arange(len(self.passages)), self.score_passages(query)
        else:
            chosen = self.choose(within)
            numbers = np.flatnonzero(chosen)
            scores = self.score_chosen(query, chosen)[numbers]
        k = min(k, len(scores))
        if k < 1:
            return []
        lowest_score = np.partition(scores, len(scores) - k)[len(scores) - k]
        eligible = np.flatnonzero(scores >= lowest_score)
        best = eligible[np.argsort(-scores[eligible], kind="stable")][:k]
        return [copy_with_score(self.passages[numbers[i]], scores[i]) for i in best]

    def score_passages(self, query: str) -> NDArray[np.float32]:
        """One score per passage; 0 for a passage without a word of the query."""
        if self.scores is None:
            return np.zeros(len(self.passages), dtype=np.float32)
        scores: NDArray[np.float32] = self.scores.get_scores_from_ids(
            self.scores.get_tokens_ids(tokenize_query(query, self.language))
        )
        return scores

    def score_chosen(self, query: str, chosen: NDArray[np.bool_]) -> NDArray[np.float32]:
        """One score per passage, as if there were only the chosen ones (see `quorum.retrievers.bm25_within`)."""
        if self.scores is None:
            return np.zeros(len(self.passages), dtype=np.float32)
        tokens = self.scores.get_tokens_ids(tokenize_query(query, self.language))
        return score_within(self.scores.scores, self.lengths, chosen, tokens)

    def choose(self, within: frozenset[str]) -> NDArray[np.bool_]:
        """Which passages have one of these ids."""
        chosen = self.chosen.pop(within, None)
        if chosen is None:
            chosen = np.fromiter((p["id"] in within for p in self.passages), dtype=np.bool_, count=len(self.passages))
        self.chosen[within] = chosen
        while len(self.chosen) > MAX_CHOSEN:
            self.chosen.popitem(last=False)
        return chosen

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each passage. Only a search with a filter needs them."""
        texts = map(make_indexed_text, self.passages)
        return np.fromiter(
            (len(split_words(text, self.language)) for text in texts), dtype=np.int64, count=len(self.passages)
        )


def import_bm25s() -> Any:
    """The library bm25s (Lu 2024, "BM25S"). It logs each index that it builds, even at the level of debugging."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


def compute_scores(texts: Iterable[str], language: str = ENGLISH) -> "bm25s.BM25 | None":
    """The BM25 score of each token in each text, by Lucene's formula; None if no text has a token."""
    word_numbers, stem_numbers = WordNumbers(), WordNumbers()
    texts_as_words = [array("i", map(word_numbers.__getitem__, split_words(text, language))) for text in texts]
    if not word_numbers:
        return None
    # Each distinct word is stemmed only once.
    stem_of_word = [stem_numbers[stem] for stem in stem_words(list(word_numbers), language)]
    texts_as_stems = [array("i", map(stem_of_word.__getitem__, words)) for words in texts_as_words]
    scores: bm25s.BM25 = import_bm25s().BM25(method="lucene", k1=K1, b=B, csc_backend="numpy")
    scores.index((texts_as_stems, dict(stem_numbers)), create_empty_token=False, show_progress=False)
    return scores


def save_scores(scores: "bm25s.BM25", folder: Path) -> None:
    """Write the scores to a new folder."""
    scores.save(folder, show_progress=False)


def load_scores(folder: Path, text_count: int) -> "bm25s.BM25":
    """Read what `save_scores` wrote for so many texts. Raises OSError, ValueError, KeyError or TypeError if files are
    damaged: a power failure may have cut each of them.
    """
    scores: bm25s.BM25 = import_bm25s().BM25.load(folder, show_progress=False)
    data, texts, starts = (scores.scores[name] for name in ("data", "indices", "indptr"))
    is_complete = len(scores.vocab_dict) + 1 == len(starts) and len(data) == len(texts) == starts[-1]
    if not is_complete or scores.scores["num_docs"] != text_count:
        raise ValueError("the files of the index do not belong together")
    return scores


class WordNumbers(dict[str, int]):
    """Word -> number, in the order in which words are first looked up."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number
