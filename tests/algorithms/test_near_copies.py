"""An answer and a sentence with almost the same words: what is repeated, exchanged, or said of the opposite."""

import pytest

from quorum.algorithms.near_copies import find_exchanged_words, is_repeated, is_said_of_opposite

SENTENCE = "The valve of the northern tank opens at 4 bar after a long pause."


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("The valve of the northern tank opens.", True),
        ("The northern tank's valve opens at 4 bar.", True),
        ("The valve opens after a long pause.", False),  # with other words between them
        ("The valve of the southern tank opens.", False),
        ("The valve opens.", False),  # two content words are too few
    ],
)
def test_a_text_is_repeated_if_its_words_stand_in_one_stretch(text: str, repeats: bool) -> None:
    assert is_repeated(text, SENTENCE) is repeats


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("The valve of the northern boiler opens at 4 bar.", [("boiler", "tank")]),
        ("The valve of the northern tank closes at 4 bar.", [("closes", "opens")]),
        ("The valve of the northern tank opens at 4 bar.", []),
        ("The lid of the boiler closes at 4 bar.", []),  # too many other words
        ("The valve of the northern tank opens at roughly 4 bar.", []),
    ],
)
def test_a_word_in_the_place_of_another_is_exchanged(text: str, pairs: list[tuple[str, str]]) -> None:
    assert find_exchanged_words(text, SENTENCE) == pairs


def test_words_that_only_relate_others_are_not_exchanged() -> None:
    sentence = "The protocol is tested for compliance against RFC 6455."
    assert find_exchanged_words("The protocol is tested for compliance under RFC 6455.", sentence) == []
    assert find_exchanged_words("The protocol is tested for compliance with RFC 6455.", sentence) == []


@pytest.mark.parametrize(
    ("text", "is_opposite"),
    [
        ("Writing is slow on disks.", False),
        ("Writing is fast on disks.", True),
        ("Writing is slow in memory.", True),
        ("Writing is fast and slow on disks.", False),
        ("Writing is fast.", False),
    ],
)
def test_of_a_sentence_with_both_opposites_what_follows_decides(text: str, is_opposite: bool) -> None:
    assert is_said_of_opposite(text, "Writing is fast in memory and slow on disks.") is is_opposite
