"""What react, self_ask and iter_retgen have in common: limits, answer types, and runs with a loopback server."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as run_with
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from openai_server import OpenAIServer, Request
from stepwise_fixtures import (
    CAST_QUESTION,
    PASSAGES,
    QUESTION,
    ROLE_QUESTION,
    ask,
    join_ids,
    make_step,
    trace_stepwise_method,
)

from quorum.core.context import MAX_ROUNDS, MAX_STEPS, MAX_SUPERSTEPS, Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.steps import make_outcome

METHOD_NAMES = ["react", "self_ask", "iter_retgen"]


def search_again(_: Any) -> str:
    return "More.\nAction: Search[Jillian Bell]"


async def test_the_largest_number_of_steps_stays_within_the_recursion_limit() -> None:
    react = ScriptedModel().on("react", lambda _: "More.").on("react_action", search_again)
    self_ask = ScriptedModel().on("self_ask", lambda _: f"Follow up: {CAST_QUESTION}")
    self_ask.on("self_ask_answer", lambda _: "Bell").on("self_ask_final", lambda _: "Belk")
    retgen = ScriptedModel().on("reason", lambda _: "So the answer is Belk.")
    for method, model in (("react", react), ("self_ask", self_ask), ("iter_retgen", retgen)):
        nodes = [
            node
            for node, _ in await trace_stepwise_method(method, model, max_steps=MAX_STEPS, iterations=MAX_ROUNDS, k=1)
        ]
        assert nodes.count("retrieve") == (MAX_ROUNDS if method == "iter_retgen" else MAX_STEPS)
        limit = METHODS[method].graph.config["recursion_limit"]
        assert len(nodes) < limit == MAX_SUPERSTEPS


async def test_a_caller_can_set_a_lower_recursion_limit() -> None:
    with pytest.raises(GraphRecursionError):
        await METHODS["react"].graph.ainvoke(
            {"question": QUESTION, "given": PASSAGES},
            {"recursion_limit": 3},
            context=Context(model=ScriptedModel().on("react", search_again)),
        )


REPLIES_OF_ANY_FORM = [
    "",
    "Hm.",
    "Action: Search[Bell]",
    "Action: Search[",
    "Action: Finish[Belk]",
    "Action: Finish[]",
    "Observation: x",
]
REPLIES_OF_ANY_FORM += [
    "No.",
    "Yes.\nFollow up: Who is Bell?",
    "So the final answer is: Belk",
    '{"action": "Search[x]"}',
    "I don't know.",
]


@run_with(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["react", "self_ask"]),
    st.lists(st.sampled_from(REPLIES_OF_ANY_FORM), max_size=12),
    st.integers(1, 4),
)
async def test_a_run_ends_whatever_the_model_replies(method: str, replies: list[str], step_limit: int) -> None:
    model = ScriptedModel().enqueue(*replies, *["Hm."] * 12)
    result = await ask(method, model, max_steps=step_limit, k=2)
    calls_by_prompt = {prompt: usage["calls"] for prompt, usage in result["usage"].items()}
    assert calls_by_prompt.get("react", 0) <= step_limit + 1  # one thought before each search, and one after the last
    assert calls_by_prompt.get("react_action", 0) <= calls_by_prompt.get("react", 0)
    assert calls_by_prompt.get("self_ask", 0) <= step_limit
    assert calls_by_prompt.get("self_ask_final", 0) <= 1
    assert result["unknown"] == (result["answer"] == "unknown")
    assert len({passage["id"] for passage in result["passages"]}) == len(result["passages"])


def test_passages_of_all_steps_are_united_in_the_order_in_which_they_were_shown() -> None:
    shortened_passage: Passage = {**PASSAGES[3], "text": "Shortened for another query."}
    result = make_outcome(
        [
            make_step("a", None, PASSAGES[3], PASSAGES[0]),
            make_step("b", None, PASSAGES[2], shortened_passage),
            make_step(None, "Bell"),
        ],
        rationale="",
        text="It is Bell.",
    )
    assert result["passages"] == [PASSAGES[3], PASSAGES[0], PASSAGES[2]]
    assert result["answer"] == "Bell"
    assert result["rationale"] is None


SCRIPTED_REPLIES = {  # method -> prompt -> reply, in which %s stands for the answer
    "react": {"react": "So.\nAction: Finish[%s]"},
    "self_ask": {"self_ask": "No.", "self_ask_final": "%s"},
    "iter_retgen": {"reason_yes_no": "So it is. So the answer is %s."},
}


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize(
    ("reply", "answer_text", "malformed"),
    [("Yes", "yes", 0), ("no, it is not", "no", 0), ("Jillian Bell", "unknown", 1)],
)
async def test_stepwise_methods_answer_yes_or_no(method: str, reply: str, answer_text: str, malformed: int) -> None:
    model = ScriptedModel()
    for prompt, script in SCRIPTED_REPLIES[method].items():
        model.on(prompt, script % reply if "%" in script else script)
    result = await ask(method, model, answer_type="yes_no", iterations=1)
    assert (result["answer"], result["unknown"], result["evidence"]) == (answer_text, answer_text == "unknown", [])
    assert sum(replies["count"] for replies in result["malformed"].values()) == malformed
    # The prompts of react and self_ask show the demonstrations of steps_yes_no.jsonl, one of which is about the Nobel
    # Prizes, and say in which form to answer. iter_retgen has a prompt of another kind, which is not checked here.
    assert "Nobel" in model.history[0].text or method == "iter_retgen"
    assert "Yes or No" in model.history[-1].text or method == "iter_retgen"


@pytest.mark.parametrize("method", METHOD_NAMES)
async def test_unsupported_answer_types_are_a_setup_error(method: str) -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match="answer_type='label'; set answer_type to short or yes_no"):
        await ask(method, model, answer_type="label")
    assert model.history == []


@pytest.mark.parametrize("method", METHOD_NAMES)
async def test_the_embedded_reader_looks_the_question_up_and_reads(method: str) -> None:
    question = "What is Jillian Bell's recurring role on Workaholics?"
    result = await answer(question, method, Context(), given=PASSAGES[1:4])
    assert "Belk" in result["answer"]
    assert result["evidence"][0]["passage"] == "bell"
    assert (result["malformed"], {passage["id"] for passage in result["passages"]}) == ({}, {"work", "mansion", "bell"})
    assert sum(used["calls"] for used in result["usage"].values()) == 2
    unknown_result = await answer("Florbish [grindle wumpus] toofle]?", method, Context(), given=PASSAGES[4:])
    assert (unknown_result["unknown"], unknown_result["malformed"]) == (True, {})


def reply_to_step(request: Request) -> str:
    """Reply to any prompt of a run of react, self_ask or iter_retgen, according to the steps that it shows."""
    question_part = request.text[request.text.rindex("Question: ") :]
    if "Thought" in question_part:
        number = question_part.count("Observation")
        actions = [f"Search[{CAST_QUESTION}]", f"Search[{ROLE_QUESTION}]", "Finish[Jillian Belk]"]
        return f"<think>Search[x]</think>Go on.\nAction {number + 1}: {actions[number]}\nObservation {number + 1}: none"
    if question_part.endswith("Answer:"):
        return "Jillian Bell" if CAST_QUESTION in question_part else "Jillian Belk"
    if "needed here:" in question_part:
        replies = [
            f"Yes.\nFollow up: {CAST_QUESTION}",
            f"Follow up: {ROLE_QUESTION}",
            "So the final answer is: Jillian Belk",
        ]
        return replies[question_part.count("Intermediate")]
    return "Jillian Bell was Jillian Belk. So the answer is Jillian Belk."


@pytest.mark.parametrize(("method", "calls"), [("react", 3), ("self_ask", 5), ("iter_retgen", 2)])
async def test_stepwise_methods_ask_a_server_one_call_after_another(
    openai_server: OpenAIServer, method: str, calls: int
) -> None:
    openai_server.reply(reply_to_step)
    result = await answer(QUESTION, method, Context(model="openai:test", k=2), given=PASSAGES)
    assert (result["answer"], result["malformed"], result["dropped"]) == ("Jillian Belk", {}, 0)
    assert "bell" in join_ids(result["passages"])
    assert openai_server.most_open_requests == 1
    assert len(openai_server.chats()) == sum(used["calls"] for used in result["usage"].values()) == calls
    for request in openai_server.chats():
        assert not {"stop", "n"} & set(request.body)


@pytest.mark.parametrize("method", METHOD_NAMES)
async def test_two_questions_on_one_thread_do_not_mix(method: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_to_step)
    graph = METHODS[method].graph.builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    context = Context(model="openai:test", k=2)
    first = await graph.ainvoke({"question": QUESTION, "given": PASSAGES}, thread, context=context)
    second = await graph.ainvoke({"question": QUESTION, "given": PASSAGES}, thread, context=context)
    assert (
        first
        == second
        == await METHODS[method].graph.ainvoke({"question": QUESTION, "given": PASSAGES}, context=context)
    )


@pytest.mark.parametrize("method", METHOD_NAMES)
async def test_without_a_context_the_environment_names_the_model(
    method: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.reply(reply_to_step)
    monkeypatch.setenv("QUORUM_MODEL", "openai:test")
    result = await METHODS[method].graph.ainvoke({"question": QUESTION, "given": PASSAGES})
    assert result["answer"] == "Jillian Belk"
