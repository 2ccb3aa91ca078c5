"""The BM25 score of every token in every text, in arrays that are computed once and can be saved.

The scores equal those of the library bm25s (Lu 2024, "BM25S") with its method "lucene", to the last bit; a test
compares them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
TOKENS_AT_ONCE = 4_000_000  # tokens that are counted together, which takes about 100 MB
ARRAY_NAMES = ("scores", "texts", "starts")


@dataclass(frozen=True)
class TokenScores:
    """The BM25 scores of tokens in texts, ordered by token and then by text.

    vocabulary: token -> its number. scores and texts have one element for each pair of a token and a text that contains
    it: the score of the token in this text, and the number of the text. starts: the elements of token i are those from
    starts[i] to starts[i + 1], without the latter. text_count: the number of texts.
    """

    vocabulary: dict[str, int]
    scores: NDArray[np.float32]
    texts: NDArray[np.int32]
    starts: NDArray[np.int64]
    text_count: int

    @classmethod
    def build(
        cls, token_numbers: Integers, lengths: Integers, vocabulary: dict[str, int], k1: float, b: float
    ) -> "TokenScores":
        """Compute the scores of tokenized texts.

        token_numbers: the numbers of all tokens, one text after the other. lengths: the number of tokens of each text.
        k1, b: the parameters of BM25.
        """
        tokens, text_numbers, counts = count_tokens(token_numbers, lengths)
        document_frequencies = np.bincount(tokens, minlength=len(vocabulary))
        idf = np.log(1 + (len(lengths) - document_frequencies + 0.5) / (document_frequencies + 0.5)).astype(np.float32)
        length_norm = k1 * ((1 - b) + b * lengths / lengths.mean())
        return cls(
            vocabulary,
            (idf[tokens] * (counts / (length_norm[text_numbers] + counts))).astype(np.float32),
            text_numbers.astype(np.int32),
            np.concatenate([[0], np.cumsum(document_frequencies)]).astype(np.int64),
            len(lengths),
        )

    def compute_scores(self, tokens: Sequence[str]) -> NDArray[np.float32]:
        """The score of each text for the tokens of a query; 0 for a text that contains none of the tokens."""
        scores = np.zeros(self.text_count, dtype=np.float32)
        for token in tokens:
            if (number := self.vocabulary.get(token)) is not None:
                begin, end = self.starts[number], self.starts[number + 1]
                scores[self.texts[begin:end]] += self.scores[begin:end]
        return scores

    def save(self, folder: Path) -> None:
        """Write the scores to a new folder."""
        folder.mkdir()
        for name in ARRAY_NAMES:
            np.save(folder / f"{name}.npy", getattr(self, name))
        content = {"count": self.text_count, "vocabulary": self.vocabulary}
        (folder / "vocabulary.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "TokenScores":
        """Read the files that `save` wrote. Raises OSError, ValueError or KeyError if they are damaged."""
        content = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        scores, texts, starts = (np.load(folder / f"{name}.npy") for name in ARRAY_NAMES)
        if not len(content["vocabulary"]) + 1 == len(starts) or not len(scores) == len(texts) == starts[-1]:
            raise ValueError("the files of the index do not belong together")
        return cls(content["vocabulary"], scores, texts, starts, int(content["count"]))


def count_tokens(token_numbers: Integers, lengths: Integers) -> tuple[Integers, Integers, Integers]:
    """Count how often each token occurs in each text that contains it.

    Returns three arrays of equal length: token numbers, text numbers and counts, ordered by token and then by text.
    """
    text_count, ends = len(lengths), np.cumsum(lengths)
    # The key of a pair of a token and a text: token number * text_count + text number.
    keys, counts, text_begin = [], [], 0
    # Some texts at a time: np.unique sorts, which needs several times the memory of the tokens.
    while text_begin < text_count:
        token_begin = ends[text_begin - 1] if text_begin else 0
        text_end = max(text_begin + 1, int(np.searchsorted(ends, token_begin + TOKENS_AT_ONCE, side="right")))
        text_numbers = np.repeat(np.arange(text_begin, text_end), lengths[text_begin:text_end])
        some_keys, some_counts = np.unique(
            token_numbers[token_begin : ends[text_end - 1]].astype(np.int64) * text_count + text_numbers,
            return_counts=True,
        )
        keys.append(some_keys)
        counts.append(some_counts)
        text_begin = text_end
    all_keys, all_counts = np.concatenate(keys), np.concatenate(counts)
    if len(keys) > 1:
        order = np.argsort(all_keys, kind="stable")
        all_keys, all_counts = all_keys[order], all_counts[order]
    return all_keys // text_count, all_keys % text_count, all_counts
