"""Many processes that ask questions give the same results as one process, even if they are killed once."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from started_process import stop_ignoring_ctrl_c

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores

pytestmark = [
    pytest.mark.usefixtures("ray_address"),
    pytest.mark.filterwarnings("ignore"),  # Ray itself causes warnings
]
ROOT = Path(__file__).parents[2]
QUESTION_COUNT = 6


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of questions. Each brings two passages, of which the second holds the answer."""
    path = tmp_path / "data.jsonl"
    lines = [
        {
            "id": f"q{number}",
            "question": f"Who is number {number}?",
            "answers": [f"person {number}"],
            "passages": [
                {"id": f"q{number}a", "title": "", "text": f"Nobody knows number {number}."},
                {"id": f"q{number}b", "title": "", "text": f"Number {number} is person {number}."},
            ],
        }
        for number in range(QUESTION_COUNT)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def read_number(request: Request) -> int:
    """The number of the question in a request."""
    return int(request.text.rpartition("number ")[2].partition("?")[0])


def reply_as_reader(request: Request) -> str:
    """Name the person if the prompt holds only the passage with the answer; else reply "unknown"."""
    return f"person {read_number(request)}" if "Nobody knows" not in request.text else "unknown"


def read_rows(folder: Path) -> list[dict[str, Any]]:
    path = folder / "results.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]  # the last line may be incomplete


def read_comparable_rows(folder: Path) -> dict[Any, Any]:
    """The rows by question and method. Times and numbers of reused calls, which differ between runs, are set to 0."""
    return {(row["id"], row["method"]): row | {"seconds": 0, "reused_calls": 0} for row in read_rows(folder)}


async def run_evaluation(
    data: Path, out: str, methods: str = "concat,concat_pf", engine: str = "ray", **settings: Any
) -> Scores:
    """settings: concurrency, writes_details and limit are fields of `Options`, all others are fields of `Context`."""
    options = {name: settings.pop(name) for name in ("concurrency", "writes_details", "limit") if name in settings}
    context = Context(**{"model": "openai:test", "attempts": 1, **settings})
    return await evaluate(
        Options(data=data, out=data.parent / out, engine=engine, **options), parse_columns(methods, context)
    )


def kill_workers() -> None:
    """Send SIGKILL to the processes that ask the questions."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"ray::MapWorker" in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)


async def test_the_results_are_those_of_one_process(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    journal = str(data.parent / "journal.sqlite")
    in_many_processes = await run_evaluation(data, "many", journal=journal, writes_details=True)
    request_count = len(openai_server.requests)
    # For each question, one call with both passages, which both methods share, and one call for each passage.
    assert request_count == in_many_processes.spending.calls == 3 * QUESTION_COUNT
    in_one_process = await run_evaluation(data, "one", engine="local", journal=journal, writes_details=True)
    # The workers wrote every reply to the journal, so one process needs no call.
    assert (in_one_process.spending.calls, len(openai_server.requests)) == (0, request_count)
    assert read_comparable_rows(in_many_processes.folder) == read_comparable_rows(in_one_process.folder)
    assert (in_many_processes.new_answers, in_many_processes.summary["concat"]["em"]) == (
        2 * QUESTION_COUNT,
        in_one_process.summary["concat"]["em"],
    )
    for name in ("comparison.json", "config.json"):
        assert (in_many_processes.folder / name).read_bytes() == (in_one_process.folder / name).read_bytes()
    details = [json.loads(line) for line in (in_many_processes.folder / "details.jsonl").read_text().splitlines()]
    assert len(details) == 2 * QUESTION_COUNT
    assert all(detail["calls"] for detail in details)
    assert (await run_evaluation(data, "many", engine="local", journal=journal, writes_details=True)).new_answers == 0


async def test_a_slow_question_delays_no_other_and_finished_answers_are_kept(
    data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(lambda request: Response(reply_as_reader(request), hold=read_number(request) == 0))
    task = asyncio.create_task(run_evaluation(data, "out", "concat", concurrency=2))
    while len(read_rows(data.parent / "out")) < QUESTION_COUNT - 1:
        assert not task.done()
        await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert {row["id"] for row in read_rows(data.parent / "out")} == {
        f"q{number}" for number in range(1, QUESTION_COUNT)
    }
    openai_server.release_held_replies()
    continued_scores = await run_evaluation(data, "out", "concat")
    assert (continued_scores.new_answers, continued_scores.summary["concat"]["n"]) == (1, QUESTION_COUNT)


async def test_the_questions_of_a_killed_worker_are_asked_by_another(data: Path, openai_server: OpenAIServer) -> None:
    kills: list[int] = []  # the number of the question during which the workers were killed

    def kill_once(request: Request) -> str:
        if read_number(request) == 3 and not kills:
            kills.append(3)
            kill_workers()
        return reply_as_reader(request)

    openai_server.reply(kill_once)
    scores = await run_evaluation(data, "out", "concat")
    assert kills
    assert (scores.new_answers, scores.summary["concat"]["errors"], len(read_rows(scores.folder))) == (
        QUESTION_COUNT,
        0,
        QUESTION_COUNT,
    )


async def test_a_question_that_no_worker_survives_is_an_error_row(data: Path, openai_server: OpenAIServer) -> None:
    def kill_every_time(request: Request) -> str:
        if read_number(request) == 3:
            kill_workers()
        return reply_as_reader(request)

    openai_server.reply(kill_every_time)
    scores = await run_evaluation(data, "out", "concat", limit=4)
    assert (scores.summary["concat"]["n"], scores.summary["concat"]["errors"]) == (4, 1)
    failed_row = next(row for row in read_rows(scores.folder) if row["error"])
    assert (failed_row["id"], failed_row["answer"]) == ("q3", None)
    assert "worker process exited" in failed_row["error"]
    openai_server.reply(reply_as_reader)
    assert (await run_evaluation(data, "out", "concat", limit=4)).summary["concat"]["errors"] == 0


async def test_a_failed_call_is_an_error_row_and_a_refused_key_stops_the_run(
    data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(
        lambda request: make_error(400, "not today") if read_number(request) == 4 else reply_as_reader(request)
    )
    scores = await run_evaluation(data, "out", "concat")
    assert "not today" in next(row["error"] for row in read_rows(scores.folder) if row["error"])
    openai_server.reply(make_error(401, "wrong key"))
    with pytest.raises(SetupError, match="wrong key"):
        await run_evaluation(data, "other", "concat")
    assert read_rows(data.parent / "other") == []


async def test_a_journal_that_cannot_be_used_stops_the_run_with_one_sentence(
    data: Path, openai_server: OpenAIServer
) -> None:
    journal = data.parent / "notes.txt"
    journal.write_text("These are notes, and no journal at all." * 100, encoding="utf-8")
    with pytest.raises(SetupError, match=r"journal .*notes\.txt cannot be used") as error_info:
        await run_evaluation(data, "out", "concat", limit=2, journal=str(journal))
    assert "\n" not in str(error_info.value)


async def test_rate_limits_hold_for_all_workers_together(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    task = asyncio.create_task(run_evaluation(data, "out", "concat", requests_per_minute=3))
    await asyncio.to_thread(openai_server.wait_for_requests, 3, 120)
    # Within 5 more seconds no fourth request arrives.
    with pytest.raises(TimeoutError, match="3 of 4"):
        await asyncio.to_thread(openai_server.wait_for_requests, 4, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_passages_are_searched_by_the_workers(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    columns = parse_columns("concat", Context(model="openai:test", attempts=1, k=2, retriever="bm25"))
    options = Options(data=data, out=data.parent / "many", corpus="pool", engine="ray")
    in_many_processes = await evaluate(options, columns)
    in_one_process = await evaluate(Options(data=data, out=data.parent / "one", corpus="pool"), columns)
    assert read_comparable_rows(in_many_processes.folder) == read_comparable_rows(in_one_process.folder)
    assert len(read_rows(in_many_processes.folder)) == QUESTION_COUNT


def make_command(data: Path, out: Path) -> list[str]:
    options = ["--model", "openai:test", "--out", str(out), "--set", "attempts=1", "--concurrency", "2"]
    return [
        sys.executable,
        "-m",
        "quorum.cli.main",
        "eval",
        str(data),
        "--methods",
        "concat",
        "--engine",
        "ray",
        *options,
    ]


def test_an_interrupted_command_is_continued(
    data: Path, tmp_path: Path, openai_server: OpenAIServer, ray_address: str
) -> None:
    openai_server.reply(lambda request: Response(reply_as_reader(request), hold=read_number(request) == 5))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "RAY_ADDRESS": ray_address}
    out = tmp_path / "out"
    process = subprocess.Popen(
        make_command(data, out), env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=stop_ignoring_ctrl_c
    )
    openai_server.wait_for_requests(QUESTION_COUNT, 300)
    while len(read_rows(out)) < QUESTION_COUNT - 1:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert stderr == "quorum: stopped; to continue from here, run the same command again.\n"
    openai_server.release_held_replies()
    continuing_process = subprocess.run(
        make_command(data, out), env=environment, capture_output=True, text=True, timeout=300
    )
    assert continuing_process.returncode == 0, continuing_process.stderr
    assert len(read_rows(out)) == QUESTION_COUNT
    [tokens] = re.findall(r"\((\d+) tokens in", continuing_process.stderr)  # as the wording of the prompt has it
    assert continuing_process.stderr == f"quorum: made 1 call now ({tokens} tokens in, 2 out); results in {out}\n"
    assert 100 < int(tokens) < 400  # of one call, not of all
