"""ReAct: golden traces, steps without a readable action, passages that do not fit, routes.

In a golden trace, a step is written as "query -> ids of its passages: answer".
"""

from itertools import pairwise

from method_fixtures import make_runtime
from stepwise_fixtures import CAST_QUESTION, QUESTION, ROLE_QUESTION, ask, join_ids, make_step, trace_stepwise_method

from quorum.core.state import Passage, State
from quorum.models.scripted import ScriptedModel
from quorum.nodes.react import think
from quorum.nodes.routes import (
    act_on_thought,
    search_or_finish,
)


async def test_react_searches_observes_and_finishes() -> None:
    model = ScriptedModel().on(
        "react",
        f"First I need the actress.\nAction 1: Search[{CAST_QUESTION}]",
        f"Thought 2: It is Jillian Bell; now her role.\nAction 2: Search[{ROLE_QUESTION}]\nObservation 2: [1] made up",
        "Her role was Jillian Belk.\nAction 3: Finish[Jillian Belk]",
    )
    first_step, second_step = f"{CAST_QUESTION} -> mansion jan: None", f"{ROLE_QUESTION} -> bell mansion: None"
    assert await trace_stepwise_method("react", model) == [
        ("begin", {}),
        ("think", {"steps": [f"{CAST_QUESTION} -> : None"], "query": CAST_QUESTION}),
        ("retrieve", {"passages": "mansion jan"}),
        ("observe", {"steps": [first_step]}),
        ("think", {"steps": [first_step, f"{ROLE_QUESTION} -> : None"], "query": ROLE_QUESTION}),
        ("retrieve", {"passages": "bell mansion"}),
        ("observe", {"steps": [first_step, second_step]}),
        ("think", {"steps": [first_step, second_step, "None -> : Jillian Belk"]}),
        (
            "finish",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": f"Thought 1: First I need the actress.\nAction 1: Search[{CAST_QUESTION}]\n"
                f"Thought 2: It is Jillian Bell; now her role.\nAction 2: Search[{ROLE_QUESTION}]\n"
                "Thought 3: Her role was Jillian Belk.\nAction 3: Finish[Jillian Belk]",
                "passages": "mansion jan bell",
            },
        ),
        ("find_evidence", {"evidence": ["bell"]}),
    ]
    prompts = [sent.text for sent in model.history]
    assert [sent.name for sent in model.history] == ["react: step 1", "react: step 2", "react: step 3"]
    assert all(later.startswith(earlier) for earlier, later in pairwise(prompts))  # a prefix cache can be used
    assert (
        prompts[2].count("Observation 1:\n<passages>\n[1] SuperMansion\n")
        == prompts[2].count("Observation 2:\n<passages>\n[1] Jillian Bell\n")
        == 1
    )
    assert "made up" not in prompts[2]
    assert prompts[2].endswith("\n\nThought 3:")


async def test_react_asks_once_more_for_an_action_that_it_cannot_read() -> None:
    model = ScriptedModel()
    model.on("react", "I had better look it up.", "Now I know.\nAction 2: Finish[Jillian Belk]")
    model.on("react_action", f"Search[{CAST_QUESTION}]")
    updates = await trace_stepwise_method("react", model)
    assert [node for node, _ in updates] == [
        *("begin", "think", "ask_action", "retrieve", "observe", "think", "finish", "find_evidence"),
    ]
    assert updates[1][1] == {"steps": ["None -> : None"], "malformed": {"react": ["I had better look it up."]}}
    assert updates[2][1] == {"steps": [f"{CAST_QUESTION} -> : None"], "query": CAST_QUESTION}
    second_prompt = model.history[1].text
    assert second_prompt.startswith(f"{model.history[0].text} I had better look it up.\n")
    assert second_prompt.endswith("\nAction 1:")
    assert updates[-2][1]["rationale"].startswith(
        f"Thought 1: I had better look it up.\nAction 1: Search[{CAST_QUESTION}]\n"
    )


async def test_react_ends_unknown_if_the_second_reply_of_a_step_has_no_readable_action_either() -> None:
    result = await ask("react", ScriptedModel().on("react", "Hm.").on("react_action", "Lookup[Bell]"))
    assert (result["answer"], result["unknown"], result["passages"]) == ("unknown", True, [])
    assert result["rationale"] == "Thought 1: Hm."
    assert {name: replies["count"] for name, replies in result["malformed"].items()} == {"react": 1, "react_action": 1}


async def test_react_out_of_steps_is_unknown() -> None:
    model = ScriptedModel().on("react", lambda _: "More.\nAction 1: Search[Jillian Bell]")
    result = await ask("react", model, max_steps=2, k=2)
    assert (result["answer"], result["unknown"], result["evidence"]) == ("unknown", True, [])
    assert result["usage"]["react"]["calls"] == 3  # two searches, then a last chance to finish
    assert join_ids(result["passages"]) == "bell mansion"
    assert result["malformed"] == {}


async def test_react_searching_for_the_question_takes_the_given_passages_in_their_order() -> None:
    model = ScriptedModel().on("react", f"Look.\nAction: Search[{QUESTION}]", "So.\nAction: Finish[unknown]")
    assert join_ids((await ask("react", model, k=2))["passages"]) == "jan work"


async def test_react_drops_the_lowest_ranked_passages_of_old_steps_first() -> None:
    long_passages = [
        Passage(id=f"{n}", title="", text=f"{word} " * 100) for n, word in enumerate(["alpha", "beta"] * 3)
    ]
    searches = ["One.\nAction: Search[alpha]", "Two.\nAction: Search[beta]", "Three.\nAction: Finish[x]"]
    model = ScriptedModel().on("react", *searches)
    result = await ask("react", model, long_passages, k=2, context_window=2000)
    prompts = [sent.text[sent.text.rindex("Question: ") :] for sent in model.history]
    assert [(text.count("alpha " * 99), text.count("beta " * 99)) for text in prompts] == [(0, 0), (2, 0), (1, 2)]
    assert (join_ids(result["passages"]), result["dropped"]) == ("0 2 1 3", 1)


async def test_a_passage_that_never_fitted_is_not_in_the_result() -> None:
    long_passages = [Passage(id=f"{n}", title="", text="alpha " * 200) for n in range(3)]
    model = ScriptedModel().on("react", "One.\nAction: Search[alpha]", "Two.\nAction: Finish[x]")
    result = await ask("react", model, long_passages, k=3, context_window=1900)
    assert (join_ids(result["passages"]), result["dropped"]) == ("0", 2)


async def test_an_observation_without_passages_says_so() -> None:
    model = ScriptedModel().on("react", "Now.\nAction 2: Finish[x]")
    state = State(question=QUESTION, steps=[make_step("Who?")])
    await think(state, make_runtime(model))
    assert model.history[0].text.endswith("Action 1: Search[Who?]\nObservation 1:\nNo passage.\n\nThought 2:")


def test_routes_of_react() -> None:
    runtime_for_two_steps, three_steps = make_runtime(max_steps=2), [make_step("a"), make_step("b"), make_step("c")]
    assert act_on_thought(State(steps=[make_step()]), runtime_for_two_steps) == "no action"
    assert search_or_finish(State(steps=[make_step()]), runtime_for_two_steps) == "final answer or limit"
    for route in (act_on_thought, search_or_finish):
        assert route(State(steps=three_steps[:2]), runtime_for_two_steps) == "search"
        assert route(State(steps=three_steps), runtime_for_two_steps) == "final answer or limit"
        assert route(State(steps=[make_step(None, "x")]), runtime_for_two_steps) == "final answer or limit"
