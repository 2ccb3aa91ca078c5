"""Parsing replies to self_ask's prompts: a follow-up question or the final answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.steps import SelfAskStep, parse_final_answer, parse_self_ask_step


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        ("Yes.\nFollow up: How high is K2?", SelfAskStep(question="How high is K2?")),
        (" Yes.\nFollow up: How high is K2?\n", SelfAskStep(question="How high is K2?")),
        ("Follow up: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Follow-up: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Followup: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("follow up question: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Follow up 2: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Follow up question #1: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("**Follow up:** How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Follow up：How high is K2?", SelfAskStep(question="How high is K2?")),
        ("- Follow up: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Follow up:\nHow high is K2?", SelfAskStep(question="How high is K2?")),
        ("Yes. Follow up: How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Follow up: How high is K2? Intermediate answer: 8,611 m", SelfAskStep(question="How high is K2?")),
        ('Follow up: "How high is K2?"', SelfAskStep(question="How high is K2?")),
        ("```\nYes.\nFollow up: How high is K2?\n```", SelfAskStep(question="How high is K2?")),
        (
            "Are follow up questions needed here: Yes.\nFollow up: How high is K2?",
            SelfAskStep(question="How high is K2?"),
        ),
        (
            "Yes.\nFollow up: How high is K2?\nIntermediate answer: 8,611 m\nSo the final answer is: 8,611 m",
            SelfAskStep(question="How high is K2?"),
        ),
        ("Follow up: How high is K2?\nFollow up: How high is Lhotse?", SelfAskStep(question="How high is K2?")),
        ("Intermediate answer: K2\nFollow up: How high is K2?", SelfAskStep(question="How high is K2?")),
        ('{"follow_up": "How high is K2?"}', SelfAskStep(question="How high is K2?")),
        ('{"needed": true, "follow up question": "How high is K2?"}', SelfAskStep(question="How high is K2?")),
        ("So the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("So the final answer is: 8,611 metres.", SelfAskStep(answer="8,611 metres")),
        ("So the final answer is 8,611 metres.", SelfAskStep(answer="8,611 metres")),
        ("so the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("**So the final answer is:** 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("So the final answer is: **8,611 metres**", SelfAskStep(answer="8,611 metres")),
        ("The final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("Final answer: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("So the answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("Therefore, the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("So the final answer is：8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("No.\nSo the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("No. So the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("K2 is lower. So the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ("So the final answer is: 8,611 metres\n\nQuestion: Who?\nFollow up: Why?", SelfAskStep(answer="8,611 metres")),
        ("Intermediate answer: 8,611 m\nSo the final answer is: 8,611 metres", SelfAskStep(answer="8,611 metres")),
        ('{"final_answer": "8,611 metres"}', SelfAskStep(answer="8,611 metres")),
        ("So the final answer is: Unknown", SelfAskStep(answer="Unknown")),
        ("No.", SelfAskStep()),
        ("no", SelfAskStep()),
        ("**No.**", SelfAskStep()),
        ("Are follow up questions needed here: No.", SelfAskStep()),
        ("No follow up questions are needed.", SelfAskStep()),
    ],
)
def test_a_follow_up_question_or_final_answer_is_read(reply: str, step: SelfAskStep) -> None:
    assert parse_self_ask_step(reply) == Parsed(step)


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        ("Yes. How high is K2?", SelfAskStep(question="How high is K2?")),
        ("How high is K2?", SelfAskStep(question="How high is K2?")),
        ("Yes.", SelfAskStep()),
        ("Yes.\nFollow up:", SelfAskStep()),
        ("So the final answer is:", SelfAskStep()),
        ("Intermediate answer: 8,611 metres", SelfAskStep()),
        ("K2 is 8,611 metres high.", SelfAskStep()),
        ("K2 is high.\n\nQuestion: Who?\nAre follow up questions needed here: Yes.\nFollow up: Who?", SelfAskStep()),
        ("", SelfAskStep()),
        ("...", SelfAskStep()),
        ("{}", SelfAskStep()),
        ('{"follow_up": ""}', SelfAskStep()),
    ],
)
def test_a_reply_in_another_form_is_marked_malformed(reply: str, step: SelfAskStep) -> None:
    assert parse_self_ask_step(reply) == Parsed(step, malformed=True)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("8,611 metres", "8,611 metres"),
        ("8,611 metres.", "8,611 metres"),
        ("So the final answer is: 8,611 metres", "8,611 metres"),
        ("The final answer is 8,611 metres.", "8,611 metres"),
        ("**8,611 metres**", "8,611 metres"),
        ('{"answer": "8,611 metres"}', "8,611 metres"),
        ("Unknown.", "Unknown"),
    ],
)
def test_a_forced_answer_is_read(reply: str, answer: str) -> None:
    """The prompt self_ask_final forces an answer where no more follow-up questions are allowed."""
    assert parse_final_answer(reply) == Parsed(SelfAskStep(answer=answer))


@pytest.mark.parametrize("reply", ["", "So the final answer is:", "\n\n"])
def test_a_forced_answer_without_text_is_unknown_and_malformed(reply: str) -> None:
    assert parse_final_answer(reply) == Parsed(SelfAskStep(answer="unknown"), malformed=True)


NAMES = st.from_regex(r"[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8}){0,2}", fullmatch=True)


@given(NAMES, NAMES)
def test_text_after_the_first_step_is_ignored(name: str, other_name: str) -> None:
    later_text = f"\nIntermediate answer: {other_name}\nFollow up: {other_name}?\nSo the final answer is: {other_name}"
    assert parse_self_ask_step(f"Yes.\nFollow up: Who is {name}?{later_text}") == Parsed(
        SelfAskStep(question=f"Who is {name}?")
    )
    assert parse_self_ask_step(f"So the final answer is: {name}{later_text}") == Parsed(SelfAskStep(answer=name))
