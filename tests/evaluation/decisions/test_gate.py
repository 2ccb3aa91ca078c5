"""The gate: three verdicts with three exit codes, and what it refuses to compare."""

import json
from pathlib import Path

import pytest
from decision_results import group_questions, write_results
from quorum_command import Quorum


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    return write_results(tmp_path / "old", {"concat": 0.6}, seed=1, questions=300)


@pytest.mark.parametrize(
    ("accuracy", "code", "verdict"), [(0.75, 0, "Pass"), (0.3, 1, "Fail"), (0.57, 3, "Cannot tell")]
)
def test_a_gate_passes_fails_or_is_undecided(
    quorum: Quorum, baseline: Path, tmp_path: Path, accuracy: float, code: int, verdict: str
) -> None:
    new = write_results(tmp_path / "new", {"sure": accuracy}, seed=1, questions=300, shared_difficulty_probability=0.9)
    run = quorum("gate", str(baseline), str(new), "--margin", "0.03")
    assert (run.code, run.err) == (code, "")
    assert run.out.startswith(verdict)
    assert "over 300 questions" in run.out
    run = quorum("gate", str(baseline), str(new), "--margin", "0.03", "--json")
    content = json.loads(run.out)
    assert (run.code, content["new"], content["baseline"], content["n"]) == (code, "sure", "concat", 300)
    assert (content["questions_needed"] is not None) == (code == 3)
    assert content["low"] <= content["loss"] <= content["high"]


def test_questions_of_one_document_are_counted_as_a_group(quorum: Quorum, tmp_path: Path) -> None:
    old = group_questions(write_results(tmp_path / "old", {"concat": 0.6}, seed=1, questions=450), 3)
    new = write_results(tmp_path / "new", {"sure": 0.57}, seed=1, questions=450, shared_difficulty_probability=0.9)
    run = quorum("gate", str(old), str(group_questions(new, 3)), "--margin", "0.03")
    assert (run.code, run.err) == (3, "")
    assert "over 150 groups of questions); about " in run.out
    assert run.out.endswith(" groups of questions would be enough.\n")
    few = group_questions(write_results(tmp_path / "few", {"concat": 0.6}, questions=120), 3)
    run = quorum("gate", str(few), str(few), "--margin", "0.03")
    assert run.code == 2
    assert "40 groups of questions are too few for a margin of 0.03: at least 100 are needed" in run.err


def test_one_of_several_methods_is_chosen_by_its_name_after_the_folder(
    quorum: Quorum, baseline: Path, tmp_path: Path
) -> None:
    new = write_results(tmp_path / "new", {"concat": 0.6, "sure": 0.8}, questions=300)
    refused_run = quorum("gate", str(baseline), str(new), "--margin", "0.05")
    assert refused_run.code == 2
    assert f"name one as {new}:METHOD." in refused_run.err
    assert quorum("gate", str(baseline), f"{new}:sure", "--margin", "0.05").code == 0


def test_a_wrong_answer_may_cost_more_than_an_unknown_one(quorum: Quorum, baseline: Path, tmp_path: Path) -> None:
    new = write_results(
        tmp_path / "new",
        {"sure": 0.6},
        seed=1,
        questions=300,
        unknown_probability_if_not_right=0.0,
        shared_difficulty_probability=1.0,
    )
    assert quorum("gate", str(baseline), str(new), "--margin", "0.15").code == 0
    assert quorum("gate", str(baseline), str(new), "--margin", "0.15", "--wrong-cost", "2").code == 1


def test_different_data_and_too_few_questions_are_refused(quorum: Quorum, baseline: Path, tmp_path: Path) -> None:
    run_over_corpus = write_results(tmp_path / "other", {"concat": 0.6}, questions=300, source={"passages": "corpus"})
    small_run = write_results(tmp_path / "few", {"concat": 0.6}, questions=40)
    for arguments, message in (
        ([str(baseline), str(run_over_corpus), "--margin", "0.03"], "are results of different data"),
        (
            [str(small_run), str(small_run), "--margin", "0.03"],
            "40 questions are too few for a margin of 0.03: at least 100 are needed",
        ),
        ([str(baseline), str(baseline), "--margin", "0"], "--margin 0 does not fit"),
        ([str(baseline), str(tmp_path), "--margin", "0.03"], "holds no results"),
        ([str(baseline), str(baseline), "--margin", "0.03", "--wrong-cost", "-1"], "--wrong-cost -1 does not fit"),
    ):
        run = quorum("gate", *arguments)
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
        assert message in run.err


def test_with_failed_answers_a_pass_needs_more_evidence(quorum: Quorum, baseline: Path, tmp_path: Path) -> None:
    new = write_results(tmp_path / "new", {"sure": 0.75}, seed=1, questions=300, shared_difficulty_probability=0.9)
    file = new / "results.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows[:90]:
        # Without failed answers, the same results pass (see the first test).
        row.update(em=None, f1=None, unknown=None, answer=None, error="The model failed.")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert quorum("gate", str(baseline), str(new), "--margin", "0.03").code == 3
