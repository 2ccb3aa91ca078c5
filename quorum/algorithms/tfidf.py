"""TF-IDF similarity of short texts (Salton and Buckley 1988), without an index."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

WORD = re.compile(r"\w+")


def compute_cosines(query: str, texts: Sequence[str]) -> list[float]:
    """The cosine of the query with each text, in 0..1; 0 if they share no word.

    The weight of a word is its count times (ln((1 + n) / (1 + df)) + 1), where n is the number of texts, the query
    included, and df the number of these that contain the word. In this smoothed form a word that occurs in all of them
    still counts.
    """
    counts = [Counter(WORD.findall(text.casefold())) for text in (query, *texts)]
    document_frequency = Counter(word for count in counts for word in count)
    idf = {word: math.log((1 + len(counts)) / (1 + df)) + 1 for word, df in document_frequency.items()}
    query_vector, *text_vectors = [
        scale_to_unit_length({word: word_count * idf[word] for word, word_count in count.items()}) for count in counts
    ]
    return [compute_dot_product(query_vector, text_vector) for text_vector in text_vectors]


def scale_to_unit_length(vector: Mapping[str, float]) -> dict[str, float]:
    """The vector divided by its length. An empty vector stays empty."""
    length = math.sqrt(math.fsum(value * value for value in vector.values()))
    return {word: value / length for word, value in vector.items()} if length else dict(vector)


def compute_dot_product(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """The dot product of two unit vectors. Rounding never makes it greater than 1."""
    return min(1.0, math.fsum(value * right[word] for word, value in left.items() if word in right))
