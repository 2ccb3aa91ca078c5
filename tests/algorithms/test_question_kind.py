"""The kind of answer that a question asks for, whatever its case, mark and politeness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.question_kinds import read_labelled_questions
from quorum.algorithms.question_kind import find_question_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who built the tower?", "short"),
        ("Do you know who built the tower?", "short"),
        ("Can you tell me when it was finished", "short"),
        ("Could you name the architect?", "short"),
        ("Which is taller, A or B?", "short"),
        ("Did Oslo or Bergen host it first?", "short"),
        ("Is the tower open or closed on Sundays?", "short"),
        ("Should I use uv or pip?", "short"),
        ("Will it delete my files or keep them?", "short"),
        ("How tall is it?", "short"),
        ("How do sailors describe the wind?", "short"),
        ("Why was the wind called the mistral?", "short"),
        ("How did he die?", "short"),
        ("How is Ghent spelled in Dutch?", "short"),
        ("In which year was it finished?", "short"),
        ("Wie hoch ist der Turm, und kann man ihn besteigen?", "short"),
        ("", "short"),
        ("Is it open on Sundays?", "yes_no"),
        ("IS IT OPEN ON SUNDAYS", "yes_no"),
        ("Please, can I bring a dog?", "yes_no"),
        ("The tower is open, isn't it?", "yes_no"),
        ("I was wondering whether it is open", "yes_no"),
        ("Can you tell me if it is open?", "yes_no"),
        ("If it rains, is the tower closed?", "yes_no"),
        ("Doesn’t it close at nine?", "yes_no"),
        ("The tower is open on Sundays?", "yes_no"),
        ("Are there lifts or stairs?", "yes_no"),
        ("Can it read PDF or Word files?", "yes_no"),
        ("Is it more than 100 m or so?", "yes_no"),
        ("Is the file kept if the command fails or ends?", "yes_no"),
        ("Does it matter whether I use tabs or spaces?", "yes_no"),
        ("How do I add a retriever?", "long"),
        ("how to add a retriever", "long"),
        ("Hi, could you please explain how retrievers work?", "long"),
        ("Do you know how to add a retriever?", "long"),
        ("Why is it slow?", "long"),
        ("What is the difference between concat and sure?", "long"),
        ("What are the steps to publish a package?", "long"),
        ("What should I do if the index is damaged?", "long"),
        ("List the settings of the reader.", "long"),
        ("On Windows, how do I install it?", "long"),
        ("I deleted a file. How do I get it back?", "long"),
        ("Why is my function called twice?", "long"),
    ],
)
def test_a_question_is_of_one_kind(question: str, kind: str) -> None:
    assert find_question_kind(question) == kind
    assert find_question_kind(question.lower().removesuffix("?") if kind == "long" else question.upper()) == kind


def test_a_title_with_a_mark_inside_a_question_ends_no_sentence() -> None:
    assert find_question_kind("Are Cherry Bell and Savage! (a film) from the same country?") == "yes_no"
    assert find_question_kind("Are Rising and What Would He Buy? about similar topics?") == "yes_no"
    assert find_question_kind("It fails! how do I mend it?") == "long"


@pytest.mark.parametrize("half", ["development", "held_out"])
def test_at_least_95_percent_of_the_questions_about_documentation_are_recognised(half: str) -> None:
    questions = [item for item in read_labelled_questions() if item.part == half]
    assert len(questions) == 155
    assert sum(item.found_kind == item.kind for item in questions) / len(questions) >= 0.95


@given(st.text(max_size=200))
def test_any_text_has_a_kind(text: str) -> None:
    assert find_question_kind(text) in ("short", "yes_no", "long")
