"""TF-IDF similarity of short texts (Salton and Buckley 1988), without an index."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

WORD = re.compile(r"\w+")


def cosines(query: str, texts: Sequence[str]) -> list[float]:
    """The cosine of the query with each text, in 0..1; 0 where they share no word.

    A word weighs its count times ln((1 + n) / (1 + df)) + 1, n and df being taken over the texts and the query: the
    smoothed form, in which a word that all of them hold still counts.
    """
    counts = [Counter(WORD.findall(text.casefold())) for text in (query, *texts)]
    found_in = Counter(word for count in counts for word in count)
    rarity = {word: math.log((1 + len(counts)) / (1 + df)) + 1 for word, df in found_in.items()}
    asked, *others = [unit({word: n * rarity[word] for word, n in count.items()}) for count in counts]
    return [dot(asked, other) for other in others]


def unit(vector: Mapping[str, float]) -> dict[str, float]:
    """The vector at length 1; one of no words stays as it is."""
    length = math.sqrt(math.fsum(value * value for value in vector.values()))
    return {word: value / length for word, value in vector.items()} if length else dict(vector)


def dot(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """At most 1, whatever the rounding."""
    return min(1.0, math.fsum(value * right[word] for word, value in left.items() if word in right))
