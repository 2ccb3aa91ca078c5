"""The method agent with a server that speaks tool calls: what is sent, faulty and endless calls, refusals, views, and a
run that was stopped between two turns.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import FINAL_REPLY, send_calls
from langchain_core.runnables import RunnableConfig
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum
from stepwise_fixtures import CAST_QUESTION, PASSAGES, QUESTION, ROLE_QUESTION, join_ids

from quorum import Context, NodeFinished, SetupError, answer, stream
from quorum.core.state import Result
from quorum.evaluation.run.watch import AnswerWatcher
from quorum.evaluation.shown.trace import Tracer

TESTS = Path(__file__).parents[1]
SEARCHES = [("search", json.dumps({"query": CAST_QUESTION})), ("search", json.dumps({"query": ROLE_QUESTION}))]


async def ask_server(question: str = QUESTION, **settings: Any) -> Result:
    context = Context(**{"model": "openai:test", "k": 2, **settings})
    return await answer(question, "agent", context, given=PASSAGES)


def list_tool_use(server: OpenAIServer) -> list[str | None]:
    """Of each request: None without tools, else its tool choice, or "auto"."""
    return [
        body.get("tool_choice", "auto") if "tools" in (body := request.body) else None for request in server.chats()
    ]


async def test_a_run_over_http(openai_server: OpenAIServer) -> None:
    openai_server.reply([send_calls(*SEARCHES), FINAL_REPLY])
    result = await ask_server()
    assert (result["answer"], join_ids(result["passages"])) == ("Jillian Belk", "mansion jan bell")
    assert result["usage"]["agent"]["calls"] == 2
    first, second = (request.body for request in openai_server.chats())
    assert first["tools"] == second["tools"]
    assert first["tools"][0]["function"] | {"description": ""} == {
        "name": "search",
        "description": "",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"query": first["tools"][0]["function"]["parameters"]["properties"]["query"]},
            "required": ["query"],
            "additionalProperties": False,
        },
    }
    assert second["messages"][:2] == first["messages"]  # a prefix cache can be used
    assert [(m["role"], m.get("tool_call_id")) for m in second["messages"][2:]] == [
        *(("assistant", None), ("tool", "call00001"), ("tool", "call00002")),
    ]
    assert [call["id"] for call in second["messages"][2]["tool_calls"]] == ["call00001", "call00002"]
    assert "response_format" not in second


async def test_faulty_calls_of_a_server_end_in_an_answer(openai_server: OpenAIServer) -> None:
    faulty = send_calls(("search", '{"query": "tow'), ("browse", "{}"), ("search", "5"))
    openai_server.reply([faulty, send_calls("no call", ("search", '{"query": "Bell"}')), FINAL_REPLY])
    result = await ask_server()
    assert (result["answer"], result["malformed"]["agent"]) == (
        "Jillian Belk",
        {"count": 1, "replies": ['browse({})\nsearch({"query": "tow)\nsearch(5)']},
    )
    results = [message["content"] for message in openai_server.chats()[1].body["messages"] if message["role"] == "tool"]
    assert [text.partition(": ")[2] for text in results] == [
        "there is no tool 'browse'; the tools are search and open_document.",
        *["its arguments are no JSON object."] * 2,
    ]
    sent_calls = [call for m in openai_server.chats()[1].body["messages"] for call in m.get("tool_calls", [])]
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in sent_calls)


@pytest.mark.parametrize("ignores_the_tool_choice", [False, True])
async def test_endless_calls_end(openai_server: OpenAIServer, ignores_the_tool_choice: bool) -> None:
    def search_on(request: Request) -> Response | str:
        if request.body.get("tool_choice") == "none" and not ignores_the_tool_choice:
            return FINAL_REPLY
        return send_calls(("search", json.dumps({"query": f"number {len(openai_server.chats())}"})))

    openai_server.reply(search_on)
    result = await ask_server(max_steps=3)
    assert list_tool_use(openai_server) == ["auto", "auto", "auto", "none"]
    assert result["answer"] == ("unknown" if ignores_the_tool_choice else "Jillian Belk")


async def test_a_server_that_refuses_the_tool_choice_gets_the_last_turn_without_tools(
    openai_server: OpenAIServer,
) -> None:
    def refuse(request: Request) -> Response | str:
        if "tools" not in request.body:
            return FINAL_REPLY
        if "tool_choice" in request.body:
            return make_error(400, "Unsupported value: tool_choice none")
        return send_calls(("search", '{"query": "Bell"}'))

    openai_server.reply(refuse)
    assert (await ask_server(max_steps=1))["answer"] == "Jillian Belk"
    assert list_tool_use(openai_server) == ["auto", "none", None]


def test_refused_tools_are_one_sentence_before_the_second_question(
    openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.jsonl"
    lines = [{"question": f"Who is number {n}?", "answers": ["x"], "passages": PASSAGES} for n in range(3)]
    questions.write_text("\n".join(map(json.dumps, lines)))
    openai_server.reply(make_error(400, "test does not support tools"))
    command = ("eval", str(questions), "--model", "openai:test", "--concurrency", "1", "--methods", "agent")
    run = quorum(*command, "--out", str(tmp_path / "results"))
    assert (run.code, len(openai_server.chats())) == (2, 1)
    assert run.err.strip().splitlines()[-1] == (
        f"quorum: The model 'openai:test' at {openai_server.url} takes no tools (400: test does not support tools); "
        "choose the method react, which searches without them, or a model with tool calls. "
        "Once the server takes tools, start this program again."
    )


def test_all_leaves_agent_out_where_nothing_says_whether_the_model_takes_tools(
    openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"question": "Who?", "answers": ["x"], "passages": PASSAGES}))
    command = ("compare", "given", str(questions), "--models", "openai:test", "--dry-run", "--out", str(tmp_path / "r"))
    run = quorum(*command, "--methods", "all")
    assert "without agent: nothing says whether the model openai:test takes tools." in run.out + run.err
    assert openai_server.chats() == []


async def test_every_search_is_an_event_of_the_stream(openai_server: OpenAIServer) -> None:
    openai_server.reply([send_calls(*SEARCHES), FINAL_REPLY])
    context = Context(model="openai:test", k=2)
    events = [event async for event in stream(QUESTION, "agent", context, given=PASSAGES)]
    finished = [event for event in events if isinstance(event, NodeFinished) and not event.inside]
    assert [event.node for event in finished] == [
        *("begin", "agent_turn", "search_tool", "search_tool", "collect_observations", "agent_turn"),
        *("finish_agent", "find_evidence"),
    ]
    assert [step["query"] for step in finished[4].update["steps"]] == [CAST_QUESTION, ROLE_QUESTION]
    assert {event.phase for event in finished[2:4]} == {"searching"}


async def test_traces_and_details_show_the_calls(openai_server: OpenAIServer) -> None:
    tracer, watcher = Tracer(), AnswerWatcher()
    openai_server.reply([send_calls(SEARCHES[0], text="I look."), FINAL_REPLY])
    context, config = Context(model="openai:test", k=2), RunnableConfig(callbacks=[tracer, watcher])
    await answer(QUESTION, "agent", context, given=PASSAGES, config=config)
    call = f'search({{"query": "{CAST_QUESTION}"}})'
    assert [call["reply"] for call in watcher.calls] == [f"I look.\n{call}", FINAL_REPLY]
    (run,) = tracer.root.steps
    turns = [step.steps[0] for step in run.steps if step.name == "agent_turn"]
    assert [turn.reply for turn in turns] == [f"I look.\n{call}", FINAL_REPLY]
    assert [turn.name for turn in turns] == ["agent: turn 1", "agent: turn 2"]
    assert call in turns[1].prompt


async def test_a_run_that_was_stopped_between_two_turns_goes_on_from_the_journal(openai_server: OpenAIServer) -> None:
    openai_server.reply([send_calls(*SEARCHES), Response(hold=True)])
    stopped = asyncio.create_task(ask_server(journal="journal.sqlite"))
    await asyncio.to_thread(openai_server.wait_for_requests, 2)
    stopped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopped
    openai_server.release_held_replies()
    openai_server.reply(FINAL_REPLY)
    result = await ask_server(journal="journal.sqlite")
    assert (result["answer"], result["usage"]["agent"]["calls"]) == ("Jillian Belk", 2)
    assert len(openai_server.chats()) == 3  # the first turn was not asked for again
    assert openai_server.chats()[2].body == openai_server.chats()[1].body
    assert (await ask_server(journal="journal.sqlite"))["answer"] == "Jillian Belk"
    assert len(openai_server.chats()) == 3


@pytest.mark.long
def test_a_run_that_was_killed_between_two_turns_goes_on_from_the_journal(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    journal, path = str(tmp_path / "journal.sqlite"), os.pathsep.join([str(TESTS.parent), str(TESTS)])
    command = [sys.executable, str(TESTS / "agent_client.py"), journal]
    openai_server.reply([send_calls(*SEARCHES), Response(hold=True)])
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.DEVNULL) as process:
        openai_server.wait_for_requests(2)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    openai_server.release_held_replies()
    openai_server.reply(FINAL_REPLY)
    assert asyncio.run(ask_server(journal=journal))["answer"] == "Jillian Belk"
    assert len(openai_server.chats()) == 3


async def test_a_window_that_holds_no_passage_is_refused_in_one_sentence(openai_server: OpenAIServer) -> None:
    openai_server.reply([send_calls(*SEARCHES), FINAL_REPLY])
    with pytest.raises(Exception, match="Prompt 'agent' does not fit the model's window even without any passage"):
        await ask_server(context_window=300)
    assert openai_server.chats() == []
    with pytest.raises(SetupError, match="does not serve answer_type='label'"):
        await ask_server(answer_type="label")
