"""The context that an index may add to a passage: the first sentence of its section, where the passage lacks it.

Title and headings are indexed with every passage; with this sentence, they are what its document's outline says of it
(Anthropic 2024, "Introducing Contextual Retrieval", lets a model write such a context; here nothing is written).
"""

from collections.abc import Iterable, Mapping, Sequence

from quorum.documents.sections import ITEM, LocatedUnit, is_in_heading_block
from quorum.documents.split import count_half_words, normalize_spacing, split_overlong, split_units

LONGEST_CONTEXT = 2 * 60  # half words: of a longer sentence, the beginning
FirstSentences = Mapping[tuple[str, ...], LocatedUnit]  # headings -> the first sentence below them


def find_first_sentences(section: Iterable[LocatedUnit]) -> FirstSentences:
    """The first sentence below each path of headings in a section; items of lists, rows and code are no sentences."""
    found: dict[tuple[str, ...], LocatedUnit] = {}
    for unit in section:
        if unit.block.kind == "text" and not is_in_heading_block(unit) and not ITEM.match(unit.block.text):
            found.setdefault(unit.headings, unit)
    return found


def find_context(text: str, sentences: FirstSentences, headings: Sequence[str], start: int, passage: str) -> str:
    """The first sentence below a passage's headings; "" if it does not stand before the passage, or also in it.

    text: the document's, in which the passage begins at the offset `start`; passage: its text.
    """
    sentence = sentences.get(tuple(headings))
    if sentence is None or sentence.unit.start >= start:
        return ""
    return leave_out_repeated(text[sentence.unit.start : sentence.unit.end], passage)


def find_context_of_part(text: str, part: str) -> str:
    """The first sentence of a text without headings, for a part of it; "" if the part holds it."""
    units = split_units(text, LONGEST_CONTEXT)
    return leave_out_repeated(text[units[0].start : units[0].end], part) if units else ""


def leave_out_repeated(sentence: str, passage: str) -> str:
    """The sentence, cut if it is too long; "" if the passage has it, too."""
    sentence = normalize_spacing(sentence)
    if count_half_words(sentence) > LONGEST_CONTEXT:
        first = split_overlong(sentence, 0, len(sentence), LONGEST_CONTEXT)[0]
        sentence = sentence[first.start : first.end].strip()
    return "" if sentence in passage else sentence
