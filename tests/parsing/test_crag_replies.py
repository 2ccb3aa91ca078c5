"""Replies to CRAG's prompts: grades and keywords."""

import pytest

from quorum.parsing.grades import parse_grade
from quorum.parsing.keywords import parse_keywords


@pytest.mark.parametrize(
    ("reply", "grade", "malformed"),
    [
        ("Yes", 1.0, False),
        ("**Yes.**", 1.0, False),
        ("No, the passage is about a mast.", -1.0, False),
        ("Answer: No", -1.0, False),
        ("partly", 0.0, False),
        ("Yes, but only in part", 0.0, False),
        ("Teilweise", 0.0, False),
        ("Nein.", -1.0, False),
        ("I see a passage.", 0.0, True),
        ("", 0.0, True),
    ],
)
def test_grades(reply: str, grade: float, malformed: bool) -> None:
    parsed = parse_grade(reply)
    assert (parsed.value, parsed.malformed) == (grade, malformed)


@pytest.mark.parametrize(
    ("reply", "keywords", "malformed"),
    [
        ("Lumen Tower, year of completion", ["Lumen Tower", "year of completion"], False),
        (
            "1. Lumen Tower\n2. strike of 1929\n3. iron mast\n4. steps",
            ["Lumen Tower", "strike of 1929", "iron mast"],
            False,
        ),
        ("Keywords: Lumen Tower; lumen tower", ["Lumen Tower"], False),
        ("Unknown", [], False),
        ("", [], False),
        ("You could search for the year in which this tower was finished", [], True),
    ],
)
def test_keywords(reply: str, keywords: list[str], malformed: bool) -> None:
    parsed = parse_keywords(reply)
    assert (parsed.value, parsed.malformed) == (keywords, malformed)
