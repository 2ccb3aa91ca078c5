"""Which task a question belongs to, what the task changes, and measures of the user's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.dataset import read_data
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.tasks import (
    find_common_task,
    guess_task,
    list_deciding_measures,
    list_short_answers_of_parts,
)
from quorum.evaluation.run.user_measures import read_measures

CONTEXT = Context(model="openai:test", attempts=1)
PASSAGE = {"id": "a", "title": "Tower", "text": "The tower stands in Paris."}


def write_questions(path: Path, *questions: dict[str, Any]) -> Path:
    lines = [
        {"id": str(number), "question": f"Question {number}?", "passages": [PASSAGE], **question}
        for number, question in enumerate(questions)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("answers", "task"),
    [
        (["yes"], "yes_no"),
        (["No", "no."], "yes_no"),
        (["SUPPORTS"], "label"),
        (["NOT ENOUGH INFO"], "label"),
        (["Paris"], "short"),
        (["yes", "Paris"], "short"),
    ],
)
def test_the_task_is_guessed_from_the_answers(answers: list[str], task: str) -> None:
    assert guess_task(answers) == task


def test_the_task_of_a_data_set_fits_all_its_answers() -> None:
    assert find_common_task(["yes_no", "yes_no"]) == "yes_no"
    assert find_common_task(["yes_no", "short"]) == "short"
    assert find_common_task([]) == "short"


@pytest.mark.parametrize(
    ("tasks", "measures"),
    [
        (["yes_no", "label"], ("accuracy",)),
        (["dialogue"], ("f1",)),
        (["long"], ("rouge_l", "str_em")),
        (["short"], ("em", "f1")),
        (["yes_no", "short"], ("em", "f1")),
        (["long", "dialogue"], ("em", "f1")),
    ],
)
def test_each_task_has_its_measures(tasks: list[str], measures: tuple[str, ...]) -> None:
    assert list_deciding_measures(tasks) == measures


def test_questions_without_an_answer_say_nothing_of_the_task(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "d.jsonl", {"answers": ["yes"]}, {"answers": []}, {"answers": ["no"]})
    assert read_data(data).task == "yes_no"


def test_the_answer_type_in_the_data_overrides_the_guess(tmp_path: Path) -> None:
    typed_record = {
        "answers": ["A long answer."],
        "meta": {"answer_type": "long", "short_answers": [["a", "b"], "no list", []]},
    }
    dataset = read_data(write_questions(tmp_path / "d.jsonl", {"answers": ["yes"]}, typed_record))
    assert [dataset.get_task(record) for record in dataset.read_records()] == ["yes_no", "long"]
    assert [list_short_answers_of_parts(record) for record in dataset.read_records()] == [[], [["a", "b"]]]


def test_an_unknown_task_is_refused(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "d.jsonl", {"answers": ["yes"], "meta": {"answer_type": "poem"}})
    with pytest.raises(SetupError, match="'poem'; write one of short, yes_no, label, dialogue, long"):
        read_data(data)


async def run(data: Path, methods: str = "concat", **options: Any) -> tuple[Scores, list[dict[str, Any]]]:
    scores = await evaluate(Options(data=data, out=data.parent / "out", **options), parse_columns(methods, CONTEXT))
    lines = (scores.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return scores, [json.loads(line) for line in lines]


async def test_the_task_chooses_the_prompt_and_the_measure(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: "Yes" if "yes/no" in request.text else "Paris")
    data = write_questions(tmp_path / "d.jsonl", {"answers": ["yes"]}, {"answers": ["no"]})
    scores, rows = await run(data)
    assert [(row["task"], row["accuracy"]) for row in sorted(rows, key=lambda row: row["id"])] == [
        ("yes_no", 1),
        ("yes_no", 0),
    ]
    assert scores.measures == ("accuracy",)
    assert scores.summary["concat"]["accuracy"] == 0.5
    assert scores.summary["concat"]["accuracy_low"] == pytest.approx(
        0.0126, abs=1e-4
    )  # of one right in two (Clopper-Pearson)
    assert "task" not in json.loads((scores.folder / "config.json").read_text())


@pytest.mark.parametrize(("methods", "options"), [("concat[answer_type=short]", {}), ("concat", {"task": "short"})])
async def test_the_task_option_overrides_the_data(
    tmp_path: Path, openai_server: OpenAIServer, methods: str, options: dict[str, str]
) -> None:
    openai_server.reply("yes")
    scores, rows = await run(write_questions(tmp_path / "d.jsonl", {"answers": ["yes"]}), methods, **options)
    assert [(row["task"], row["accuracy"], row["em"]) for row in rows] == [("short", None, 1)]
    assert scores.measures == ("em", "f1")
    assert json.loads((scores.folder / "config.json").read_text()).get("task") == options.get("task")


async def test_rows_of_an_earlier_version_still_count_by_the_measure_of_that_version(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("Paris")
    data = write_questions(tmp_path / "d.jsonl", {"answers": ["Paris"]}, {"answers": ["Rome"]})
    methods = "concat[answer_measure=squad_exact_match]"
    scores, rows = await run(data, methods)
    old_keys = (
        "id",
        "method",
        "question",
        "answer",
        "gold",
        "em",
        "f1",
        "unknown",
        "calls",
        "malformed",
        "seconds",
        "error",
    )
    lines = "".join(json.dumps({key: row[key] for key in old_keys}) + "\n" for row in rows)
    (scores.folder / "results.jsonl").write_text(lines, encoding="utf-8")
    config_file = scores.folder / "config.json"
    config = json.loads(config_file.read_text(encoding="utf-8"))
    assert config.pop("answer_measure") == "squad_exact_match"
    config_file.write_text(json.dumps(config), encoding="utf-8")
    second_scores, _ = await run(data, methods)
    assert second_scores.new_answers == 0
    assert second_scores.summary[methods]["em"] == 0.5
    assert second_scores.summary[methods]["context_tokens"] is None
    config_file.write_text(json.dumps(config | {"answer_measure": "exact_match"}), encoding="utf-8")
    with pytest.raises(SetupError, match='answer_measure was "exact_match", now "squad_exact_match"'):
        await run(data, methods)


MEASURE_MODULE = """
def words(answers, golds):
    return sum(len(answer.split()) for answer in answers) / len(golds)
"""


async def test_a_users_own_measure_is_computed_and_written(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_measure.py").write_text(MEASURE_MODULE, encoding="utf-8")
    openai_server.reply("in Paris")
    data = write_questions(tmp_path / "d.jsonl", {"answers": ["Paris"]}, {"answers": ["Rome"]}, {"answers": []})
    scores, _ = await run(data, measures=read_measures(["words=own_measure:words"]))
    assert scores.summary["concat"]["words"] == 2
    assert json.loads((scores.folder / "summary.json").read_text())["concat"]["words"] == 2


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("words", "NAME=MODULE:FUNCTION"),
        ("words=own", "NAME=MODULE:FUNCTION"),
        ("em=json:dumps", "a measure 'em' already"),
        ("words=no_such_module:words", "cannot be imported"),
        ("words=json:no_such_function", "cannot be imported"),
        ("words=json:__name__", "is not a function"),
    ],
)
def test_a_measure_that_cannot_be_used_is_refused(item: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read_measures([item])
