"""Runs as the page sees them: the nodes at work are known, an error stays on the card of its method, a run can be
stopped, and runs are saved.
"""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum.cli.main import main
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.retrievers.index import index_passages
from quorum.ui.past_runs import list_past_runs, load_run, save_run
from quorum.ui.query import AskRequest
from quorum.ui.run import (
    Answer,
    Run,
    count_calls_and_tokens,
    describe_error,
    list_node_states,
    list_visited_nodes,
    start_run,
)

SETTINGS = {"model": "openai:test", "collection": "towers", "retriever": "bm25", "k": 2}
FOLDER = Path("runs")  # each test runs in a new working directory


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    store_path = str(tmp_path_factory.mktemp("towers"))
    index_passages(PASSAGES, collection="towers", store=store_path)
    return store_path


async def save_in_folder(run: Run) -> None:
    await asyncio.to_thread(save_run, run, FOLDER)


async def ask_and_wait(methods: str, store: str, **settings: str) -> Run:
    """Ask, and return the run when it has ended."""
    query = AskRequest(QUESTION, methods, settings)
    run = start_run(query, query.make_columns(Context(**SETTINGS, store=store)), save_in_folder)
    assert run.task is not None
    await run.task
    return run


async def test_methods_answer_side_by_side_and_their_run_is_saved(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    run = await ask_and_wait("concat,post_fusion", store)
    assert [(answer.name, answer.phase, (answer.result or {})["answer"]) for answer in run.answers] == [
        ("concat", "done", "1931"),
        ("post_fusion", "done", "1931"),
    ]
    post_fusion_answer = run.answers[1]
    assert list_visited_nodes(post_fusion_answer) == [
        ("retrieve", 1),
        ("passage_answer", 2),
        ("vote", 1),
        ("find_evidence", 1),
    ]
    assert {
        name: (state.phase, state.begin_count, state.end_count)
        for name, state in list_node_states(post_fusion_answer).items()
    } == {
        "begin": ("done", 1, 1),
        "retrieve": ("done", 1, 1),
        "passage_answer": ("done", 2, 2),
        "vote": ("done", 1, 1),
        "find_evidence": ("done", 1, 1),
    }
    assert count_calls_and_tokens(post_fusion_answer)[0] == 2
    saved_run = load_run(run.id, FOLDER)
    assert (saved_run.query, saved_run.answers[1].result) == (run.query, post_fusion_answer.result)
    assert [list_visited_nodes(answer) for answer in saved_run.answers] == [
        list_visited_nodes(answer) for answer in run.answers
    ]
    assert not saved_run.is_running


async def test_nodes_are_lit_while_they_run(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("1931", hold=True))
    query = AskRequest(QUESTION, "concat")
    run = start_run(query, query.make_columns(Context(**SETTINGS, store=store)), save_in_folder)
    await asyncio.to_thread(openai_server.wait_for_requests, 1)
    (run_answer,) = run.answers
    assert (
        run.is_running,
        list_node_states(run_answer)["retrieve"].phase,
        list_node_states(run_answer)["concat_answer"].phase,
    ) == (
        True,
        "done",
        "running",
    )
    version = run_answer.version
    openai_server.release_held_replies()
    assert run.task is not None
    await run.task
    assert (run_answer.phase, list_node_states(run_answer)["concat_answer"].phase, run_answer.version > version) == (
        "done",
        "done",
        True,
    )


async def test_a_run_that_is_stopped_keeps_what_it_has(store: str, openai_server: OpenAIServer) -> None:
    # Only the prompt of concat shows a second passage, [2]. The prompts of post_fusion show one passage, and their
    # replies are held back.
    openai_server.reply(lambda request: Response("1931", hold="[2]" not in request.text))
    query = AskRequest(QUESTION, "concat,post_fusion")
    run = start_run(query, query.make_columns(Context(**SETTINGS, store=store)), save_in_folder)
    await asyncio.to_thread(openai_server.wait_for_requests, 3)
    while run.answers[0].phase == "running":  # noqa: ASYNC110  the page polls as well
        await asyncio.sleep(0)
    run.stop()
    assert run.task is not None
    await run.task
    openai_server.release_held_replies()
    assert [answer.phase for answer in run.answers] == ["done", "stopped"]
    assert list_node_states(run.answers[1])["passage_answer"].phase == "stopped"
    assert [answer.phase for answer in load_run(run.id, FOLDER).answers] == ["done", "stopped"]


async def test_an_error_stays_on_its_card(store: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: make_error(401, "no such key") if request.body["model"] == "other" else "1931")
    run = await ask_and_wait("concat,base[model=openai:other],concat[collection=nowhere]", store)
    finished_answer, refused_answer, unknown_collection_answer = run.answers
    assert (finished_answer.phase, refused_answer.phase, unknown_collection_answer.phase) == (
        "done",
        "failed",
        "failed",
    )
    assert "no such key" in (refused_answer.error or "")
    assert "no collection 'nowhere'" in (unknown_collection_answer.error or "")
    assert list_node_states(unknown_collection_answer)["retrieve"].phase == "failed"
    assert all("\n" not in (answer.error or "") for answer in run.answers)


async def test_a_bug_is_one_sentence_on_the_page_and_a_traceback_on_the_terminal(
    store: str, openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    query = AskRequest(QUESTION, "concat")
    (column,) = query.make_columns(Context(**SETTINGS, store=store))
    # Replace the method's graph by an object that is not a graph. A frozen dataclass such as the column can only be
    # changed by object.__setattr__.
    object.__setattr__(column, "method", "no_such_graph")
    object.__setattr__(column, "own_graph", object())
    run = start_run(query, [column], save_in_folder)
    assert run.task is not None
    await run.task
    assert (run.answers[0].error or "").startswith("Something in Quorum failed (AttributeError)")
    assert "Traceback" in capsys.readouterr().err


async def test_a_saved_run_is_printed_as_a_trace(
    store: str, openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    openai_server.reply("1931")
    run = await ask_and_wait("concat,post_fusion", store)
    with pytest.raises(SystemExit) as command_exit:
        await asyncio.to_thread(main, ["trace", str(FOLDER / f"{run.id}.json")])
    assert not command_exit.value.code
    # post_fusion sends the prompt "answer" once for each of the two passages.
    assert capsys.readouterr().out.count("answer: passage") == 2


async def test_hidden_passages_are_not_saved(
    store: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "1")
    openai_server.reply("1931")
    run = await ask_and_wait("concat", store)
    saved_text = (FOLDER / f"{run.id}.json").read_text(encoding="utf-8")
    assert "finished in 1931" not in saved_text
    assert "finished in 1931" in json.dumps(run.answers[0].result)


async def test_an_unwritable_folder_is_reported(store: str, openai_server: OpenAIServer) -> None:
    FOLDER.write_text("a file")
    run = await ask_and_wait("concat", store)
    assert (run.answers[0].phase, "is not saved" in (run.save_error or "")) == ("done", True)


def test_the_list_of_past_runs_is_newest_first_and_skips_other_files() -> None:
    ids = [f"20260101-00000{second}-abcdef" for second in range(3)]
    for id_ in ids:
        save_run(
            Run(
                id_,
                AskRequest(f"Question {id_}"),
                asked_at=1.0,
                answers=[Answer("concat", "concat", "failed", error="no")],
            ),
            FOLDER,
        )
    (FOLDER / "20260101-000009-abcdef.json").write_text("{}")
    (FOLDER / "notes.json").write_text("{}")
    assert [run.id for run in list_past_runs(FOLDER)] == ids[::-1]
    assert list_past_runs(FOLDER)[0].question == f"Question {ids[-1]}"


@pytest.mark.parametrize("id_", ["../../etc/passwd", "", "20260101-000000-abcdef", "notes", "20260101-000009-abcdef"])
def test_an_unknown_or_unreadable_run_is_reported(id_: str) -> None:
    FOLDER.mkdir()
    (FOLDER / "notes.json").write_text("{}")
    (FOLDER / "20260101-000009-abcdef.json").write_text('{"question": 1}')
    with pytest.raises(SetupError, match=r"no run|cannot be read"):
        load_run(id_, FOLDER)


def test_a_past_run_is_readable_only_by_its_owner() -> None:
    earlier_umask = os.umask(0)
    try:
        save_run(
            Run(
                "20260101-000000-abcdef",
                AskRequest("Which?"),
                asked_at=1.0,
                answers=[Answer("concat", "concat", "failed")],
            ),
            FOLDER,
        )
    finally:
        os.umask(earlier_umask)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (FOLDER, *FOLDER.iterdir())]
    assert modes == [0o700, 0o600]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The folder /srv/data/x.json is bad.", "The folder [a path on the server] is bad."),
        ("No file '/srv/my data/x'; give one.", "No file '[a path on the server]'; give one."),
        (r"C:\Users\me\store cannot be written.", "[a path on the server] cannot be written."),
        ("See ~/store or input/output, 1/2 and and/or.", "See [a path on the server] or input/output, 1/2 and and/or."),
        ("http://host:8000/v1/chat refused it.", "http://host:8000/v1/chat refused it."),
    ],
)
def test_a_page_shows_no_path_of_the_server(message: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert describe_error(SetupError(message)) == expected
    assert capsys.readouterr().err == ("" if message == expected else f"quorum: {message}\n")
