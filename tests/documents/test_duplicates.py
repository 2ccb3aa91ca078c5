"""A passage is a copy if another passage, which is not much longer, contains all words of the copy in the same order
without a gap. The copy's title and headings must be those of the other passage, or empty.
"""

import pytest

from quorum.core.state import Passage, Place
from quorum.documents.duplicates import is_copy, make_sketch, read_words, split_words

RULE_TEXT = (
    "Pump {name} is serviced every {months} months by two people who have passed the course. They close the inlet, "
    "wait until the pressure has fallen below {bar} bar, open the lid, change both seals and write the date into "
    "the book."
)


def make_passage(text: str, title: str = "Rules", file: str = "rules.md", headings: tuple[str, ...] = ()) -> Passage:
    place = Place(file=f"/docs/{file}", headings=list(headings))
    return Passage(id=text[:9], title=title, text=text, places=[place])


STORED_PASSAGE = make_passage(RULE_TEXT.format(name="Kestrel", months=6, bar=2.5))


def is_found_as_copy(other: Passage, stored_passage: Passage = STORED_PASSAGE) -> bool:
    """Whether `other` is a copy of `stored_passage` or of a part of it, and their sketches have a hash in common.

    Without a common hash, indexing would not compare the two passages.
    """
    return bool(set(make_sketch(stored_passage)) & set(make_sketch(other))) and is_copy(
        read_words(other), read_words(stored_passage)
    )


@pytest.mark.parametrize(
    "text",
    [
        STORED_PASSAGE["text"],
        STORED_PASSAGE["text"].upper(),
        STORED_PASSAGE["text"].replace(",", "").replace(". They", "\n\n* They"),
        STORED_PASSAGE["text"].replace("serviced", "ser\u00adviced").replace(" ", "\u00a0 "),
        STORED_PASSAGE["text"].removesuffix(" into the book."),
    ],
)
def test_the_same_words_in_another_format_and_most_of_the_text_are_copies(text: str) -> None:
    assert is_found_as_copy(make_passage(text))


@pytest.mark.parametrize(
    "text",
    [
        RULE_TEXT.format(name="Kestrel", months=8, bar=2.5),
        RULE_TEXT.format(name="Kestrel", months=6, bar=25),
        RULE_TEXT.format(name="Kestrel", months=6, bar="-2.5"),
        RULE_TEXT.format(name="Osprey", months=6, bar=2.5),
        STORED_PASSAGE["text"].replace("who have", "who have not"),
        STORED_PASSAGE["text"].replace("below", "above"),
        STORED_PASSAGE["text"] + " Nobody enters alone.",
        "A hundred words more. " * 25 + STORED_PASSAGE["text"],
    ],
)
def test_texts_with_one_other_word_or_number_and_longer_texts_are_no_copies(text: str) -> None:
    assert not is_found_as_copy(make_passage(text))


def test_a_copy_has_the_same_headings_and_the_same_title_or_its_file_name_as_title() -> None:
    text = STORED_PASSAGE["text"]
    assert not is_found_as_copy(make_passage(text, title="Rules of 2024"))
    assert not is_found_as_copy(make_passage(text, headings=("Kestrel",)))
    assert is_found_as_copy(make_passage(text, title="old rules", file="old rules.txt"))
    # Here the stored passage has its file's name as title, which counts as no title, and the other one has a title.
    assert not is_found_as_copy(
        make_passage(text), stored_passage=make_passage(text, title="rules-2023", file="rules-2023.txt")
    )


@pytest.mark.parametrize(
    ("text", "other_text"),
    [("x < 5", "x > 5"), ("-3 °C", "3 °C"), ("3.5", "35"), ("5%", "5"), ("Wifi ✓", "Wifi ✗"), ("a/b", "a b")],
)
def test_meaningful_signs_count_as_words(text: str, other_text: str) -> None:
    assert split_words(text) != split_words(other_text)


def test_short_passages_are_never_copies() -> None:
    assert make_sketch(make_passage("Closed on Mondays.")) == ()
