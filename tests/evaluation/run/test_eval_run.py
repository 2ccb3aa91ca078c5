"""The evaluation runner: over given passages, against a loopback server, interrupted and continued."""

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_starter import start_commands
from filelock import FileLock
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.run_plan import lock_folder
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.source import ProgressCallback, ignore_progress

CONTEXT = {"model": "openai:test", "attempts": 1}


def make_questions(count: int) -> list[dict[str, Any]]:
    """Questions with two passages, one of which names the person. Every third question has no gold answer."""
    return [
        {
            "id": f"q{number}",
            "question": f"Who is number {number}?",
            "answers": [] if number % 3 == 2 else [f"person {number}"],
            "passages": [
                {"id": f"q{number}a", "title": "", "text": f"Nobody knows number {number}."},
                {"id": f"q{number}b", "title": "", "text": f"Number {number} is person {number}."},
            ],
        }
        for number in range(count)
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file with six questions."""
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in make_questions(6)), encoding="utf-8")
    return path


def reply_as_reader(request: Request) -> str:
    """Name the person if the prompt shows only the passage with this person; reply "unknown" to every other prompt, and
    to all prompts about every third question.
    """
    number = request.text.rpartition("number ")[2].partition("?")[0]
    return f"person {number}" if "Nobody knows" not in request.text and int(number) % 3 != 2 else "unknown"


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


async def run(
    data: Path,
    methods: str = "concat,concat_pf",
    out: str = "out",
    progress: ProgressCallback = ignore_progress,
    **options: Any,
) -> Scores:
    columns = parse_columns(methods, Context(**CONTEXT))
    return await evaluate(Options(data=data, out=data.parent / out, **options), columns, progress=progress)


async def test_the_folder_holds_configuration_and_results(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    events: list[tuple[str, int, int | None]] = []
    report = await run(data, progress=lambda *step: events.append(step))
    assert report.summary["concat"] == json.loads((report.folder / "summary.json").read_text())["concat"]
    concat = report.summary["concat"]
    assert (concat["n"], concat["em"], concat["f1"], concat["unknown"]) == (6, 0.333333, 0.333333, 1)
    assert (concat["calls"], concat["errors"], concat["malformed"], concat["right_answer_among_votes"]) == (
        1,
        0,
        0,
        None,
    )
    concat_pf = report.summary["concat_pf"]
    assert (concat_pf["em"], concat_pf["unknown"], concat_pf["calls"]) == (1, 0.333333, 3)
    assert (concat_pf["right_answer_among_votes"], concat_pf["right_answer_outvoted"]) == (0.666667, 0)
    assert report.new_answers == 12
    assert events[-1] == ("ask", 12, 12)
    row = next(row for row in read_rows(report.folder) if row["id"] == "q1" and row["method"] == "concat_pf")
    assert list(row) == [key for key in Row.__annotations__ if key not in ("rationale", "gold_rank", "group")]
    known_values = {key: value for key, value in row.items() if value is not None}
    assert known_values | {"seconds": 0, "input_tokens": 0, "output_tokens": 0} == {
        "id": "q1", "method": "concat_pf", "question": "Who is number 1?", "task": "short",
        "answer_measure": "exact_match", "answer": "person 1", "answer_text": "person 1",
        "gold": ["person 1"], "em": 1, "f1": 1, "contains": 1, "squad_exact_match": 1, "squad_f1": 1,
        "unknown": False, "right_answer_outvoted": False,
        "right_answer_among_votes": True,
        "oracle": True, "oracle_f1": 1, "supported": True,
        "answer_in_passages": True, "answer_on_top": False, "context_tokens": 16,
        "context_precision": 0.222222222, "confidence": 1, "evidence": ["q1b"],
        "voters_without_evidence": [], "passages": ["q1a", "q1b"], "calls": 3,
        "input_tokens": 0, "output_tokens": 0, "malformed": 0, "wordy_answers": 0, "temperature_refused": False,
        "dropped": 0, "seconds": 0, "reused_calls": 0,
    }  # fmt: skip
    config = json.loads((report.folder / "config.json").read_text())
    assert config["data"]["file"] == "data.jsonl"
    assert config["source"] == {"passages": "given"}
    assert config["answer_measure"] == "exact_match"
    assert config["methods"]["concat"]["model"]["model"] == "test"


async def test_a_repeated_evaluation_asks_nothing(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    first_report = await run(data)
    request_count = len(openai_server.requests)
    second_report = await run(data)
    assert (second_report.summary, second_report.new_answers, len(openai_server.requests)) == (
        first_report.summary,
        0,
        request_count,
    )
    assert (first_report.spending.calls, second_report.spending.calls) == (request_count, 0)


async def test_shared_calls_are_paid_once_and_counted_for_each_method(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    columns = parse_columns("concat,concat_pf", Context(**CONTEXT, journal="journal.sqlite"))
    report = await evaluate(Options(data=data), columns)
    assert (report.summary["concat"]["calls"], report.summary["concat_pf"]["calls"]) == (1, 3)
    assert report.spending.calls == len(openai_server.requests) == 6 * 3
    assert report.spending.input_tokens == 6 * report.summary["concat_pf"]["input_tokens"]


async def test_without_out_the_name_of_the_folder_comes_from_the_configuration(
    data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_as_reader)
    columns = parse_columns("concat", Context(**CONTEXT))
    first_report = await evaluate(Options(data=data), columns)
    second_report = await evaluate(Options(data=data, concurrency=2), columns)
    limited_report = await evaluate(Options(data=data, limit=2), columns)
    assert first_report.folder.parent == Path("results")
    assert (second_report.folder, second_report.new_answers) == (first_report.folder, 0)
    assert (limited_report.folder != first_report.folder, limited_report.new_answers) == (True, 2)


async def test_a_failed_question_is_a_row_and_is_asked_again(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(
        lambda request: make_error(400, "not today") if "number 4?" in request.text else reply_as_reader(request)
    )
    report = await run(data, "concat")
    assert (report.summary["concat"]["n"], report.summary["concat"]["errors"]) == (6, 1)
    assert report.summary["concat"]["calls"] == 1
    failed_row = next(row for row in read_rows(report.folder) if row["error"])
    assert (failed_row["id"], failed_row["em"], failed_row["answer"], failed_row["calls"]) == ("q4", None, None, None)
    assert "not today" in failed_row["error"]
    openai_server.reply(reply_as_reader)
    second_report = await run(data, "concat")
    assert (
        second_report.new_answers,
        second_report.summary["concat"]["n"],
        second_report.summary["concat"]["errors"],
    ) == (1, 6, 0)


async def test_a_refused_key_stops_everything(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(401, "wrong key"))
    with pytest.raises(SetupError, match="wrong key"):
        await run(data)
    assert read_rows(data.parent / "out") == []


@pytest.mark.parametrize(
    ("changed_options", "message"),
    [
        ({"methods": "concat"}, "methods.concat_pf was present, now absent"),
        ({"methods": "concat,concat_pf[k=1]"}, r"concat_pf\[k=1\] was absent"),
        ({"limit": 3}, "data.limit was null, now 3"),
    ],
)
async def test_another_configuration_needs_another_folder(
    data: Path, openai_server: OpenAIServer, changed_options: dict[str, Any], message: str
) -> None:
    openai_server.reply(reply_as_reader)
    await run(data)
    with pytest.raises(SetupError, match=message):
        await run(data, **changed_options)


async def test_methods_of_different_settings_have_names_of_their_own(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    report = await run(data, "post_fusion, post_fusion[k=1], post_fusion[ vote=staged ;k=2]")
    assert list(report.summary) == ["post_fusion", "post_fusion[k=1]", "post_fusion[vote=staged;k=2]"]
    assert [item["calls"] for item in report.summary.values()] == [2, 1, 2]
    assert [item["right_answer_among_votes"] for item in report.summary.values()] == [0.666667, 0, None]
    assert [item["oracle"] for item in report.summary.values()] == [0.666667, 0, None]


async def test_concurrency_bounds_the_questions_that_are_asked_at_once(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("unknown", hold=True))
    task = asyncio.create_task(run(data, "concat", concurrency=2))
    await asyncio.to_thread(openai_server.wait_for_requests, 2)
    openai_server.release_held_replies()
    await task
    assert openai_server.most_open_requests == 2


async def test_a_folder_is_for_one_evaluation_at_a_time(data: Path, openai_server: OpenAIServer) -> None:
    folder = data.parent / "out"
    folder.mkdir()
    with FileLock(folder / ".lock"), pytest.raises(SetupError, match="Another evaluation"):
        await run(data)


def test_a_folder_that_cannot_be_written_is_a_setup_error_and_a_file_elsewhere_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path / "file", tmp_path / "file" / "out", Path("file"), Path("file/out")):
        with pytest.raises(SetupError, match="Results cannot be written to"), lock_folder(folder):
            pass
    with pytest.raises(NotADirectoryError), lock_folder(tmp_path / "out"):
        (tmp_path / "file" / "elsewhere").read_text(encoding="utf-8")
    with pytest.raises(SetupError, match="Results cannot be written to out"), lock_folder(Path("out")):
        # The errors of filelock name absolute paths, even if the folder is given as a relative path.
        raise PermissionError(13, "Permission denied", str(tmp_path / "out" / ".lock"))
    with pytest.raises(SetupError, match="Results cannot be written to"), lock_folder(tmp_path / "out"):
        (tmp_path / "out" / ".lock" / "results.jsonl").read_text(encoding="utf-8")


async def test_a_cancelled_evaluation_leaves_no_half_written_row(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: Response(reply_as_reader(request), hold="number 3?" in request.text))
    task = asyncio.create_task(run(data, "concat", concurrency=1))
    await asyncio.to_thread(openai_server.wait_for_requests, 4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [row["id"] for row in read_rows(data.parent / "out")] == ["q0", "q1", "q2"]
    assert not (data.parent / "out" / "summary.json").exists()
    openai_server.release_held_replies()
    assert (await run(data, "concat")).new_answers == 3


def read_summary(folder: Path) -> dict[str, dict[str, Any]]:
    """The summary without the keys that depend on time: the seconds, and the number of answers that were not timed."""
    content = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return {
        name: {key: row[key] for key in row if not key.startswith("seconds") and key != "answers_not_timed"}
        for name, row in content.items()
    }


def make_command(data: Path, out: Path) -> list[str]:
    options = ["--model", "openai:test", "--out", str(out), "--set", "attempts=1", "--set", f"journal={out}.sqlite"]
    return ["eval", str(data), "--methods", "concat,post_fusion,concat_pf", "--concurrency", "2", *options]


@pytest.mark.long
def test_a_continued_evaluation_has_the_same_summary(data: Path, tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: Response(reply_as_reader(request), hold="number 4?" in request.text))
    stops, before = {"killed": signal.SIGKILL, "interrupted": signal.SIGINT}, {}
    with start_commands() as commands:
        for name, stop in stops.items():
            request_count = len(openai_server.requests)
            process = commands.start(make_command(data, tmp_path / name))
            openai_server.wait_for_requests(request_count + 10)
            os.kill(process, stop)
            assert commands.read_number() == (130 if stop == signal.SIGINT else -stop)
            assert not (tmp_path / name / "summary.json").exists()
            before[name] = Counter((row["id"], row["method"]) for row in read_rows(tmp_path / name))
            assert 0 < len(before[name]) < 18
        assert "Traceback" not in commands.read_errors(), commands.read_errors()
        openai_server.release_held_replies()
        for name in [*stops, "whole"]:
            commands.run(make_command(data, tmp_path / name))
    for name in stops:
        assert read_summary(tmp_path / name) == read_summary(tmp_path / "whole")
        comparisons = [(tmp_path / folder / "comparison.json").read_bytes() for folder in (name, "whole")]
        assert comparisons[0] == comparisons[1]
        after = Counter((row["id"], row["method"]) for row in read_rows(tmp_path / name))
        assert set(after.values()) == {1}
        assert before[name] <= after
