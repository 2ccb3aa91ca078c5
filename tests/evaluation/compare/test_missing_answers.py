"""Questions without an accepted answer: how many there are is said before the first call, in the report, and by the
commands that read a folder of results.
"""

import json
import logging
from pathlib import Path

import pytest
from comparison_fixtures import corpus, data, make_context, reply_as_weak_model, run_comparison
from decision_results import write_results
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

__all__ = ["corpus", "data"]  # fixtures, used by name

NOTE = '2 of 6 questions have no accepted answer: only "unknown" counts as right.'


def remove_answers(data: Path, count: int, file_name: str) -> Path:
    """Write the questions to a file of this name, the first `count` of them without accepted answers."""
    records = [json.loads(line) for line in data.read_text().splitlines()]
    for record in records[:count]:
        record["answers"] = []
    if file_name.endswith(".csv"):
        content = "question,answers\n" + "".join(f"{r['question']},{'|'.join(r['answers']) or '[]'}\n" for r in records)
    elif file_name.endswith(".json"):
        content = json.dumps(records)
    else:
        content = "".join(json.dumps(record) + "\n" for record in records)
    path = data.with_name(file_name)
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("file_name", "race"), [("erased.csv", None), ("erased.json", "exact"), ("erased.jsonl", None)]
)
async def test_a_comparison_says_it_before_the_first_call_and_in_the_report(
    corpus: str,
    data: Path,
    openai_server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
    file_name: str,
    race: str | None,
) -> None:
    requests_at_messages: list[int] = []
    handler = logging.Handler()
    handler.emit = lambda record: requests_at_messages.append(len(openai_server.requests))  # type: ignore[method-assign]
    logging.getLogger("quorum").addHandler(handler)
    openai_server.reply(reply_as_weak_model)
    erased_data = remove_answers(data, 2, file_name)
    try:
        plan, decision = await run_comparison(corpus, erased_data, methods="concat,post_fusion", race=race)
    finally:
        logging.getLogger("quorum").removeHandler(handler)
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [f"{erased_data}: {NOTE}"]
    assert requests_at_messages == [0]
    assert plan.dataset.missing_answers_note == NOTE
    assert NOTE in (decision.scores.folder / "report.md").read_text(encoding="utf-8")
    assert NOTE.replace('"', "&quot;") in (decision.scores.folder / "report.html").read_text(encoding="utf-8")


async def test_an_evaluation_says_it_and_is_silent_if_every_question_has_an_answer(
    corpus: str, data: Path, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply(reply_as_weak_model)
    for count, note in ((0, ""), (1, NOTE.replace("2", "1").replace("have", "has"))):
        caplog.clear()
        erased_data = remove_answers(data, count, f"without_{count}.jsonl")
        await evaluate(Options(data=erased_data, corpus=corpus, context=make_context(), methods="concat"))
        assert [record.getMessage() for record in caplog.records] == ([f"{erased_data}: {note}"] if note else [])


def test_commands_that_read_results_say_it(quorum: Quorum, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "out", {"concat": 0.5, "sure": 0.62}, questions=400)
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    for row in rows:
        row["gold"] = [] if row["id"] in ("q3", "q7") else row["gold"]
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    note = f"quorum: {folder}: {NOTE.replace('of 6', 'of 400')}"
    for arguments in (
        ["gate", f"{folder}:concat", f"{folder}:sure", "--margin", "0.05"],
        ["compose", str(folder), "--lose-at-most", "0.08"],
        ["calibrate", str(folder), "--wrong-at-most", "0.3"],
    ):
        assert note in quorum(*arguments).err.splitlines()
