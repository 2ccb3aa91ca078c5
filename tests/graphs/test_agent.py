"""The method agent: golden traces, limits, malformed calls, the window, and what its messages show."""

from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import (
    FINAL_REPLY,
    call_search,
    call_tools,
    trace_agent,
    write_conversation,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from index_fixtures import VECTORS
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from stepwise_fixtures import CAST_QUESTION, PASSAGES, QUESTION, ROLE_QUESTION, ask

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.agent_calls import LIMIT_REACHED
from quorum.retrievers.index import index_documents


class FindNothing(BaseRetriever):
    """A retriever of the user's over an empty collection."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return []


class FindOne(BaseRetriever):
    """A retriever of the user's, which does not say in which order its passages stand in their documents."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("The crew logged fog.", id="fog")]


CAST_STEP, ROLE_STEP = f"{CAST_QUESTION} -> mansion jan: None", f"{ROLE_QUESTION} -> bell mansion: None"
LAST_STEP = "None -> : Jillian Belk"


async def test_an_answer_at_once_needs_no_search() -> None:
    model = ScriptedModel().on("agent", "I know it.\nAnswer: Jillian Belk")
    assert await trace_agent(model) == [
        ("begin", {}),
        ("agent_turn", {"turns": [], "steps": [LAST_STEP]}),
        (
            "finish_agent",
            {"answer": "Jillian Belk", "unknown": False, "rationale": "I know it.", "passages": ""},
        ),
        ("find_evidence", {"evidence": []}),
    ]
    (sent,) = model.history
    assert [message.type for message in sent.messages] == ["system", "human"]
    assert (sent.name, sent.text) == ("agent: turn 1", f"Question: {QUESTION}")
    assert "You may make at most 5 calls in all" in str(sent.messages[0].content)
    assert "If passages stand before the question, a search" in str(sent.messages[0].content)
    assert [tool["function"]["name"] for tool in sent.parameters["tools"]] == ["search", "open_document"]
    assert all(tool["function"]["parameters"]["additionalProperties"] is False for tool in sent.parameters["tools"])
    assert "tool_choice" not in sent.parameters


async def test_two_searches_of_one_turn_run_at_the_same_time_and_share_a_depth() -> None:
    model = ScriptedModel().on("agent", call_search(CAST_QUESTION, ROLE_QUESTION, text="Two facts."), FINAL_REPLY)
    trace = await trace_agent(model)
    searches = trace[2:4]
    assert sorted(searches, key=str) == [
        ("search_tool", {"found": ["bell mansion"]}),
        ("search_tool", {"found": ["mansion jan"]}),
    ]
    calls = [f"search {CAST_QUESTION} -> 1 mansion, 2 jan", f"search {ROLE_QUESTION} -> 3 bell, 1 mansion"]
    assert trace[:2] + trace[4:] == [
        ("begin", {}),
        ("agent_turn", {"turns": [[f"search {CAST_QUESTION} -> ", f"search {ROLE_QUESTION} -> "]], "steps": []}),
        ("collect_observations", {"turns": [calls], "steps": [CAST_STEP, ROLE_STEP]}),
        ("agent_turn", {"turns": [calls], "steps": [CAST_STEP, ROLE_STEP, LAST_STEP]}),
        (
            "finish_agent",
            {
                "answer": "Jillian Belk",
                "unknown": False,
                "rationale": f"Two facts.\nSearch: {CAST_QUESTION}\nSearch: {ROLE_QUESTION}\nPassage [1] says so.",
                "passages": "mansion jan bell",
            },
        ),
        ("find_evidence", {"evidence": ["bell"]}),
    ]
    assert write_conversation(model.history[1].messages) == [
        f"human: Question: {QUESTION}",
        f'ai: Two facts.\nsearch({{"query": "{CAST_QUESTION}"}})\nsearch({{"query": "{ROLE_QUESTION}"}})',
        "tool: <passages>\n[1] SuperMansion\nSuperMansion is a puppet animation; Jillian Bell starred in it.\n\n"
        "[2] Jan Hooks\nJan Hooks was a comedian with a recurring role on Designing Women.\n</passages>",
        "tool: <passages>\n[3] Jillian Bell\nJillian Bell had a recurring role on Workaholics, as Jillian Belk.\n\n"
        "[1] (shown above)\n</passages>",
    ]


async def test_searches_beyond_the_limit_are_told_so_and_the_next_turn_may_call_no_tool() -> None:
    model = ScriptedModel().on("agent", call_search("Jan Hooks", "Bell", "tea"), FINAL_REPLY)
    trace = await trace_agent(model, max_steps=2)
    assert trace[-4][1]["turns"] == [
        [
            "search Jan Hooks -> 1 jan, 2 work",
            "search Bell -> 3 bell, 4 mansion",
            f"search tea: {LIMIT_REACHED}",
        ]
    ]
    assert [sent.parameters.get("tool_choice") for sent in model.history] == [None, "none"]
    assert write_conversation(model.history[1].messages)[-1] == f"tool: {LIMIT_REACHED}"
    assert LIMIT_REACHED == "Search limit reached. Answer now, in the form asked for."


async def test_at_most_four_calls_of_a_turn_are_carried_out() -> None:
    model = ScriptedModel().on("agent", call_search(*"abcde"), FINAL_REPLY)
    trace = await trace_agent(model, max_steps=20)
    assert [node for node, _ in trace].count("search_tool") == 4
    assert trace[-4][1]["turns"][0][4] == "search e: Only 4 calls are carried out at a time."
    assert "tool_choice" not in model.history[1].parameters


async def test_the_same_query_is_searched_for_once() -> None:
    model = ScriptedModel().on(
        "agent",
        call_search("Jan Hooks 3.5", "jan  hooks 3.5"),
        call_search("Jan Hooks 3.5?", "Jan Hooks 35"),
        FINAL_REPLY,
    )
    result = await ask("agent", model, k=2)
    conversation = write_conversation(model.history[2].messages)
    assert (conversation[3], conversation[5]) == ("tool: Already searched; see [1], [2].",) * 2
    assert "Already" not in conversation[6]  # another number is another query
    assert result["usage"]["agent"]["calls"] == 3
    assert result["malformed"] == {}


async def test_a_search_that_finds_nothing_says_so() -> None:
    model = ScriptedModel().on("agent", call_search("zebra"), call_search("zebra"), "Answer: Unknown")
    context = Context(model=model, retriever=FindNothing(), k=2)
    result = await answer(QUESTION, "agent", context)
    conversation = write_conversation(model.history[2].messages)
    assert [line for line in conversation if line.startswith("tool")] == [
        "tool: No passage found.",
        "tool: Already searched; no passage was found.",
    ]
    assert (result["answer"], result["unknown"], result["passages"]) == ("unknown", True, [])


FAULTY_CALLS: dict[str, tuple[AIMessage, str]] = {
    "unknown tool": (call_tools(("browse", {"query": "x"})), "there is no tool 'browse'; the tools are search and"),
    "no query": (call_tools(("search", {})), "it has no query; give one as text."),
    "a list": (call_tools(("search", {"query": ["x"]})), "it has no query; give one as text."),
    "no such passage": (call_tools(("open_document", {"passage": 7})), "there is no passage 7; give the number"),
    "broken JSON": (
        AIMessage("", invalid_tool_calls=[{"id": "i", "name": "search", "args": '{"quer', "error": None}]),
        "its arguments are no JSON object.",
    ),
}


@pytest.mark.parametrize("fault", FAULTY_CALLS)
async def test_a_malformed_call_is_answered_counted_and_costs_a_step(fault: str) -> None:
    reply, message = FAULTY_CALLS[fault]
    model = ScriptedModel().on("agent", reply, call_search("Jan Hooks"), FINAL_REPLY)
    result = await ask("agent", model, max_steps=2)
    assert f"tool: This call cannot be carried out: {message}" in write_conversation(model.history[1].messages)[2]
    assert (result["answer"], result["malformed"]["agent"]["count"]) == ("Jillian Belk", 1)
    assert [sent.parameters.get("tool_choice") for sent in model.history] == [None, None, "none"]


async def test_a_name_that_servers_refuse_is_sent_as_the_search_tools() -> None:
    model = ScriptedModel().on("agent", call_tools(("look it up!", {})), FINAL_REPLY)
    await ask("agent", model)
    assert write_conversation(model.history[1].messages)[1] == "ai: search({})"


async def test_three_malformed_turns_in_a_row_end_with_a_turn_without_tools() -> None:
    model = ScriptedModel().on("agent", *[call_search("") for _ in range(3)], FINAL_REPLY)
    result = await ask("agent", model, max_steps=20)
    assert [sent.parameters.get("tool_choice") for sent in model.history] == [None, None, None, "none"]
    assert (result["answer"], result["malformed"]["agent"]["count"]) == ("Jillian Belk", 3)


async def test_a_call_in_a_turn_that_must_answer_is_no_answer() -> None:
    model = ScriptedModel().on("agent", lambda _: call_search("Jan Hooks"))
    result = await ask("agent", model, max_steps=1)
    assert (result["answer"], result["unknown"], result["malformed"]["agent"]["count"]) == ("unknown", True, 1)
    assert len(model.history) == 2


async def test_an_answer_beside_a_call_is_ignored() -> None:
    model = ScriptedModel().on("agent", call_search("Jan Hooks", text="Answer: Jan Hooks"), FINAL_REPLY)
    assert (await ask("agent", model))["answer"] == "Jillian Belk"


@pytest.mark.parametrize(
    ("reply", "answer_text", "malformed"),
    [("", "unknown", 1), ("It is not said.\nAnswer: Unknown", "unknown", 0), ("Jillian Belk", "Jillian Belk", 1)],
)
async def test_the_final_reply_ends_in_the_answer(reply: str, answer_text: str, malformed: int) -> None:
    result = await ask("agent", ScriptedModel().on("agent", reply))
    assert (result["answer"], sum(count["count"] for count in result["malformed"].values())) == (answer_text, malformed)


@pytest.mark.parametrize(
    "reply",
    [
        '<tool_call>{"name":"search","arguments":{"query":"Bell"}}</tool_call>',
        '<tool_call>\n{"name":"search","arguments":{"query":"Bell"}}\n</tool_call>',
        '{"name": "search", "arguments": {"query": "Answer: Bell"}}',
        '```json\n{"name": "search", "parameters": {"query": "Bell"}}\n```',
    ],
)
async def test_a_call_that_is_written_as_text_is_no_answer(reply: str) -> None:
    result = await ask("agent", ScriptedModel().on("agent", reply))
    assert (result["answer"], result["unknown"], result["malformed"]["agent"]["count"]) == ("unknown", True, 1)


async def test_marks_of_calls_before_an_answer_do_not_hide_it() -> None:
    result = await ask("agent", ScriptedModel().on("agent", f"<tool_call></tool_call>{FINAL_REPLY}"))
    assert (result["answer"], result["malformed"]) == ("Jillian Belk", {})


REPLIES = st.one_of(
    st.lists(st.sampled_from(["tea", "Jan Hooks", "Bell", ""]), min_size=1, max_size=6).map(lambda q: call_search(*q)),
    st.sampled_from([reply for reply, _ in FAULTY_CALLS.values()]),
    st.sampled_from([FINAL_REPLY, "", "Answer:", "Hm."]),
)


@given(st.lists(REPLIES, min_size=30, max_size=30), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
async def test_it_always_ends_within_its_limits(replies: list[Any], max_steps: int) -> None:
    model = ScriptedModel().on("agent", *replies)
    result = await ask("agent", model, max_steps=max_steps, k=2, shorten="off")
    assert result["usage"]["agent"]["calls"] == len(model.history) <= max_steps + 1
    assert result["malformed"].get("agent", {"count": 0})["count"] <= len(model.history)
    for sent in model.history:  # every call has its result, and the results follow their calls
        ids = [call["id"] for message in sent.messages for call in getattr(message, "tool_calls", [])]
        assert ids == [message.tool_call_id for message in sent.messages if message.type == "tool"]
        assert len(ids) == len(set(ids))


async def test_the_oldest_searches_lose_their_worst_passages_if_the_window_is_full() -> None:
    passages = [Passage(id=f"{n}", title="", text=f"{word} " * 100) for n, word in enumerate(["alpha", "beta"] * 2)]
    model = ScriptedModel().on("agent", call_search("alpha"), call_search("beta"), "Answer: x")
    result = await ask("agent", model, passages, k=2, context_window=1300)
    shown = [" ".join(write_conversation(sent.messages)) for sent in model.history]
    assert [(text.count("alpha " * 99), text.count("beta " * 99)) for text in shown] == [(0, 0), (2, 0), (1, 2)]
    assert "[2] (left out: there is no room for it)" in shown[2]
    assert ([passage["id"] for passage in result["passages"]], result["dropped"]) == (["0", "2", "1", "3"], 1)


async def test_a_passage_that_never_fitted_is_not_in_the_result() -> None:
    passages = [Passage(id=f"{n}", title="", text="alpha " * 200) for n in range(3)]
    model = ScriptedModel().on("agent", call_search("alpha"), call_search("alpha "), "Answer: x")
    result = await ask("agent", model, passages, k=3, context_window=1450)
    assert ([passage["id"] for passage in result["passages"]], result["dropped"]) == (["0"], 2)
    assert write_conversation(model.history[2].messages)[-1] == "tool: Already searched; see [1]."


async def test_passages_for_which_there_was_no_room_are_named_and_may_be_found_again() -> None:
    passages = [Passage(id=word, title="", text=f"{word} " * 200) for word in ("alpha", "omega")]
    replies = [call_search("alpha", "omega"), call_search("alpha "), call_search("alpha alpha"), "Answer: x"]
    model = ScriptedModel().on("agent", *replies)
    result = await ask("agent", model, passages, k=1, context_window=1450)
    told = [text for text in write_conversation(model.history[3].messages) if text.startswith("tool")]
    assert told[0] == "tool: <passages>\n[1] (left out: there is no room for it)\n</passages>"
    assert told[2] == "tool: Already searched; there was no room for what it found: [1]."
    assert told[3].startswith("tool: <passages>\n[1] alpha alpha")
    assert ([passage["id"] for passage in result["passages"]], result["dropped"]) == (["omega", "alpha"], 2)


async def test_with_seed_search_the_question_comes_with_its_passages() -> None:
    model = ScriptedModel().on("agent", call_search(QUESTION, ROLE_QUESTION), FINAL_REPLY)
    trace = await trace_agent(model, seed_search=True)
    assert [node for node, _ in trace] == [
        *("begin", "retrieve", "note_seed", "agent_turn", "search_tool", "collect_observations", "agent_turn"),
        *("finish_agent", "find_evidence"),
    ]
    assert trace[2][1] == {"turns": [[f"search {QUESTION} -> 1 jan, 2 work"]], "steps": ["None -> jan work: None"]}
    conversation = write_conversation(model.history[1].messages)
    assert conversation[0] == (
        "human: <passages>\n[1] Jan Hooks\nJan Hooks was a comedian with a recurring role on Designing Women.\n\n"
        "[2] Workaholics\nWorkaholics follows three friends who sell things by telephone.\n</passages>\n\n"
        f"Question: {QUESTION}"
    )
    assert conversation[2] == "tool: Already searched; see [1], [2]."


@pytest.mark.parametrize("number", [1, "[1]"])
async def test_a_passage_is_opened_with_what_stands_around_it(number: Any) -> None:
    model = ScriptedModel().on(
        "agent", call_search("Jan Hooks"), call_tools(("open_document", {"passage": number})), FINAL_REPLY
    )
    pieces = [
        {**PASSAGES[0], "id": f"jan {n}", "text": text} for n, text in enumerate(["Born.", "Jan Hooks.", "Died."])
    ]
    trace = await trace_agent(model, [*pieces, *PASSAGES[1:]], k=1)  # type: ignore[list-item]
    assert [node for node, _ in trace][2:7] == [
        *("search_tool", "collect_observations", "agent_turn", "open_document", "collect_observations"),
    ]
    assert trace[6][1] == {
        "turns": [["search Jan Hooks -> 1 jan 1"], ["open_document 1 -> 2 jan 0, 1 jan 1, 3 jan 2"]],
        "steps": ["Jan Hooks -> jan 1: None", "open_document [1] -> jan 0 jan 1 jan 2: None"],
    }
    assert write_conversation(model.history[2].messages)[-1] == (
        "tool: <passages>\n[2] Jan Hooks\nBorn.\n\n[1] (shown above)\n\n[3] Jan Hooks\nDied.\n</passages>"
    )


async def test_a_passage_that_a_filter_shortens_otherwise_is_shown_again() -> None:
    text = (
        "The lighthouse of Vell was built by Ann Crane in 1839. It stands on a rock. "
        "The keeper of the tower in 1901 was Tom Reed, a sailor from Orm."
    )
    passages = [Passage(id="vell", title="Vell", text=text), Passage(id="orm", title="Orm", text="Orm is a town.")]
    queries = ["Who built the lighthouse of Vell?", "Who was the keeper of the tower in 1901?"]
    model = ScriptedModel().on("agent", *map(call_search, queries), "x\nAnswer: Tom Reed")
    await ask("agent", model, passages, context_filter="embedded")
    first, second = write_conversation(model.history[2].messages)[2::2]
    assert "Ann Crane" in first
    assert "Tom Reed" not in first
    assert "Tom Reed" in second


async def test_as_the_second_step_of_a_cascade_it_is_asked_only_if_the_first_finds_nothing() -> None:
    for first_reply, calls in (("Unknown", {"answer": 1, "agent": 2}), ("Jillian Belk", {"answer": 1})):
        model = ScriptedModel().on("answer", first_reply).on("agent", call_search("Bell"), FINAL_REPLY)
        result = await ask("concat>agent", model, k=2)
        assert result["answer"] == "Jillian Belk"
        assert {prompt: usage["calls"] for prompt, usage in result["usage"].items()} == calls


async def test_a_yes_no_question_is_answered_yes_or_no() -> None:
    model = ScriptedModel().on("agent", "It was.\nAnswer: Yes, in 1931.")
    result = await answer("Is it open?", "agent", Context(model=model), given=PASSAGES)
    assert (result["answer"], result["answer_type"]) == ("yes", "yes_no")
    assert "nothing but Yes or No" in str(model.history[0].messages[0].content)


async def test_other_answer_types_are_refused_before_a_call() -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match="'agent' does not serve answer_type='long'"):
        await ask("agent", model, answer_type="long")
    assert model.history == []


async def test_the_built_in_reader_searches_once_for_the_question_and_answers_as_for_react() -> None:
    passages = [Passage(id="l", title="Vell", text="The lighthouse of Vell was finished in 1931."), PASSAGES[4]]
    results = [
        await answer("When was the lighthouse of Vell finished?", method, Context(), given=passages)
        for method in ("agent", "react")
    ]
    assert [(result["answer"], [p["id"] for p in result["passages"]]) for result in results] == [
        ("1931", ["l", "tea"]),
    ] * 2
    assert results[0]["usage"]["agent"]["calls"] == 2


async def test_a_passage_of_a_collection_is_opened_and_one_without_an_order_stands_alone(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    sentences = [
        f"On day {n} the crew of the barge logged {word}." for n, word in enumerate(["rain", "wind", "fog", "ice"])
    ]
    (folder / "log.txt").write_text("\n\n".join(sentences), encoding="utf-8")
    index_documents([folder], collection="log", store=str(tmp_path / "store"), embeddings=VECTORS, words=10)
    settings = {"collection": "log", "store": str(tmp_path / "store"), "embeddings": VECTORS, "k": 1}
    replies = [call_search("fog"), call_tools(("open_document", {"passage": 1})), FINAL_REPLY]
    model = ScriptedModel().on("agent", *replies)
    result = await answer("What was logged?", "agent", Context(model=model, retriever="bm25", **settings))
    found, *around = [passage["text"] for passage in result["passages"]]
    assert "fog" in found
    assert [text for text in sentences if any(text in passage for passage in [found, *around])] == sentences
    model = ScriptedModel().on("agent", *replies)
    await answer("What was logged?", "agent", Context(model=model, retriever=FindOne()))
    assert write_conversation(model.history[2].messages)[-1] == "tool: <passages>\n[1] (shown above)\n</passages>"
