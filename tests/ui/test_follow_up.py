"""Follow-up questions on the page: each method reads its own answers to the earlier questions, and another method's
answer where it gave none.
"""

import asyncio
from pathlib import Path

import pytest
from method_fixtures import PASSAGES
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.retrievers.index import index_passages
from quorum.ui.follow_up import MAX_RUNS, read_conversation
from quorum.ui.past_runs import load_run, save_run
from quorum.ui.query import AskRequest, parse_link
from quorum.ui.run import Answer, Run, start_run

FOLDER = Path("runs")
FIRST_RUN_ID, SECOND_RUN_ID = "20260101-000000-abcdef", "20260101-000001-abcdef"


async def find_run(id_: str) -> Run:
    return await asyncio.to_thread(load_run, id_, FOLDER)


def make_run(id_: str, question: str, follows_run_id: str = "", **answers: str) -> Run:
    """An ended run. answers: each method's answer."""
    run_answers = [Answer(name, name, "done", {"answer": text, "unknown": False}) for name, text in answers.items()]
    return Run(id_, AskRequest(question, ",".join(answers), {}, follows_run_id), 1.0, run_answers)


async def test_each_method_reads_its_own_answers_or_else_those_of_another() -> None:
    save_run(make_run(FIRST_RUN_ID, "Who planned it?", concat="Ada", sure="Ida"), FOLDER)
    save_run(make_run(SECOND_RUN_ID, "Where?", FIRST_RUN_ID, sure="Vell"), FOLDER)
    conversation = await read_conversation(SECOND_RUN_ID, "concat", find_run)
    assert [(turn["role"], turn["content"]) for turn in conversation] == [
        ("user", "Who planned it?"),
        ("assistant", "Ada"),
        ("user", "Where?"),
        ("assistant", "Vell"),
    ]
    assert (await read_conversation(SECOND_RUN_ID, "sure", find_run))[1]["content"] == "Ida"
    assert await read_conversation("", "sure", find_run) == []


async def test_a_run_that_follows_itself_is_read_at_most_max_runs_times() -> None:
    save_run(make_run(FIRST_RUN_ID, "Why?", FIRST_RUN_ID, concat="So."), FOLDER)
    assert len(await read_conversation(FIRST_RUN_ID, "concat", find_run)) == 2 * MAX_RUNS


@pytest.mark.parametrize("id_", ["../../etc/passwd", FIRST_RUN_ID])
async def test_a_missing_earlier_run_becomes_the_error_of_the_answer(id_: str) -> None:
    query = AskRequest("Why?", "concat", {}, id_)

    async def read_history(method: str) -> list[dict[str, str]]:
        return await read_conversation(query.follows_run_id, method, find_run)

    async def save(run: Run) -> None:
        await asyncio.to_thread(save_run, run, FOLDER)

    run = start_run(query, query.make_columns(Context()), save, read_history)
    assert run.task is not None
    await run.task
    assert "There is no run" in (run.answers[0].error or "")
    with pytest.raises(SetupError):
        await find_run(id_)


async def test_a_follow_up_question_is_rewritten_and_its_run_saved(openai_server: OpenAIServer, tmp_path: Path) -> None:
    def rewrite_or_answer(request: Request) -> str:
        return "When was the Lumen Tower finished?" if "Last question:" in request.text else "1931"

    openai_server.reply(rewrite_or_answer)
    index_passages(PASSAGES, collection="towers", store=str(tmp_path / "store"))
    server_context = Context(model="openai:test", collection="towers", retriever="bm25", store=str(tmp_path / "store"))
    save_run(make_run(FIRST_RUN_ID, "Where is the Lumen Tower?", concat="Vell"), FOLDER)
    query = AskRequest("When was it finished?", "concat", {}, FIRST_RUN_ID)

    async def save(run: Run) -> None:
        await asyncio.to_thread(save_run, run, FOLDER)

    run = start_run(
        query,
        query.make_columns(server_context),
        save,
        lambda method: read_conversation(FIRST_RUN_ID, method, find_run),
    )
    assert run.task is not None
    await run.task
    saved_run = await find_run(run.id)
    result = saved_run.answers[0].result or {}
    assert (saved_run.query.follows_run_id, result["answer"]) == (FIRST_RUN_ID, "1931")
    assert result["question"] == "When was the Lumen Tower finished?"  # type: ignore[typeddict-item]
    assert parse_link(query.make_link().partition("?")[2], server_context) == query
