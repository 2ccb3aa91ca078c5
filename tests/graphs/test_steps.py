"""Methods that search more than once: react, self_ask, iter_retgen."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as run_with
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from method_fixtures import make_runtime
from openai_server import OpenAIServer, Request

from quorum.core.context import MOST_ROUNDS, MOST_STEPS, MOST_SUPERSTEPS, Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage, Result, State, Step
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.iter_retgen import next_query
from quorum.nodes.react import think
from quorum.nodes.routes import (
    act_on_thought,
    answer_question_or_follow_up,
    continue_follow_ups,
    continue_rounds,
    follow_up_or_answer,
    search_or_finish,
)
from quorum.nodes.steps import make_outcome

NAMES = ["react", "self_ask", "iter_retgen"]
QUESTION = "SuperMansion starred the actress who had a recurring role as whom on Workaholics?"
PASSAGES = [
    Passage(id="jan", title="Jan Hooks", text="Jan Hooks was a comedian with a recurring role on Designing Women."),
    Passage(id="work", title="Workaholics", text="Workaholics follows three friends who sell things by telephone."),
    Passage(id="mansion", title="SuperMansion", text="SuperMansion is a puppet animation; Jillian Bell starred in it."),
    Passage(id="bell", title="Jillian Bell", text="Jillian Bell had a recurring role on Workaholics, as Jillian Belk."),
    Passage(id="tea", title="Tea", text="Tea came to Europe in 1610."),
]
CAST_QUESTION = "Which actress starred in SuperMansion?"
ROLE_QUESTION = "Which role did Jillian Bell have on Workaholics?"


async def trace(method: str, model: ScriptedModel, **settings: Any) -> list[tuple[str, dict[str, Any]]]:
    """The run as (node, update) pairs: steps as "query -> ids: answer", passages and evidence as ids."""
    inputs, context = {"question": QUESTION, "given": PASSAGES}, Context(model=model, **{"k": 2, **settings})
    return [
        (node, shorten_state_update(written))
        async for update in METHODS[method].graph.astream(inputs, context=context, stream_mode="updates")
        for node, written in update.items()
    ]


def shorten_state_update(update: State) -> dict[str, Any]:
    if "provided" in update:
        return {}
    left: dict[str, Any] = {key: value for key, value in update.items() if key != "usage" and value not in ({}, None)}
    if not left.get("dropped"):
        left.pop("dropped", None)
    if "steps" in update:
        left["steps"] = [f"{s['query']} -> {ids(s['passages'])}: {s['answer']}" for s in update["steps"]]
    if "passages" in update:
        left["passages"] = ids(update["passages"])
    if "evidence" in update:
        left["evidence"] = [evidence["passage"] for evidence in update["evidence"]]
    if "malformed" in left:
        left["malformed"] = {name: node["replies"] for name, node in update["malformed"].items()}
    return left


def ids(passages: list[Passage]) -> str:
    return " ".join(passage["id"] for passage in passages)


def step(query: str | None = None, answer: str | None = None, *passages: Passage) -> Step:
    return Step(thought="", query=query, passages=list(passages), answer=answer)


async def ask(method: str, model: ScriptedModel, passages: list[Passage] = PASSAGES, **settings: Any) -> Result:
    return await answer(QUESTION, method, Context(model=model, **settings), given=passages)


async def test_react() -> None:
    model = ScriptedModel().on(
        "react",
        f"First I need the actress.\nAction 1: Search[{CAST_QUESTION}]",
        f"Thought 2: It is Jillian Bell; now her role.\nAction 2: Search[{ROLE_QUESTION}]\nObservation 2: [1] made up",
        "Her role was Jillian Belk.\nAction 3: Finish[Jillian Belk]",
    )
    first, second = f"{CAST_QUESTION} -> mansion jan: None", f"{ROLE_QUESTION} -> bell mansion: None"
    assert await trace("react", model) == [
        ("begin", {}),
        ("think", {"steps": [f"{CAST_QUESTION} -> : None"], "query": CAST_QUESTION}),
        ("retrieve", {"passages": "mansion jan"}),
        ("observe", {"steps": [first]}),
        ("think", {"steps": [first, f"{ROLE_QUESTION} -> : None"], "query": ROLE_QUESTION}),
        ("retrieve", {"passages": "bell mansion"}),
        ("observe", {"steps": [first, second]}),
        ("think", {"steps": [first, second, "None -> : Jillian Belk"]}),
        (
            "finish",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": f"Thought 1: First I need the actress.\nAction 1: Search[{CAST_QUESTION}]\n"
                f"Thought 2: It is Jillian Bell; now her role.\nAction 2: Search[{ROLE_QUESTION}]\n"
                "Thought 3: Her role was Jillian Belk.\nAction 3: Finish[Jillian Belk]",
                "evidence": ["bell"],
                "passages": "mansion jan bell",
            },
        ),
    ]
    texts = [sent.text for sent in model.history]
    assert [sent.name for sent in model.history] == ["react: step 1", "react: step 2", "react: step 3"]
    assert all(later.startswith(text) for text, later in pairwise(texts))  # for a prefix cache
    assert (
        texts[2].count("Observation 1:\n[1] SuperMansion\n")
        == texts[2].count("Observation 2:\n[1] Jillian Bell\n")
        == 1
    )
    assert "made up" not in texts[2]
    assert texts[2].endswith("\n\nThought 3:")


async def test_react_asks_once_more_for_an_action_that_it_cannot_read() -> None:
    model = ScriptedModel()
    model.on("react", "I had better look it up.", "Now I know.\nAction 2: Finish[Jillian Belk]")
    model.on("react_action", f"Search[{CAST_QUESTION}]")
    steps = await trace("react", model)
    assert [node for node, _ in steps] == ["begin", "think", "ask_action", "retrieve", "observe", "think", "finish"]
    assert steps[1][1] == {"steps": ["None -> : None"], "malformed": {"react": ["I had better look it up."]}}
    assert steps[2][1] == {"steps": [f"{CAST_QUESTION} -> : None"], "query": CAST_QUESTION}
    again = model.history[1].text
    assert again.startswith(f"{model.history[0].text} I had better look it up.\n")
    assert again.endswith("\nAction 1:")
    assert steps[-1][1]["rationale"].startswith(
        f"Thought 1: I had better look it up.\nAction 1: Search[{CAST_QUESTION}]\n"
    )


async def test_react_gives_up_on_a_step_whose_action_it_cannot_read_twice() -> None:
    result = await ask("react", ScriptedModel().on("react", "Hm.").on("react_action", "Lookup[Bell]"))
    assert (result["answer"], result["unknown"], result["passages"]) == ("unknown", True, [])
    assert result["rationale"] == "Thought 1: Hm."
    assert {name: node["count"] for name, node in result["malformed"].items()} == {"react": 1, "react_action": 1}


async def test_react_out_of_steps_is_unknown() -> None:
    model = ScriptedModel().on("react", lambda _: "More.\nAction 1: Search[Jillian Bell]")
    result = await ask("react", model, max_steps=2, k=2)
    assert (result["answer"], result["unknown"], result["evidence"]) == ("unknown", True, [])
    assert result["usage"]["react"]["calls"] == 3
    assert ids(result["passages"]) == "bell mansion"
    assert result["malformed"] == {}


async def test_react_searching_for_the_question_takes_the_given_passages_in_their_order() -> None:
    model = ScriptedModel().on("react", f"Look.\nAction: Search[{QUESTION}]", "So.\nAction: Finish[unknown]")
    assert ids((await ask("react", model, k=2))["passages"]) == "jan work"


async def test_react_drops_low_ranks_of_old_steps_first() -> None:
    long = [Passage(id=f"{n}", title="", text=f"{word} " * 100) for n, word in enumerate(["alpha", "beta"] * 3)]
    searches = ["One.\nAction: Search[alpha]", "Two.\nAction: Search[beta]", "Three.\nAction: Finish[x]"]
    model = ScriptedModel().on("react", *searches)
    result = await ask("react", model, long, k=2, context_window=2000)
    shown = [sent.text[sent.text.rindex("Question: ") :] for sent in model.history]
    assert [(text.count("alpha " * 99), text.count("beta " * 99)) for text in shown] == [(0, 0), (2, 0), (1, 2)]
    assert (ids(result["passages"]), result["dropped"]) == ("0 2 1 3", 1)


async def test_a_passage_that_never_fitted_is_not_shown() -> None:
    long = [Passage(id=f"{n}", title="", text="alpha " * 200) for n in range(3)]
    model = ScriptedModel().on("react", "One.\nAction: Search[alpha]", "Two.\nAction: Finish[x]")
    result = await ask("react", model, long, k=3, context_window=1900)
    assert (ids(result["passages"]), result["dropped"]) == ("0", 2)


async def test_an_observation_without_passages_says_so() -> None:
    model = ScriptedModel().on("react", "Now.\nAction 2: Finish[x]")
    state = State(question=QUESTION, steps=[step("Who?")])
    await think(state, make_runtime(model))
    assert model.history[0].text.endswith("Action 1: Search[Who?]\nObservation 1:\nNo passage.\n\nThought 2:")


async def test_self_ask() -> None:
    model = ScriptedModel().on(
        "self_ask",
        f"Yes.\nFollow up: {CAST_QUESTION}\nIntermediate answer: made up",
        f"Follow up: {ROLE_QUESTION}",
        "So the final answer is: Jillian Belk.",
    )
    model.on("self_ask_answer", "Jillian Bell", "Answer: Jillian Belk")
    first, second = f"{CAST_QUESTION} -> mansion jan: Jillian Bell", f"{ROLE_QUESTION} -> bell mansion: Jillian Belk"
    assert await trace("self_ask", model) == [
        ("begin", {}),
        ("follow_up", {"steps": [f"{CAST_QUESTION} -> : None"], "query": CAST_QUESTION}),
        ("retrieve", {"passages": "mansion jan"}),
        ("intermediate_answer", {"steps": [first]}),
        ("follow_up", {"steps": [first, f"{ROLE_QUESTION} -> : None"], "query": ROLE_QUESTION}),
        ("retrieve", {"passages": "bell mansion"}),
        ("intermediate_answer", {"steps": [first, second]}),
        ("follow_up", {"steps": [first, second, "None -> : Jillian Belk"]}),
        (
            "conclude",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": f"Follow up: {CAST_QUESTION}\nIntermediate answer: Jillian Bell\n"
                f"Follow up: {ROLE_QUESTION}\nIntermediate answer: Jillian Belk",
                "evidence": ["bell"],
                "passages": "mansion jan bell",
            },
        ),
    ]
    sent_texts = [sent.text for sent in model.history if sent.prompt == "self_ask"]
    assert sent_texts[1] == f"{sent_texts[0]} Yes.\nFollow up: {CAST_QUESTION}\nIntermediate answer: Jillian Bell"
    assert sent_texts[2] == f"{sent_texts[1]}\nFollow up: {ROLE_QUESTION}\nIntermediate answer: Jillian Belk"
    assert f"Question: {CAST_QUESTION}\nAnswer:" in model.history[1].text
    assert [sent.detail for sent in model.history] == [f"step {n}" for n in (1, 1, 2, 2, 3)]


async def test_self_ask_without_a_follow_up_looks_the_question_up() -> None:
    model = ScriptedModel().on("self_ask", "No.").on("self_ask_final", "So the final answer is: Jillian Belk")
    assert await trace("self_ask", model, k=4) == [
        ("begin", {}),
        ("follow_up", {"steps": []}),
        ("retrieve", {"passages": "jan work mansion bell"}),
        ("forced_answer", {"steps": ["None -> jan work mansion bell: Jillian Belk"]}),
        (
            "conclude",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "evidence": ["bell"],
                "passages": "jan work mansion bell",
            },
        ),
    ]
    assert model.history[1].text.endswith("Are follow up questions needed here: No.\nSo the final answer is:")


async def test_self_ask_ends_at_the_final_answer_line() -> None:
    result = await ask("self_ask", ScriptedModel().on("self_ask", "No. So the final answer is: Jillian Belk"))
    assert (result["answer"], result["passages"], result["rationale"]) == ("Jillian Belk", [], None)
    assert (result["evidence"], result["malformed"]) == ([], {})


async def test_self_ask_forces_a_missing_final_answer() -> None:
    model = ScriptedModel().on("self_ask", f"Yes.\nFollow up: {CAST_QUESTION}", "That is all I can say.")
    model.on("self_ask_answer", "Jillian Bell").on("self_ask_final", "Jillian Belk")
    steps = await trace("self_ask", model)
    assert [node for node, _ in steps][-3:] == ["follow_up", "forced_answer", "conclude"]
    assert steps[-3][1]["malformed"] == {"self_ask": ["That is all I can say."]}
    assert (steps[-1][1]["answer"], steps[-1][1]["passages"]) == ("Jillian Belk", "mansion jan")
    forced = model.history[-1].text
    assert "[1] SuperMansion\n" in forced
    assert forced.endswith(f"Follow up: {CAST_QUESTION}\nIntermediate answer: Jillian Bell\nSo the final answer is:")


async def test_self_ask_out_of_steps_forces_the_final_answer() -> None:
    model = (
        ScriptedModel()
        .on("self_ask", lambda _: f"Follow up: {CAST_QUESTION}")
        .on("self_ask_answer", lambda _: "Unknown")
    )
    result = await ask("self_ask", model.on("self_ask_final", "unknown"), max_steps=2)
    assert (result["answer"], result["unknown"]) == ("unknown", True)
    assert {name: used["calls"] for name, used in result["usage"].items()} == {
        "self_ask": 2,
        "self_ask_answer": 2,
        "self_ask_final": 1,
    }


async def test_iter_retgen() -> None:
    model = ScriptedModel().on(
        "reason",
        "SuperMansion starred Jillian Bell. So the answer is Jillian Bell.",
        "Jillian Bell was Jillian Belk. So the answer is Jillian Belk.",
    )
    query = f"SuperMansion starred Jillian Bell. Jillian Bell {QUESTION}"
    assert await trace("iter_retgen", model) == [
        ("begin", {}),
        ("retrieve", {"passages": "jan work"}),
        (
            "cot_answer",
            {
                "answer": "Jillian Bell",
                "unknown": False,
                "rationale": "SuperMansion starred Jillian Bell.",
                "evidence": [],
                "passages": "jan work",
            },
        ),
        ("next_query", {"query": query, "steps": ["None -> jan work: Jillian Bell"]}),
        ("retrieve", {"passages": "mansion bell"}),
        (
            "cot_answer",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": "Jillian Bell was Jillian Belk.",
                "evidence": ["bell"],
                "passages": "mansion bell",
            },
        ),
    ]
    assert "Jan Hooks" not in model.history[1].text[model.history[1].text.rindex("Passages:") :]


async def test_an_unknown_round_adds_nothing_to_the_query() -> None:
    state = State(question=QUESTION, rationale=None, answer="unknown", passages=[], steps=[])
    assert (await next_query(state))["query"] is None
    unknown_state = State(question=QUESTION, rationale="It is not told.", answer="unknown", passages=[], steps=[])
    assert (await next_query(unknown_state))["query"] == f"It is not told. {QUESTION}"


def searcher(_: Any) -> str:
    return "More.\nAction: Search[Jillian Bell]"


async def test_the_most_steps_that_can_be_set_are_within_the_limit() -> None:
    react = ScriptedModel().on("react", lambda _: "More.").on("react_action", searcher)
    self_ask = ScriptedModel().on("self_ask", lambda _: f"Follow up: {CAST_QUESTION}")
    self_ask.on("self_ask_answer", lambda _: "Bell").on("self_ask_final", lambda _: "Belk")
    retgen = ScriptedModel().on("reason", lambda _: "So the answer is Belk.")
    for method, model in (("react", react), ("self_ask", self_ask), ("iter_retgen", retgen)):
        nodes = [node for node, _ in await trace(method, model, max_steps=MOST_STEPS, iterations=MOST_ROUNDS, k=1)]
        assert nodes.count("retrieve") == (MOST_ROUNDS if method == "iter_retgen" else MOST_STEPS)
        limit = METHODS[method].graph.config["recursion_limit"]
        assert len(nodes) < limit == MOST_SUPERSTEPS


async def test_a_caller_can_set_a_lower_recursion_limit() -> None:
    with pytest.raises(GraphRecursionError):
        await METHODS["react"].graph.ainvoke(
            {"question": QUESTION, "given": PASSAGES},
            {"recursion_limit": 3},
            context=Context(model=ScriptedModel().on("react", searcher)),
        )


MALFORMED_REPLIES = [
    "",
    "Hm.",
    "Action: Search[Bell]",
    "Action: Search[",
    "Action: Finish[Belk]",
    "Action: Finish[]",
    "Observation: x",
]
MALFORMED_REPLIES += [
    "No.",
    "Yes.\nFollow up: Who is Bell?",
    "So the final answer is: Belk",
    '{"action": "Search[x]"}',
    "I don't know.",
]


@run_with(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["react", "self_ask"]), st.lists(st.sampled_from(MALFORMED_REPLIES), max_size=12), st.integers(1, 4)
)
async def test_a_run_ends_for_any_reply(method: str, replies: list[str], most: int) -> None:
    model = ScriptedModel().enqueue(*replies, *["Hm."] * 12)
    result = await ask(method, model, max_steps=most, k=2)
    spent = {name: used["calls"] for name, used in result["usage"].items()}
    assert spent.get("react", 0) <= most + 1
    assert spent.get("react_action", 0) <= spent.get("react", 0)
    assert spent.get("self_ask", 0) <= most
    assert spent.get("self_ask_final", 0) <= 1
    assert result["unknown"] == (result["answer"] == "unknown")
    assert len({passage["id"] for passage in result["passages"]}) == len(result["passages"])


def test_routes_of_react() -> None:
    few, three_steps = make_runtime(max_steps=2), [step("a"), step("b"), step("c")]
    assert act_on_thought(State(steps=[step()]), few) == "ask_action"
    assert search_or_finish(State(steps=[step()]), few) == "finish"
    for route in (act_on_thought, search_or_finish):
        assert route(State(steps=three_steps[:2]), few) == "retrieve"
        assert route(State(steps=three_steps), few) == "finish"
        assert route(State(steps=[step(None, "x")]), few) == "finish"


def test_routes_of_self_ask() -> None:
    few = make_runtime(max_steps=2)
    assert follow_up_or_answer(State(steps=[])) == "retrieve"
    assert follow_up_or_answer(State(steps=[step("a")])) == "retrieve"
    assert follow_up_or_answer(State(steps=[step("a", "x")])) == "forced_answer"
    assert follow_up_or_answer(State(steps=[step("a", "x"), step(None, "y")])) == "conclude"
    assert answer_question_or_follow_up(State(steps=[step("a")]), few) == "intermediate_answer"
    assert answer_question_or_follow_up(State(steps=[]), few) == "forced_answer"
    assert continue_follow_ups(State(steps=[step("a", "x")]), few) == "follow_up"
    assert continue_follow_ups(State(steps=[step("a", "x")] * 2), few) == "forced_answer"


def test_routes_of_iter_retgen() -> None:
    assert continue_rounds(State(steps=[]), make_runtime(iterations=1)) == "__end__"
    assert continue_rounds(State(steps=[]), make_runtime()) == "next_query"
    assert continue_rounds(State(steps=[step()]), make_runtime()) == "__end__"


def test_passages_of_all_steps_are_united_in_the_order_in_which_they_were_shown() -> None:
    again: Passage = {**PASSAGES[3], "text": "Shortened for another query."}
    result = make_outcome(
        [step("a", None, PASSAGES[3], PASSAGES[0]), step("b", None, PASSAGES[2], again), step(None, "Bell")], ""
    )
    assert result["passages"] == [PASSAGES[3], PASSAGES[0], PASSAGES[2]]
    assert [evidence_item["passage"] for evidence_item in result["evidence"]] == ["bell", "mansion"]
    assert result["rationale"] is None


SCRIPTS = {
    "react": {"react": "So.\nAction: Finish[%s]"},
    "self_ask": {"self_ask": "No.", "self_ask_final": "%s"},
    "iter_retgen": {"reason_yes_no": "So it is. So the answer is %s."},
}


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize(
    ("reply", "answer_text", "malformed"),
    [("Yes", "yes", 0), ("no, it is not", "no", 0), ("Jillian Bell", "unknown", 1)],
)
async def test_yes_or_no(method: str, reply: str, answer_text: str, malformed: int) -> None:
    model = ScriptedModel()
    for prompt, script in SCRIPTS[method].items():
        model.on(prompt, *[script % reply if "%" in script else script] * 2)
    result = await ask(method, model, answer_type="yes_no", iterations=1)
    assert (result["answer"], result["unknown"], result["evidence"]) == (answer_text, answer_text == "unknown", [])
    assert sum(node["count"] for node in result["malformed"].values()) == malformed
    assert "Nobel" in model.history[0].text or method == "iter_retgen"
    assert "Yes or No" in model.history[-1].text or method == "iter_retgen"


@pytest.mark.parametrize("method", NAMES)
async def test_unsupported_answer_types_are_a_setup_error(method: str) -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match="answer_type='label'; set answer_type to short or yes_no"):
        await ask(method, model, answer_type="label")
    assert model.history == []


EXAMPLE = {
    "question": "How high is the mountain that Karl climbed?",
    "answer": "812 metres",
    "rationale": "The Stufe is 812 metres high.",
    "steps": [
        {
            "thought": "Which mountain was it?",
            "query": "Which mountain did Karl climb?",
            "answer": "the Stufe",
            "passages": [{"id": "1", "title": "Karl", "text": "Karl climbed the Stufe."}],
        },
        {"query": "How high is the Stufe?", "answer": "812 metres"},
    ],
}
PLAIN_EXAMPLE = {"question": "Who?", "answer": "Karl", "rationale": "Karl it was."}


def write_examples(folder: Path, *lines: Any) -> str:
    path = folder / "examples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


async def test_examples_with_steps_are_shown_as_whole_runs(tmp_path: Path) -> None:
    model = ScriptedModel().on("react", "So.\nAction: Finish[x]").on("self_ask", "So the final answer is: x")
    for method in ("react", "self_ask"):
        await ask(method, model, examples=write_examples(tmp_path, EXAMPLE, PLAIN_EXAMPLE))
    assert (
        "Question: How high is the mountain that Karl climbed?\n\nThought 1: Which mountain was it?\n"
        "Action 1: Search[Which mountain did Karl climb?]\nObservation 1:\n[1] Karl\nKarl climbed the Stufe.\n\n"
        "Thought 2: \nAction 2: Search[How high is the Stufe?]\nObservation 2:\nNo passage.\n\n"
        "Thought 3: The Stufe is 812 metres high.\nAction 3: Finish[812 metres]\n\nNow"
    ) in model.history[0].text
    assert (
        "Question: How high is the mountain that Karl climbed?\nAre follow up questions needed here: Yes.\n"
        "Follow up: Which mountain did Karl climb?\nIntermediate answer: the Stufe\n"
        "Follow up: How high is the Stufe?\nIntermediate answer: 812 metres\nSo the final answer is: 812 metres\n\nNow"
    ) in model.history[1].text
    assert "Karl it was" not in model.history[0].text + model.history[1].text
    assert "Frankenstein" not in model.history[0].text + model.history[1].text


async def test_examples_without_steps_leave_the_built_in_ones(tmp_path: Path) -> None:
    model = ScriptedModel().on("react", "So.\nAction: Finish[x]").on("self_ask", "So the final answer is: x")
    for method in ("react", "self_ask"):
        await ask(method, model, examples=write_examples(tmp_path, PLAIN_EXAMPLE))
    for sent in model.history:
        assert [sent.text.count(word) for word in ("Question: ", "Question: Who?", "How old was the author")] == [
            4,
            0,
            1,
        ]


@pytest.mark.parametrize("steps", [["x"], [{"query": "Who?"}], [{"query": 1, "answer": "x"}], "x"])
async def test_steps_of_another_form_are_a_setup_error(tmp_path: Path, steps: Any) -> None:
    with pytest.raises(SetupError, match="line 1: expected a "):
        await ask("react", ScriptedModel(), examples=write_examples(tmp_path, {**PLAIN_EXAMPLE, "steps": steps}))


@pytest.mark.parametrize("method", NAMES)
async def test_the_embedded_reader_looks_the_question_up_and_reads(method: str) -> None:
    question = "What is Jillian Bell's recurring role on Workaholics?"
    result = await answer(question, method, Context(), given=PASSAGES[1:4])
    assert "Belk" in result["answer"]
    assert result["evidence"][0]["passage"] == "bell"
    assert (result["malformed"], {passage["id"] for passage in result["passages"]}) == ({}, {"work", "mansion", "bell"})
    assert sum(used["calls"] for used in result["usage"].values()) == 2
    nothing = await answer("Florbish [grindle wumpus] toofle]?", method, Context(), given=PASSAGES[4:])
    assert (nothing["unknown"], nothing["malformed"]) == (True, {})


def turns(request: Request) -> str:
    """A server that plays react and self_ask through, by what it is asked."""
    question_part = request.text[request.text.rindex("Question: ") :]
    if "Thought" in question_part:
        number = question_part.count("Observation")
        acts = [f"Search[{CAST_QUESTION}]", f"Search[{ROLE_QUESTION}]", "Finish[Jillian Belk]"]
        return f"<think>Search[x]</think>Go on.\nAction {number + 1}: {acts[number]}\nObservation {number + 1}: none"
    if question_part.endswith("Answer:"):
        return "Jillian Bell" if CAST_QUESTION in question_part else "Jillian Belk"
    if "needed here:" in question_part:
        follow = [
            f"Yes.\nFollow up: {CAST_QUESTION}",
            f"Follow up: {ROLE_QUESTION}",
            "So the final answer is: Jillian Belk",
        ]
        return follow[question_part.count("Intermediate")]
    return "Jillian Bell was Jillian Belk. So the answer is Jillian Belk."


@pytest.mark.parametrize(("method", "calls"), [("react", 3), ("self_ask", 5), ("iter_retgen", 2)])
async def test_stepwise_methods_ask_a_real_server(openai_server: OpenAIServer, method: str, calls: int) -> None:
    openai_server.reply(turns)
    result = await answer(QUESTION, method, Context(model="openai:test", k=2), given=PASSAGES)
    assert (result["answer"], result["malformed"], result["dropped"]) == ("Jillian Belk", {}, 0)
    assert "bell" in ids(result["passages"])
    assert openai_server.most_at_once == 1
    assert len(openai_server.chats()) == sum(used["calls"] for used in result["usage"].values()) == calls
    for request in openai_server.chats():
        assert not {"stop", "n"} & set(request.body)


@pytest.mark.parametrize("method", NAMES)
async def test_two_questions_on_one_thread(method: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(turns)
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


@pytest.mark.parametrize("method", NAMES)
async def test_without_a_context(method: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    openai_server.reply(turns)
    monkeypatch.setenv("QUORUM_MODEL", "openai:test")
    result = await METHODS[method].graph.ainvoke({"question": QUESTION, "given": PASSAGES})
    assert result["answer"] == "Jillian Belk"
