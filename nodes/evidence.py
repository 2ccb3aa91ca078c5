"""Finds the passages that contain an answer, and where in their texts it stands."""

import re
from collections.abc import Iterable, Sequence

from quorum.algorithms.answer_measures import contains_answer
from quorum.algorithms.vote_key import contains_key
from quorum.core.labels import is_verdict
from quorum.core.state import Evidence, Passage, Result
from quorum.core.text import is_unknown, normalize

UNQUOTABLE_TYPES = ("yes_no", "label", "long", "dialogue")  # types of answers that no passage contains word for word


def list_evidence(answer: str, passages: Sequence[Passage]) -> list[Evidence]:
    """The passages that contain the answer, in their order, each with the span of its first verbatim occurrence.

    The span is null if the answer stands only in the passage's title, or matches the passage only in normalised form.
    The list is empty for an unknown answer, and for one that no passage can contain (see `is_unquotable`), such as yes,
    no or a label.
    """
    if is_unknown(answer) or is_unquotable(answer):
        return []
    return [support for passage in passages if (support := find_passage_evidence(answer, passage))]


def split_voters(
    answer: str, voters: Iterable[tuple[str, Passage]], answer_type: str
) -> tuple[list[Evidence], list[str]]:
    """Split the passages that voted for the answer: (evidence, ids of the voters that do not contain the answer).

    voters: pairs (the answer in the wording that the model gave for this passage, the passage). No passage contains a
    verdict or a long answer literally. Only the votes support such an answer, so every voter is evidence, without a
    span.
    """
    evidence: list[Evidence] = []
    unsupported_ids: list[str] = []
    has_no_quote = is_unquotable(answer) or answer_type in UNQUOTABLE_TYPES
    for voted_answer, passage in voters:
        span = None if has_no_quote else find_span(answer, passage["text"]) or find_span(voted_answer, passage["text"])
        if has_no_quote or span or find_passage_evidence(answer, passage):
            evidence.append(make_evidence(span, passage))
        else:
            unsupported_ids.append(passage["id"])
    return evidence, unsupported_ids


def has_only_votes_as_evidence(result: Result) -> bool:
    """Whether votes are the only evidence: the cited passages voted for the answer, but none of them contains it."""
    passages = {passage["id"]: passage for passage in result.get("passages") or []}
    cited_passages = [passages[item["passage"]] for item in result.get("evidence") or [] if item["passage"] in passages]
    return bool(cited_passages) and (
        is_unquotable(result["answer"]) or not list_evidence(result["answer"], cited_passages)
    )


def is_unquotable(answer: str) -> bool:
    """Whether no passage can contain the answer: it is a verdict, or normalisation leaves nothing of it."""
    return normalize(answer) == "" or is_verdict(answer)


def find_passage_evidence(answer: str, passage: Passage) -> Evidence | None:
    """The evidence that one passage gives, or None if it does not contain the answer."""
    span = find_span(answer, passage["text"])
    texts = (passage["text"], passage["title"])
    is_contained = span or any(contains_answer(text, [answer]) or contains_key(text, answer) for text in texts)
    return make_evidence(span, passage) if is_contained else None


def make_evidence(span: tuple[int, int] | None, passage: Passage) -> Evidence:
    """The evidence of a passage. span: (start, end) of the answer in the passage's text, if the text contains it."""
    start, end = span or (None, None)
    return Evidence(passage=passage["id"], start=start, end=end)


def find_span(answer: str, text: str) -> tuple[int, int] | None:
    """(start, end) of the answer's first occurrence as whole words. Case and white space may differ."""
    words = answer.split()
    if not words:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    match = re.search(
        make_word_boundary(words[0][0], r"(?<!\w)") + pattern + make_word_boundary(words[-1][-1], r"(?!\w)"),
        text,
        re.IGNORECASE,
    )
    return (match.start(), match.end()) if match else None


def make_word_boundary(character: str, boundary: str) -> str:
    """`boundary` if the character is a letter or digit with a code point below U+0E00, else "".

    Thai begins at U+0E00. Thai and several scripts after it put no spaces between words, so an answer may begin or end
    inside a run of letters. The scripts after U+0E00 that do put spaces, such as Georgian and Hangul, and the accented
    letters of Vietnamese get no boundary either.
    """
    return boundary if character.isalnum() and ord(character) < 0x0E00 else ""
