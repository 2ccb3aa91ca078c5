"""What replies say that go step by step: react's thought and action, self_ask's follow-up or final answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.steps import Action, FollowUp, parse_final_answer, parse_follow_up, parse_step

THOUGHT = "I need the height."


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        (f"{THOUGHT}\nAction 1: Search[height of K2]", "height of K2"),
        (f"Thought 1: {THOUGHT}\nAction 1: Search[height of K2]", "height of K2"),
        (f"Thought: {THOUGHT}\nAction: Search[height of K2]", "height of K2"),
        (f"{THOUGHT}\nSearch[height of K2]", "height of K2"),
        (f"{THOUGHT} Search[height of K2]", "height of K2"),
        (f"{THOUGHT}\naction 1: search[height of K2]", "height of K2"),
        (f"{THOUGHT}\nACTION 1: SEARCH[height of K2]", "height of K2"),
        (f"{THOUGHT}\n**Action 1:** Search[height of K2]", "height of K2"),
        (f"**Thought 1:** {THOUGHT}\n\n**Action 1:** **Search[height of K2]**", "height of K2"),
        (f"**Thought 1**: {THOUGHT}\n**Action 1**: `Search[height of K2]`", "height of K2"),
        (f"### Thought 1: {THOUGHT}\n### Action 1: Search[height of K2]", "height of K2"),
        (f"- Thought: {THOUGHT}\n- Action: Search[height of K2]", "height of K2"),
        (f"{THOUGHT}\nAction 2：Search[height of K2]", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search【height of K2】", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search［height of K2］", "height of K2"),
        (f'{THOUGHT}\nAction 1: Search["height of K2"]', "height of K2"),
        (f"{THOUGHT}\nAction 1: Search('height of K2')", "height of K2"),
        (f'{THOUGHT}\nAction 1: Search(query="height of K2")', "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[query: height of K2]", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search [height of K2]", "height of K2"),
        (f"{THOUGHT}\nAction 1:\nSearch[height of K2]", "height of K2"),
        (f"{THOUGHT} Action 1: Search[height of K2] Observation 1: 8,611 m", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search\nAction Input: height of K2", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[height of K2].", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[K2 [mountain]]", "K2 [mountain]"),
        (f"{THOUGHT}\nAction 1: Search[for whom the bell tolls]", "for whom the bell tolls"),
        (f"{THOUGHT}\nNext action: Search[height of K2]", "height of K2"),
        (f"```\nThought 1: {THOUGHT}\nAction 1: Search[height of K2]\n```", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[height of K2]\nObservation 1: K2 is 8,611 m high.", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[height of K2]\nAction 2: Search[height of Lhotse]", "height of K2"),
        (
            f"{THOUGHT}\nSearch[height of K2]\nObservation: 8,611 m\nThought 2: Done.\nAction 2: Finish[8,611 m]",
            "height of K2",
        ),
        (f"{THOUGHT} Search[height of K2]\nThought 2: Now I know.\nAction 2: Finish[8,611 m]", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[height of K2]\nFinish[8,611 m]", "height of K2"),
        (json.dumps({"thought": THOUGHT, "action": "Search[height of K2]"}), "height of K2"),
        (json.dumps({"thought": THOUGHT, "action": "search", "action_input": "height of K2"}), "height of K2"),
        (json.dumps({"Thought": THOUGHT, "Action": {"name": "Search", "query": "height of K2"}}), "height of K2"),
        (json.dumps({"thought": THOUGHT, "search": "height of K2"}), "height of K2"),
        (f"```json\n{json.dumps({'thought': THOUGHT, 'action': 'Search[height of K2]'})}\n```", "height of K2"),
    ],
)
def test_searches(reply: str, query: str) -> None:
    assert parse_step(reply) == Parsed(Action(THOUGHT, query=query))


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        (f"{THOUGHT}\nAction 1: Search[height of K2", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search: height of K2", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search height of K2", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search for height of K2", "height of K2"),
        (f'{THOUGHT}\nAction 1: Search "height of K2"', "height of K2"),
        (f"{THOUGHT}\nSearch: height of K2", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[height of K2\nObservation 1: 8,611 m", "height of K2"),
        (f"{THOUGHT}\nAction 1: Search[]", None),
        (f"{THOUGHT}\nAction 1: Search", None),
        (f"{THOUGHT}\nAction 1: Lookup[height]", None),
        (f"{THOUGHT}\nAction 1:", None),
        (THOUGHT, None),
        (f"{THOUGHT}\n\nQuestion: Who climbed it?\nThought 1: Hm.\nAction 1: Search[K2]", None),
        (f"{THOUGHT}\nObservation 1: 8,611 m\nThought 2: Done.\nAction 2: Finish[8,611 m]", None),
        (json.dumps({"thought": THOUGHT}), None),
        (json.dumps({"thought": THOUGHT, "action": "Lookup", "action_input": "height"}), None),
    ],
)
def test_searches_that_break_the_contract(reply: str, query: str | None) -> None:
    parsed = parse_step(reply)
    assert (parsed.value.query, parsed.value.answer, parsed.malformed) == (query, None, True)
    assert parsed.value.thought.startswith(THOUGHT)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (f"{THOUGHT}\nAction 2: Finish[8,611 metres]", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: finish[8,611 metres]", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: **Finish[8,611 metres]**", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish[8,611 metres.]", "8,611 metres"),
        (f'{THOUGHT}\nAction 2: Finish["8,611 metres"]', "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish(8,611 metres)", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish[answer: 8,611 metres]", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish[8,611 metres]\n\nQuestion: How high is Lhotse?\nThought 1: ...", "8,611 metres"),
        (f"{THOUGHT}\nFinish[8,611 metres]\nAction 3: Search[Lhotse]", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish[Unknown]", "Unknown"),
        (f"{THOUGHT}\nAction 2: Finish[Washington, D.C.]", "Washington, D.C."),
        (json.dumps({"thought": THOUGHT, "action": "Finish[8,611 metres]"}), "8,611 metres"),
        (json.dumps({"thought": THOUGHT, "action": "finish", "input": "8,611 metres"}), "8,611 metres"),
        (json.dumps({"thought": THOUGHT, "action": {"name": "finish", "answer": "8,611 metres"}}), "8,611 metres"),
        (json.dumps({"thought": THOUGHT, "answer": "8,611 metres"}), "8,611 metres"),
        (json.dumps({"thought": THOUGHT, "final_answer": 8611}), "8611"),
    ],
)
def test_finishes(reply: str, answer: str) -> None:
    assert parse_step(reply) == Parsed(Action(THOUGHT, answer=answer))


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (f"{THOUGHT}\nAction 2: Finish: 8,611 metres", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish 8,611 metres", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish[8,611 metres", "8,611 metres"),
        (f"{THOUGHT}\nFinal Answer: 8,611 metres", "8,611 metres"),
        (f"{THOUGHT}\nAnswer: 8,611 metres", "8,611 metres"),
        (f"{THOUGHT}\nAction 2: Finish[]", "unknown"),
        (f"{THOUGHT}\nAction 2: Finish", "unknown"),
    ],
)
def test_finishes_that_break_the_contract(reply: str, answer: str) -> None:
    assert parse_step(reply) == Parsed(Action(THOUGHT, answer=answer), malformed=True)


@pytest.mark.parametrize("reply", ["", "  \n", "...", "```\n```", "{}", "[]", "null"])
def test_no_step_at_all(reply: str) -> None:
    parsed = parse_step(reply)
    assert parsed.malformed
    assert (parsed.value.query, parsed.value.answer) == (None, None)


def test_an_action_that_a_thought_talks_about_is_not_the_one_taken() -> None:
    reply = "A Search[Lhotse] would not help, so K2 it is.\nAction 1: Search[K2]"
    assert parse_step(reply).value == Action("A Search[Lhotse] would not help, so K2 it is.", query="K2")
    not_yet = "Answer: not known yet.\nAction 1: Search[K2]\nFinal answer: 8,611 m"
    assert parse_step(not_yet).value.query == "K2"
    prose = "Search engines may finish this. Searching (again) costs little.\nAction 1: Search[K2]"
    assert parse_step(prose).value.query == "K2"


def test_a_question_that_is_restated_is_not_the_next_one() -> None:
    assert parse_step(f"Question: How high?\nThought 1: {THOUGHT}\nAction 1: Search[K2]").value.query == "K2"
    assert parse_follow_up("Question: How high?\nYes.\nFollow up: What is K2?").value.question == "What is K2?"


def test_a_thought_of_several_lines_becomes_one_line() -> None:
    reply = "Thought 1: First this.\n\n- Then that.\nAction 1: Search[x]"
    assert parse_step(reply).value.thought == "First this. - Then that."


@pytest.mark.parametrize(
    ("reply", "follow_up"),
    [
        ("Yes.\nFollow up: How high is K2?", FollowUp(question="How high is K2?")),
        (" Yes.\nFollow up: How high is K2?\n", FollowUp(question="How high is K2?")),
        ("Follow up: How high is K2?", FollowUp(question="How high is K2?")),
        ("Follow-up: How high is K2?", FollowUp(question="How high is K2?")),
        ("Followup: How high is K2?", FollowUp(question="How high is K2?")),
        ("follow up question: How high is K2?", FollowUp(question="How high is K2?")),
        ("Follow up 2: How high is K2?", FollowUp(question="How high is K2?")),
        ("Follow up question #1: How high is K2?", FollowUp(question="How high is K2?")),
        ("**Follow up:** How high is K2?", FollowUp(question="How high is K2?")),
        ("Follow up：How high is K2?", FollowUp(question="How high is K2?")),
        ("- Follow up: How high is K2?", FollowUp(question="How high is K2?")),
        ("Follow up:\nHow high is K2?", FollowUp(question="How high is K2?")),
        ("Yes. Follow up: How high is K2?", FollowUp(question="How high is K2?")),
        ("Follow up: How high is K2? Intermediate answer: 8,611 m", FollowUp(question="How high is K2?")),
        ('Follow up: "How high is K2?"', FollowUp(question="How high is K2?")),
        ("```\nYes.\nFollow up: How high is K2?\n```", FollowUp(question="How high is K2?")),
        (
            "Are follow up questions needed here: Yes.\nFollow up: How high is K2?",
            FollowUp(question="How high is K2?"),
        ),
        (
            "Yes.\nFollow up: How high is K2?\nIntermediate answer: 8,611 m\nSo the final answer is: 8,611 m",
            FollowUp(question="How high is K2?"),
        ),
        ("Follow up: How high is K2?\nFollow up: How high is Lhotse?", FollowUp(question="How high is K2?")),
        ("Intermediate answer: K2\nFollow up: How high is K2?", FollowUp(question="How high is K2?")),
        ('{"follow_up": "How high is K2?"}', FollowUp(question="How high is K2?")),
        ('{"needed": true, "follow up question": "How high is K2?"}', FollowUp(question="How high is K2?")),
        ("So the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("So the final answer is: 8,611 metres.", FollowUp(answer="8,611 metres")),
        ("So the final answer is 8,611 metres.", FollowUp(answer="8,611 metres")),
        ("so the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("**So the final answer is:** 8,611 metres", FollowUp(answer="8,611 metres")),
        ("So the final answer is: **8,611 metres**", FollowUp(answer="8,611 metres")),
        ("The final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("Final answer: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("So the answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("Therefore, the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("So the final answer is：8,611 metres", FollowUp(answer="8,611 metres")),
        ("No.\nSo the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("No. So the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("K2 is lower. So the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ("So the final answer is: 8,611 metres\n\nQuestion: Who?\nFollow up: Why?", FollowUp(answer="8,611 metres")),
        ("Intermediate answer: 8,611 m\nSo the final answer is: 8,611 metres", FollowUp(answer="8,611 metres")),
        ('{"final_answer": "8,611 metres"}', FollowUp(answer="8,611 metres")),
        ("So the final answer is: Unknown", FollowUp(answer="Unknown")),
        ("No.", FollowUp()),
        ("no", FollowUp()),
        ("**No.**", FollowUp()),
        ("Are follow up questions needed here: No.", FollowUp()),
        ("No follow up questions are needed.", FollowUp()),
    ],
)
def test_follow_ups(reply: str, follow_up: FollowUp) -> None:
    assert parse_follow_up(reply) == Parsed(follow_up)


@pytest.mark.parametrize(
    ("reply", "follow_up"),
    [
        ("Yes. How high is K2?", FollowUp(question="How high is K2?")),
        ("How high is K2?", FollowUp(question="How high is K2?")),
        ("Yes.", FollowUp()),
        ("Yes.\nFollow up:", FollowUp()),
        ("So the final answer is:", FollowUp()),
        ("Intermediate answer: 8,611 metres", FollowUp()),
        ("K2 is 8,611 metres high.", FollowUp()),
        ("K2 is high.\n\nQuestion: Who?\nAre follow up questions needed here: Yes.\nFollow up: Who?", FollowUp()),
        ("", FollowUp()),
        ("...", FollowUp()),
        ("{}", FollowUp()),
        ('{"follow_up": ""}', FollowUp()),
    ],
)
def test_follow_ups_that_break_the_contract(reply: str, follow_up: FollowUp) -> None:
    assert parse_follow_up(reply) == Parsed(follow_up, malformed=True)


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
def test_forced_answers(reply: str, answer: str) -> None:
    assert parse_final_answer(reply) == Parsed(FollowUp(answer=answer))


@pytest.mark.parametrize("reply", ["", "So the final answer is:", "\n\n"])
def test_forced_answers_without_any(reply: str) -> None:
    assert parse_final_answer(reply) == Parsed(FollowUp(answer="unknown"), malformed=True)


REPLY_LINES = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                *(
                    "Thought 1:",
                    "Action 1: Search[x]",
                    "Action: Finish[",
                    "Observation 1: x",
                    "Search[",
                    "]",
                    "```",
                    "{",
                    "}",
                ),
                *("Follow up:", "Follow up: x?", "Intermediate answer: x", "So the final answer is:", "No.", "Yes."),
                '{"action": "Search[x]"}',
            ]
        ),
    ),
    max_size=8,
).map("\n".join)


@given(REPLY_LINES)
def test_any_reply_is_at_most_one_thing_on_one_line(reply: str) -> None:
    act, follow = parse_step(reply).value, parse_follow_up(reply).value
    assert act.query is None or act.answer is None
    assert follow.question is None or follow.answer is None
    for text in (act.query, act.answer, follow.question, follow.answer, parse_final_answer(reply).value.answer):
        assert text is None or (text.strip() == text != "" and len(text.splitlines()) == 1)
    assert len(act.thought.splitlines()) <= 1


@given(REPLY_LINES)
def test_without_an_action_a_reply_is_malformed(reply: str) -> None:
    parsed = parse_step(reply)
    assert parsed.malformed or parsed.value.query or parsed.value.answer


NAMES = st.from_regex(r"[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8}){0,2}", fullmatch=True)
RUN_ONS = st.sampled_from(
    ["", "\nObservation 1: {}", "\nObservation: x\nThought 2: {}\nAction 2: Finish[{}]", "\nAction 2: Search[{}]"]
)


@given(NAMES, NAMES, RUN_ONS, st.sampled_from(["Search", "Finish", "search", "FINISH"]))
def test_text_after_the_first_action_is_ignored(name: str, other: str, run_on: str, verb: str) -> None:
    step = f"{THOUGHT}\nAction 1: {verb}[{name}]"
    assert parse_step(step + run_on.format(other, other)) == parse_step(step)
    parsed = parse_step(step).value
    assert (parsed.query or parsed.answer) == name


@given(NAMES, NAMES)
def test_text_after_a_follow_up_question_is_ignored(name: str, other: str) -> None:
    run_on = f"\nIntermediate answer: {other}\nFollow up: {other}?\nSo the final answer is: {other}"
    assert parse_follow_up(f"Yes.\nFollow up: Who is {name}?{run_on}") == Parsed(FollowUp(question=f"Who is {name}?"))
    assert parse_follow_up(f"So the final answer is: {name}{run_on}") == Parsed(FollowUp(answer=name))


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        "Thought 1: x\n",
        "Search[",
        "[",
        "Action 1:\n",
        "Finish\n",
        "Follow up:\n",
        "So the ",
        "Yes.\n",
        "* ",
        "No. ",
    ],
)
def test_a_reply_in_a_loop_is_read(unit: str) -> None:
    """Were a pattern quadratic in the length, this would take minutes."""
    assert parse_step("So.\n" + unit * 20000).value
    assert parse_follow_up("So.\n" + unit * 20000).value
    assert parse_final_answer("So.\n" + unit * 20000).value.answer
