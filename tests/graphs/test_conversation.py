"""A follow-up question is rewritten to stand alone, with the help of the conversation, before any method answers it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import PASSAGES
from openai_bodies import Response, make_too_long_error
from openai_server import OpenAIServer, Request

from quorum.api.stream import NodeFinished, RunFinished, stream
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.graphs import METHODS, answer, answer_sync, find_method
from quorum.graphs.conversation import conversation_graph, graph

HISTORY = [
    {"role": "user", "content": "Who planned the Lumen Tower?"},
    {"role": "assistant", "content": "Ada Moreau"},
]
STAND_ALONE_QUESTION = "When was the Lumen Tower finished?"
OPENAI_CONTEXT = Context(model="openai:test")


def is_rewriting(request: Request) -> bool:
    return "Last question:" in request.text


def rewrite_or_answer(request: Request) -> str:
    """Rewrite the question if that is asked for; answer only the rewritten question."""
    if is_rewriting(request):
        return STAND_ALONE_QUESTION
    return "1931" if STAND_ALONE_QUESTION in request.text else "unknown"


async def ask(method: str = "concat", history: Any = HISTORY, **settings: Any) -> Any:
    return await answer(
        "When was it finished?", method, replace(OPENAI_CONTEXT, **settings), given=PASSAGES, history=history
    )


async def test_a_follow_up_is_rewritten_to_stand_alone(openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    result = await ask()
    assert (result["answer"], result["question"]) == ("1931", STAND_ALONE_QUESTION)
    assert {name: item["calls"] for name, item in result["usage"].items()} == {"stand_alone": 1, "answer": 1}
    first, second = openai_server.chats()
    assert "User: Who planned the Lumen Tower?\nAssistant: Ada Moreau" in first.text
    assert first.body["temperature"] == 0
    assert "When was it finished?" not in second.text


async def test_without_a_history_the_method_runs_unchanged(openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    result = await ask(history=())
    assert result == await answer("When was it finished?", "concat", OPENAI_CONTEXT, given=PASSAGES)
    assert "question" not in result
    assert not any(map(is_rewriting, openai_server.chats()))


@pytest.mark.parametrize("method", METHODS)
async def test_any_method_answers_a_follow_up(method: str) -> None:
    history = [{"role": "user", "content": "Who planned the Lumen Tower?"}, {"role": "assistant", "content": "Moreau"}]
    result = await answer("When was it finished?", method, Context(), given=PASSAGES, history=history)
    assert result["question"] == "When was it finished? (Moreau, Lumen Tower)"
    assert result["usage"]["stand_alone"]["calls"] == 1
    assert set(result) == set(await answer(STAND_ALONE_QUESTION, method, Context(), given=PASSAGES)) | {"question"}


async def test_the_rewriting_call_is_journaled(openai_server: OpenAIServer, tmp_path: Any) -> None:
    openai_server.reply(rewrite_or_answer)
    first_result = await ask(journal=str(tmp_path / "journal.sqlite"))
    assert await ask(journal=str(tmp_path / "journal.sqlite")) == first_result
    assert len(openai_server.chats()) == 2


async def test_the_oldest_turns_are_dropped_if_the_prompt_is_too_long(openai_server: OpenAIServer) -> None:
    long_turns = [
        turn | {"content": f"Turn {number}: {turn['content']} {'tower ' * 200}"}
        for number, turn in enumerate(HISTORY * 3)
    ]
    result = await ask(history=[*long_turns, *HISTORY], context_window=900)
    assert result["usage"]["stand_alone"]["calls"] == 1
    sent_text = openai_server.chats()[0].text
    assert "User: Who planned the Lumen Tower?\nAssistant: Ada Moreau\n" in sent_text
    assert "Turn 5" in sent_text
    assert not any(f"Turn {number}" in sent_text for number in range(5))


async def test_a_history_that_is_too_long_for_the_model_is_ignored(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: make_too_long_error() if is_rewriting(request) else "1931")
    result = await ask()
    assert (result["answer"], result["question"], list(result["usage"])) == (
        "1931",
        "When was it finished?",
        ["answer"],
    )


@pytest.mark.parametrize("reply", ["", "I don't know.", "x" * 1001])
async def test_a_reply_that_is_no_question_leaves_the_question_unchanged(
    openai_server: OpenAIServer, reply: str
) -> None:
    openai_server.reply(lambda request: reply if is_rewriting(request) else "1931")
    result = await ask()
    assert result["question"] == "When was it finished?"
    assert result["malformed"]["stand_alone"]["count"] == 1


async def test_thinking_is_cut_from_the_rewritten_question(openai_server: OpenAIServer) -> None:
    openai_server.reply(
        lambda request: Response(f"<think>It?</think>\n{STAND_ALONE_QUESTION}") if is_rewriting(request) else "1931"
    )
    assert (await ask())["question"] == STAND_ALONE_QUESTION


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "robot", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": "user"},
        {"content": "x"},
        "text",
        None,
    ],
)
async def test_an_invalid_turn_is_refused(turn: Any) -> None:
    with pytest.raises(SetupError, match=r"Item 2 of the history is not a turn .*give \{'role'"):
        await ask(history=[HISTORY[0], turn])


def test_synchronous_code_gives_a_history_too(openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    result = answer_sync("When was it finished?", "concat", OPENAI_CONTEXT, given=PASSAGES, history=HISTORY)
    assert result["answer"] == "1931"


async def test_a_stream_shows_the_rewriting_node_and_the_methods_own_nodes(openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    event_stream = stream("When was it finished?", "concat", OPENAI_CONTEXT, given=PASSAGES, history=HISTORY)
    events = [event async for event in event_stream]
    nodes = [(*event.inside, event.node) for event in events if isinstance(event, NodeFinished)]
    assert nodes == [
        ("begin_turn",),
        ("stand_alone",),
        ("concat", "begin"),
        ("concat", "retrieve", "search"),
        ("concat", "retrieve"),
        ("concat", "concat_answer"),
        ("concat", "find_evidence"),
        ("concat",),
        ("end_turn",),
    ]
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.result == await ask() | {"support": last.result["support"]}  # type: ignore[typeddict-item]


async def test_a_thread_remembers_the_conversation(openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    conversation = conversation_graph(find_method("post_fusion").graph).copy()
    conversation.checkpointer = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "one"}}
    first = {"messages": [HumanMessage("Who planned the Lumen Tower?")], "given": PASSAGES[:3]}
    await conversation.ainvoke(first, config, context=OPENAI_CONTEXT)
    second = {"messages": [HumanMessage("When was it finished?")], "given": PASSAGES[:2]}
    result = await conversation.ainvoke(second, config, context=OPENAI_CONTEXT)
    assert [message.text for message in result["messages"]] == [
        "Who planned the Lumen Tower?",
        "unknown",
        "When was it finished?",
        "1931",
    ]
    assert len(result["votes"]) == 2
    assert {name: item["calls"] for name, item in result["usage"].items()} == {"stand_alone": 1, "answer": 2}
    third = {"messages": [HumanMessage("When was it finished?")]}
    with pytest.raises(SetupError, match="no collection"):  # passages given with one turn are not kept for the next
        await conversation.ainvoke(third, config, context=replace(OPENAI_CONTEXT, collection="none", store="empty"))


async def test_sources_that_a_server_appended_are_cut_from_the_history(openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    await ask(history=[HISTORY[0], {"role": "assistant", "content": 'Ada Moreau\n\nSources:\n1. Towers: "a strike"'}])
    assert "Assistant: Ada Moreau\n" in openai_server.chats()[0].text
    assert "strike" not in openai_server.chats()[0].text


@pytest.mark.parametrize(
    "quote_heading",
    [
        "The closest sentence:\n",
        "",
        "Where the passages say it:\n> On strike.\n\nThe closest sentence, which does not say it:\n",
    ],
)
async def test_a_note_and_a_quote_that_a_server_appended_are_cut_from_the_history(
    openai_server: OpenAIServer, quote_heading: str
) -> None:
    openai_server.reply(rewrite_or_answer)
    served_answer = "Not sure. Perhaps: Ada Moreau"
    note = "\n\nThe question looks like Dutch, and the built-in reader reads English only; ask in English."
    quote = f"\n\n{quote_heading}> **Ada Moreau** went on strike."
    await ask(
        history=[HISTORY[0], {"role": "assistant", "content": f"{served_answer}{note}{quote}\n\nSources:\n1. Towers"}]
    )
    assert "Assistant: Ada Moreau\n" in openai_server.chats()[0].text
    for words in ("Not sure", "built-in reader", "strike", "Towers"):
        assert words not in openai_server.chats()[0].text


@pytest.mark.parametrize("ending", ["\n\nSo it was built.", ""])
async def test_an_answers_own_quotation_stays_in_the_history(openai_server: OpenAIServer, ending: str) -> None:
    openai_server.reply(rewrite_or_answer)
    answer = f"She wrote:\n\n> Build it high.{ending}"
    await ask(history=[HISTORY[0], {"role": "assistant", "content": answer}])
    assert f"Assistant: {' '.join(answer.split())}\n" in openai_server.chats()[0].text


async def test_studios_graph_asks_the_method_chosen_in_its_settings(openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    messages = [
        HumanMessage(HISTORY[0]["content"]),
        AIMessage(HISTORY[1]["content"]),
        ("user", "When was it finished?"),
    ]
    inputs = {"messages": messages, "given": PASSAGES[:3]}
    result = await graph.ainvoke(inputs, context={"model": "openai:test", "method": "post_fusion"})
    assert (result["messages"][-1].text, len(result["votes"])) == ("1931", 3)
    with pytest.raises(SetupError, match="no method 'nothing'"):
        await graph.ainvoke(inputs, context={"model": "openai:test", "method": "nothing"})
    settings_schema = graph.get_context_jsonschema()["properties"]
    assert settings_schema["method"]["default"] == "concat_pf"
    assert settings_schema["k"]["default"] == 5


async def test_messages_without_a_question_are_refused() -> None:
    with pytest.raises(SetupError, match="hold no question"):
        await graph.ainvoke({"messages": [AIMessage("Hello")]})


def test_conversations_at_the_same_time_do_not_mix(openai_server: OpenAIServer) -> None:
    async def rewrite(number: int) -> str:
        result = await answer(f"And number {number}?", "no_retrieval", OPENAI_CONTEXT, history=HISTORY)
        return str(result["question"])  # type: ignore[typeddict-item]

    async def rewrite_all() -> list[str]:
        openai_server.reply(
            lambda request: (
                f"{request.text.split('Last question: ')[1].splitlines()[0]} Really?"
                if is_rewriting(request)
                else "yes"
            )
        )
        return await asyncio.gather(*(rewrite(number) for number in range(20)))

    assert asyncio.run(rewrite_all()) == [f"And number {number}? Really?" for number in range(20)]


def test_the_drawing_labels_first_and_follow_up_questions() -> None:
    drawing = conversation_graph("concat").get_graph()
    assert {(edge.source, edge.target, edge.data) for edge in drawing.edges if edge.conditional} == {
        ("begin_turn", "stand_alone", "follow-up question"),
        ("begin_turn", "concat", "first question"),
    }
