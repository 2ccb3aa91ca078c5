"""Whether two things share a trait, by what the passages say of each."""

import pytest

from quorum.algorithms.shared_traits import answer_about_both

PASSAGES = [
    ("Ada Korn", "Ada Korn was a Norwegian engineer and writer."),
    ("Per Lund (painter)", "Per Lund was a painter and writer, born in Oslo, Norway."),
    ("Ida Brenn", "Ida Brenn is a Swiss painter."),
    ("Rope", "Rope is a film directed by Per Lund."),
    ("Dr. Korn", "Dr. Korn was an engineer."),
    ("Ben Roe", "Ben Roe, who taught many of us, was a Norwegian painter."),
    ("The Salt Road", "The Salt Road is a drama directed by Ida Brenn."),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Are Ada Korn and Per Lund both writers?", "yes"),
        ("Are Ada Korn and Ida Brenn both painters?", "no"),
        ("Were both Per Lund and Ida Brenn painters?", "yes"),
        ("Are Ada Korn and Per Lund from the same country?", "yes"),
        ("Are Ada Korn and Ida Brenn of the same nationality?", "no"),
        ("Are the directors of the films Rope and The Salt Road from the same country?", "no"),
        ("Are Dr Korn and Ida Brenn both engineers?", "no"),
        ("Are Dr Korn and Ada Korn both engineers?", "yes"),  # the title's full stop is not in the question
        ("Are Ben Roe and Ada Korn from the same country?", "yes"),  # "us" is no country
    ],
)
def test_the_passages_decide_whether_both_share_a_trait(question: str, answer: str) -> None:
    assert answer_about_both(question, PASSAGES) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Are Ada Korn and Unni Vik both writers?",  # no passage about one of them
        "Do Ada Korn and Per Lund share a birthday?",
        "Who knew both Ada Korn and Per Lund?",
        "Is Ada Korn a writer?",
        "Are Ada Korn and Per Lund friends?",
        "",
    ],
)
def test_other_questions_get_no_answer(question: str) -> None:
    assert answer_about_both(question, PASSAGES) is None
