"""Parsing replies to react's prompts: a thought, and the action that the reply takes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.steps import Action, parse_self_ask_step, parse_step

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
def test_a_search_and_its_thought_are_read(reply: str, query: str) -> None:
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
def test_a_malformed_action_is_marked_and_its_query_is_read_if_possible(reply: str, query: str | None) -> None:
    parsed_step = parse_step(reply)
    assert (parsed_step.value.query, parsed_step.value.answer, parsed_step.malformed) == (query, None, True)
    assert parsed_step.value.thought.startswith(THOUGHT)


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
def test_a_final_answer_and_its_thought_are_read(reply: str, answer: str) -> None:
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
def test_a_final_answer_in_another_form_is_read_and_marked_malformed(reply: str, answer: str) -> None:
    assert parse_step(reply) == Parsed(Action(THOUGHT, answer=answer), malformed=True)


@pytest.mark.parametrize("reply", ["", "  \n", "...", "```\n```", "{}", "[]", "null"])
def test_a_reply_without_a_step_is_malformed(reply: str) -> None:
    parsed_step = parse_step(reply)
    assert parsed_step.malformed
    assert (parsed_step.value.query, parsed_step.value.answer) == (None, None)


def test_an_action_that_a_thought_talks_about_is_not_the_one_taken() -> None:
    reply = "A Search[Lhotse] would not help, so K2 it is.\nAction 1: Search[K2]"
    assert parse_step(reply).value == Action("A Search[Lhotse] would not help, so K2 it is.", query="K2")
    reply_with_answers_around = "Answer: not known yet.\nAction 1: Search[K2]\nFinal answer: 8,611 m"
    assert parse_step(reply_with_answers_around).value.query == "K2"
    reply_with_verbs_in_prose = "Search engines may finish this. Searching (again) costs little.\nAction 1: Search[K2]"
    assert parse_step(reply_with_verbs_in_prose).value.query == "K2"


def test_a_question_that_is_restated_before_the_step_is_skipped() -> None:
    assert parse_step(f"Question: How high?\nThought 1: {THOUGHT}\nAction 1: Search[K2]").value.query == "K2"
    assert parse_self_ask_step("Question: How high?\nYes.\nFollow up: What is K2?").value.question == "What is K2?"


def test_a_thought_of_several_lines_becomes_one_line() -> None:
    reply = "Thought 1: First this.\n\n- Then that.\nAction 1: Search[x]"
    assert parse_step(reply).value.thought == "First this. - Then that."


NAMES = st.from_regex(r"[A-Z][a-z]{2,8}( [A-Z][a-z]{2,8}){0,2}", fullmatch=True)
RUN_ONS = st.sampled_from(  # what a model may write after its action; a name is put in place of each {}
    ["", "\nObservation 1: {}", "\nObservation: x\nThought 2: {}\nAction 2: Finish[{}]", "\nAction 2: Search[{}]"]
)


@given(NAMES, NAMES, RUN_ONS, st.sampled_from(["Search", "Finish", "search", "FINISH"]))
def test_text_after_the_first_action_is_ignored(name: str, other_name: str, run_on: str, verb: str) -> None:
    step = f"{THOUGHT}\nAction 1: {verb}[{name}]"
    assert parse_step(step + run_on.format(other_name, other_name)) == parse_step(step)
    action = parse_step(step).value
    assert (action.query or action.answer) == name
