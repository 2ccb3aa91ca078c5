"""Questions that compare two things: how they are parsed, and how the values in the passages decide them."""

import pytest

from quorum.algorithms.comparison_questions import answer_comparison, parse_comparison

PASSAGES = [  # (title, text)
    ("Ada Korn", "Ada Korn (12 March 1851 – 4 May 1920) was an engineer from Vell. She built eleven lighthouses."),
    ("Per Lund (painter)", "Per Lund (born 3 July 1849, Oslo; died 1931) was a painter with two studios."),
    ("Iron Mast", "The Iron Mast is a 210 ft tower, finished in 1902. It has three platforms."),
    ("Lumen Tower", "The Lumen Tower, completed in 1931, is 98 metres high and has 14 platforms."),
    ("The Salt Road", "The Salt Road is a 1954 drama directed by Ada Korn."),
    ("Rope", "Rope is a film of 1960 directed by Per Lund."),
]


@pytest.mark.parametrize(
    ("question", "expected_parts"),  # the two options, the kind of value, and which value wins
    [
        ("Who was born first, Ada Korn or Per Lund?", ("Ada Korn", "Per Lund", "date", "least")),
        ("Which is taller: the Iron Mast or the Lumen Tower?", ("Iron Mast", "Lumen Tower", "number", "most")),
        ("Who is older Ada Korn or Per Lund?", ("Ada Korn", "Per Lund", "date", "least")),
        ("Between Rope and The Salt Road, which came first?", ("Rope", "Salt Road", "date", "least")),
        ("Did Rope or The Salt Road appear first?", ("Rope", "Salt Road", "date", "least")),
        ("Which film was released more recently, Rope or The Salt Road?", ("Rope", "Salt Road", "date", "most")),
        ("Is the Iron Mast taller than the Lumen Tower?", ("Iron Mast", "Lumen Tower", "number", "most")),
    ],
)
def test_options_and_wanted_value_are_read_from_a_comparison(
    question: str, expected_parts: tuple[str, str, str, str]
) -> None:
    parsed_comparison = parse_comparison(question)
    assert parsed_comparison is not None
    assert (
        parsed_comparison.first,
        parsed_comparison.second,
        parsed_comparison.kind,
        parsed_comparison.extreme,
    ) == expected_parts


@pytest.mark.parametrize(
    "question",
    ["Who built the Iron Mast?", "What is the first step?", "Is the tower tall or wide enough?", "Tea or coffee?", ""],
)
def test_other_questions_are_not_comparisons(question: str) -> None:
    assert parse_comparison(question) is None
    assert answer_comparison(question, PASSAGES) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born first, Ada Korn or Per Lund?", "Per Lund"),
        ("WHO WAS BORN FIRST, Ada Korn or Per Lund?", "Per Lund"),
        ("Who died first, Ada Korn or Per Lund?", "Ada Korn"),
        ("Who lived longer, Ada Korn or Per Lund?", "Per Lund"),
        ("Is Ada Korn older than Per Lund?", "no"),
        ("Which is taller, the Iron Mast or the Lumen Tower?", "Lumen Tower"),
        ("Which has more platforms, the Iron Mast or the Lumen Tower?", "Lumen Tower"),
        ("Which was finished later, the Iron Mast or the Lumen Tower?", "Lumen Tower"),
        ("Which film came out first, Rope or The Salt Road?", "Salt Road"),
        ("Which film has the director who was born first, Rope or The Salt Road?", "Rope"),
    ],
)
def test_the_values_of_the_passages_decide(question: str, answer: str) -> None:
    assert answer_comparison(question, PASSAGES) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Who was born first, Ada Korn or Ida Brenn?",  # no passage about one of them
        "Which has more windows, the Iron Mast or the Lumen Tower?",  # no number of windows
        "Which is taller, the Iron Mast or the Iron Mast?",  # both are the same
    ],
)
def test_without_two_different_values_there_is_no_answer(question: str) -> None:
    assert answer_comparison(question, PASSAGES) is None
