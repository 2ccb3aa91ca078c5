"""Reads keywords from a reply, as CRAG's prompt "keywords" asks for them."""

import re

from quorum.algorithms.vote_key import vote_key
from quorum.core.text import is_unknown
from quorum.parsing.answers import Parsed
from quorum.parsing.candidates import find_distinct_candidates, split_at_markers
from quorum.parsing.wrapping import remove_wrapping

MOST_KEYWORDS, LONGEST_KEYWORD = 3, 6  # keywords, words
LABEL = re.compile(
    r"^\W*(?:search\s+)?(?:key\s?words?|words\s+to\s+search\s+for|quer(?:y|ies)|names)\W*:", re.IGNORECASE
)
BETWEEN = re.compile(r"[,;，、；\n]+")


def parse_keywords(reply: str) -> Parsed[list[str]]:
    """At most three different keywords of at most six words each; none if the reply says that it has none.

    A reply in which every keyword is longer is malformed, and gives none.

    >>> parse_keywords("Keywords: Lumen Tower, year of completion").value
    ['Lumen Tower', 'year of completion']
    """
    text = LABEL.sub("", remove_wrapping(reply).strip()).strip()
    if not text or is_unknown(text):
        return Parsed([])
    items = split_at_markers(text) or [text]
    keywords = find_distinct_candidates((part for item in items for part in BETWEEN.split(item)), vote_key)
    short = [keyword for keyword in keywords if len(keyword.split()) <= LONGEST_KEYWORD]
    return Parsed(short[:MOST_KEYWORDS], malformed=bool(keywords) and not short)
