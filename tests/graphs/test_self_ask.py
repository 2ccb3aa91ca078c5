"""Self-Ask: which nodes run with which updates, and the extra prompt if the model gives no final answer.

The traces show a step as "query -> ids of passages: answer"; the step that gives the final answer has the query None.
"""

from method_fixtures import make_runtime
from stepwise_fixtures import CAST_QUESTION, ROLE_QUESTION, ask, make_step, trace_stepwise_method

from quorum.core.state import State
from quorum.models.scripted import ScriptedModel
from quorum.nodes.routes import (
    answer_follow_up_or_question,
    continue_follow_ups,
    search_or_conclude,
)


async def test_self_ask_answers_follow_up_questions_before_the_question() -> None:
    model = ScriptedModel().on(
        "self_ask",
        f"Yes.\nFollow up: {CAST_QUESTION}\nIntermediate answer: made up",
        f"Follow up: {ROLE_QUESTION}",
        "So the final answer is: Jillian Belk.",
    )
    model.on("self_ask_answer", "Jillian Bell", "Answer: Jillian Belk")
    first_step, second_step = (
        f"{CAST_QUESTION} -> mansion jan: Jillian Bell",
        f"{ROLE_QUESTION} -> bell mansion: Jillian Belk",
    )
    assert await trace_stepwise_method("self_ask", model) == [
        ("begin", {}),
        ("follow_up", {"steps": [f"{CAST_QUESTION} -> : None"], "query": CAST_QUESTION}),
        ("retrieve", {"passages": "mansion jan"}),
        ("intermediate_answer", {"steps": [first_step]}),
        ("follow_up", {"steps": [first_step, f"{ROLE_QUESTION} -> : None"], "query": ROLE_QUESTION}),
        ("retrieve", {"passages": "bell mansion"}),
        ("intermediate_answer", {"steps": [first_step, second_step]}),
        ("follow_up", {"steps": [first_step, second_step, "None -> : Jillian Belk"]}),
        (
            "conclude",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": f"Follow up: {CAST_QUESTION}\nIntermediate answer: Jillian Bell\n"
                f"Follow up: {ROLE_QUESTION}\nIntermediate answer: Jillian Belk",
                "passages": "mansion jan bell",
            },
        ),
        ("find_evidence", {"evidence": ["bell"]}),
    ]
    sent_texts = [sent.text for sent in model.history if sent.prompt_name == "self_ask"]
    assert sent_texts[1] == f"{sent_texts[0]} Yes.\nFollow up: {CAST_QUESTION}\nIntermediate answer: Jillian Bell"
    assert sent_texts[2] == f"{sent_texts[1]}\nFollow up: {ROLE_QUESTION}\nIntermediate answer: Jillian Belk"
    assert f"Question: {CAST_QUESTION}\nAnswer:" in model.history[1].text
    assert [sent.call_subject for sent in model.history] == [f"step {n}" for n in (1, 1, 2, 2, 3)]


async def test_self_ask_without_a_follow_up_retrieves_for_the_question_itself() -> None:
    model = ScriptedModel().on("self_ask", "No.").on("self_ask_final", "So the final answer is: Jillian Belk")
    assert await trace_stepwise_method("self_ask", model, k=4) == [
        ("begin", {}),
        ("follow_up", {"steps": []}),
        ("retrieve", {"passages": "jan work mansion bell"}),
        ("forced_answer", {"steps": ["None -> jan work mansion bell: Jillian Belk"]}),
        (
            "conclude",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "passages": "jan work mansion bell",
            },
        ),
        ("find_evidence", {"evidence": ["bell"]}),
    ]
    assert model.history[1].text.endswith("Are follow up questions needed here: No.\nSo the final answer is:")


async def test_self_ask_retrieves_nothing_if_the_first_reply_gives_the_final_answer() -> None:
    result = await ask("self_ask", ScriptedModel().on("self_ask", "No. So the final answer is: Jillian Belk"))
    assert (result["answer"], result["passages"], result["rationale"]) == ("Jillian Belk", [], None)
    assert (result["evidence"], result["malformed"]) == ([], {})


async def test_self_ask_forces_a_missing_final_answer() -> None:
    model = ScriptedModel().on("self_ask", f"Yes.\nFollow up: {CAST_QUESTION}", "That is all I can say.")
    model.on("self_ask_answer", "Jillian Bell").on("self_ask_final", "Jillian Belk")
    updates = await trace_stepwise_method("self_ask", model)
    assert [node for node, _ in updates][-4:] == ["follow_up", "forced_answer", "conclude", "find_evidence"]
    assert updates[-4][1]["malformed"] == {"self_ask": ["That is all I can say."]}
    assert (updates[-2][1]["answer"], updates[-2][1]["passages"]) == ("Jillian Belk", "mansion jan")
    final_prompt = model.history[-1].text
    assert "[1] SuperMansion\n" in final_prompt
    assert final_prompt.endswith(
        f"Follow up: {CAST_QUESTION}\nIntermediate answer: Jillian Bell\nSo the final answer is:"
    )


async def test_self_ask_out_of_steps_forces_the_final_answer() -> None:
    model = (
        ScriptedModel()
        .on("self_ask", lambda _: f"Follow up: {CAST_QUESTION}")
        .on("self_ask_answer", lambda _: "Unknown")
    )
    result = await ask("self_ask", model.on("self_ask_final", "unknown"), max_steps=2)
    assert (result["answer"], result["unknown"]) == ("unknown", True)
    assert {prompt_name: usage["calls"] for prompt_name, usage in result["usage"].items()} == {
        "self_ask": 2,
        "self_ask_answer": 2,
        "self_ask_final": 1,
    }


def test_routes_of_self_ask() -> None:
    """make_step("a") is a follow-up question without an answer, make_step(None, "y") is a final answer."""
    runtime_for_two_steps = make_runtime(max_steps=2)
    assert search_or_conclude(State(steps=[]), make_runtime()) == "search"
    assert search_or_conclude(State(steps=[make_step("a")]), make_runtime()) == "search"
    assert search_or_conclude(State(steps=[make_step("a", "x")]), make_runtime()) == "no final answer"
    final_state = State(steps=[make_step("a", "x"), make_step(None, "y")])
    assert search_or_conclude(final_state, make_runtime()) == "final answer"
    assert answer_follow_up_or_question(State(steps=[make_step("a")]), runtime_for_two_steps) == "found for a follow-up"
    assert answer_follow_up_or_question(State(steps=[]), runtime_for_two_steps) == "found for the question"
    assert continue_follow_ups(State(steps=[make_step("a", "x")]), runtime_for_two_steps) == "may ask more"
    assert continue_follow_ups(State(steps=[make_step("a", "x")] * 2), runtime_for_two_steps) == "limit reached"
