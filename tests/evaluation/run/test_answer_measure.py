"""How answers are compared with accepted answers: a user's own data by exact_match, experiments by SQuAD's measure. The
folder names the measure, and results of two measures are never compared.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from decision_results import write_results
from experiment_runs import run_experiment_over
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.evaluation.experiments.catalogue import find_experiment
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel

PASSAGES = [
    Passage(id="p", title="", text="The bridge is 35 m long."),
    Passage(id="q", title="", text="It is 3.5 m wide."),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One question, whose accepted answer differs from the model's only by the decimal point."""
    path = tmp_path / "bridge.jsonl"
    record = {"id": "1", "question": "How wide is the bridge?", "answers": ["3.5 m"], "passages": PASSAGES}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


async def run(data: Path, methods: str = "concat", folder: str = "out", **settings: Any) -> Path:
    """Evaluate the methods; returns the folder of the results."""
    context = Context(model="openai:test", attempts=1, **settings)
    scores = await evaluate(Options(data=data, out=data.parent / folder), parse_columns(methods, context))
    return scores.folder


def read_measures(folder: Path) -> tuple[str, str, float, float]:
    """The measure that config.json and the row name, the row's exact match, and its published exact match."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    row = json.loads((folder / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    return config["answer_measure"], row["answer_measure"], row["em"], row["squad_exact_match"]


async def test_own_data_are_measured_by_exact_match_and_experiments_by_squads(
    data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("35 m")
    assert read_measures(await run(data)) == ("exact_match", "exact_match", 0, 1)
    published_folder = await run(data, folder="squad", answer_measure="squad_exact_match")
    assert read_measures(published_folder) == ("squad_exact_match", "squad_exact_match", 1, 1)
    context = Context(model="openai:test", attempts=1)
    scores, _ = await run_experiment_over(
        find_experiment("verifier"), data, context, {"verifier": "openai:big"}, out=data.parent / "experiment"
    )
    assert read_measures(scores.folder) == ("squad_exact_match", "squad_exact_match", 1, 1)


async def test_a_folder_is_not_continued_by_another_measure(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply("35 m")
    folder = await run(data)
    with pytest.raises(SetupError, match='answer_measure was "exact_match", now "squad_exact_match"'):
        await run(data, answer_measure="squad_exact_match")
    # rows that come from a folder of the other measure
    rows = (folder / "results.jsonl").read_text(encoding="utf-8")
    (folder / "results.jsonl").write_text(rows.replace('"exact_match"', '"squad_exact_match"'), encoding="utf-8")
    for read in (run, lambda data: read_results(folder)):
        with pytest.raises(SetupError, match=r"measured by squad_exact_match where config\.json says exact_match"):
            await read(data)


async def test_methods_of_two_measures_are_not_compared(data: Path, openai_server: OpenAIServer) -> None:
    with pytest.raises(SetupError, match=r"concat exact_match, concat\[.*\] squad_exact_match\), and results of two"):
        await run(data, "concat,concat[answer_measure=squad_exact_match]")
    assert not openai_server.requests


def test_a_gate_refuses_results_of_two_measures(quorum: Quorum, tmp_path: Path) -> None:
    """A folder of an older version, which names no measure, is of the published one."""
    old = write_results(tmp_path / "old", {"concat": 0.6}, questions=300)
    published, own = (
        write_results(tmp_path / measure, {"concat": 0.6}, questions=300, answer_measure=measure)
        for measure in ("squad_exact_match", "exact_match")
    )
    set_measure_of_rows(own, "exact_match")
    assert quorum("gate", str(old), str(published), "--margin", "0.05").code in (0, 3)
    refused_run = quorum("gate", str(old), str(own), "--margin", "0.05")
    assert refused_run.code == 2
    message = " ".join(refused_run.err.split())
    assert f"The answers in {old} were measured by squad_exact_match, those in {own} by exact_match" in message


@pytest.mark.parametrize("arguments", [["compose", "--lose-at-most", "0.08"], ["calibrate", "--wrong-at-most", "0.3"]])
def test_compose_and_calibrate_refuse_a_folder_with_rows_of_another_measure(
    quorum: Quorum, tmp_path: Path, arguments: list[str]
) -> None:
    folder = write_results(tmp_path / "out", {"concat": 0.5, "sure": 0.62}, questions=400, answer_measure="exact_match")
    command, *options = arguments
    refused_run = quorum(command, str(folder), *options)  # the rows name no measure
    assert refused_run.code == 2
    assert "results of two measures are not compared" in " ".join(refused_run.err.split())
    set_measure_of_rows(folder, "exact_match")
    assert quorum(command, str(folder), *options).code == 0
    file = folder / ("composed.json" if command == "compose" else "calibration.json")
    assert '"answer_measure": "exact_match"' in file.read_text(encoding="utf-8")


def set_measure_of_rows(folder: Path, measure: str) -> None:
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = (json.dumps(row | {"answer_measure": measure}) + "\n" for row in rows)
    (folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize(("measure", "kept_passage"), [("exact_match", "q"), ("squad_exact_match", "p")])
async def test_the_silver_filter_finds_gold_answers_by_the_same_measure(measure: Any, kept_passage: str) -> None:
    context = Context(
        model=ScriptedModel().on("answer", "3.5 m"),
        filter_mode="silver",
        silver_measure="strinc",
        answer_measure=measure,
    )
    result = await answer("How wide is it?", "filco", context, given=PASSAGES, gold_answers=["3.5 m"])
    assert [passage["id"] for passage in result["passages"]] == [kept_passage]
