"""`quorum label RESULTS`: differing answers, at random, methods hidden; `quorum gate --labels` decides."""

import json
from pathlib import Path

import numpy as np
import pytest
from decision_results import group_questions, write_results
from quorum_command import Quorum

from quorum.algorithms.labelled_difference import estimate_difference
from quorum.evaluation.decisions.answer_labels import LABELS, read_pair
from quorum.evaluation.decisions.gate import decide_gate
from quorum.evaluation.decisions.labelled_gate import decide_labelled_gate


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write_results(
        tmp_path / "run", {"concat": 0.6, "sure": 0.75}, questions=400, shared_difficulty_probability=0.5
    )


def label(folder: Path, count: int | None = None) -> None:
    """Label as the accepted answers say."""
    pair = read_pair([str(folder)])
    for task in pair.list_tasks()[:count]:
        pair.save(task.id, task.sort_by_method([text.startswith("right") for text in task.answers]), "Ada")


def test_people_see_differing_answers_only_in_random_order_and_go_on_later(
    results: Path, quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = read_pair([str(results)])
    tasks = pair.list_tasks()
    assert {task.id for task in tasks} == set(pair.differing) != set(pair.baseline.ids)
    first = tasks[0]
    assert {tuple(task.order) for task in tasks} == {(0, 1), (1, 0)}
    keys = iter(["y", "n", "s", "x", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(keys))
    run = quorum("label", f"{results}:concat", f"{results}:sure", "--who", "Ada")
    assert f"[1 of {len(tasks)}] {first.question}\n  1: {first.answers[0]}\n  2: {first.answers[1]}\n" in run.out
    assert "2 questions labelled or skipped" in run.out
    shown = run.out.split("2 questions labelled")[0].replace("wrong", "").replace("right", "")
    assert "sure" not in shown.replace(" sure\n", "\n")  # but in the invented wrong answers
    lines = [json.loads(line) for line in (results / LABELS).read_text().splitlines()]
    assert [line["right"] for line in lines] == [*first.sort_by_method([True, False]), None, None]
    assert read_pair([str(results)]).list_tasks() == tasks[2:]


def test_with_all_labels_the_gate_decides_as_by_accepted_answers(results: Path, quorum: Quorum) -> None:
    label(results)
    pair = read_pair([str(results)])
    by_measure = decide_gate(pair.baseline, pair.new, 0.03, methods=pair.methods)
    by_labels = decide_labelled_gate(pair, 0.03)
    names = ("verdict", "loss", "low", "high", "p_pass", "p_fail", "n")
    assert [getattr(by_labels, name) for name in names] == [getattr(by_measure, name) for name in names]
    run = quorum("gate", f"{results}:concat", f"{results}:sure", "--margin", "0.03", "--labels")
    assert run.code == 0
    assert f"By people's labels: {len(pair.differing)} of {len(pair.differing)} questions whose" in run.out


def test_a_random_part_of_the_labels_decides_approximately(results: Path, quorum: Quorum) -> None:
    arguments = ("gate", f"{results}:concat", f"{results}:sure", "--margin", "0.03", "--labels")
    label(results, 20)
    run = quorum(*arguments)
    assert (run.code, run.err) == (3, "")
    assert "it takes 50 labelled ones at least" in run.out
    label(results, 60)
    run = quorum(*arguments)
    assert run.code == 0
    assert "By people's labels: 80 of" in run.out
    assert "approximately: a wrong verdict has a probability of about 5%, if you decided beforehand how many" in run.out
    pair = read_pair([str(results)])
    truth = decide_gate(pair.baseline, pair.new, 0.03, methods=pair.methods)
    gate = json.loads(quorum(*arguments, "--json").out)
    assert gate["low"] < truth.loss < gate["high"]
    assert gate["labels"]["labelled"] == 80
    group_questions(results, 4)
    assert "questions of one document are not independent" in quorum(*arguments).out


@pytest.mark.parametrize("count", [20, 80, None])
def test_skipped_answers_make_the_interval_wider_and_are_counted(
    results: Path, quorum: Quorum, count: int | None
) -> None:
    label(results, count)
    pair = read_pair([str(results)])
    before = decide_labelled_gate(pair, 0.03)
    skipped = pair.drawn[:10]
    for id_ in skipped:
        pair.save(id_, None, "Ada")
    after = decide_labelled_gate(pair, 0.03)
    assert after.low < before.low < before.high < after.high
    assert after.labels is not None
    assert after.labels.skipped == 10
    run = quorum("gate", f"{results}:concat", f"{results}:sure", "--margin", "0.03", "--labels")
    assert f"{len(pair.differing)} questions whose answers differ, of which 10 skipped" in run.out


def test_a_judges_verdicts_make_labels_count_more(results: Path) -> None:
    label(results, 80)
    alone = decide_labelled_gate(read_pair([str(results)]), 0.03)
    rows = [json.loads(line) for line in (results / "results.jsonl").read_text().splitlines()]
    judged = [{"id": row["id"], "method": row["method"], "judged": row["em"]} for row in rows]
    (results / "judged.jsonl").write_text("".join(json.dumps(line) + "\n" for line in judged))
    helped = decide_labelled_gate(read_pair([str(results)]), 0.03)
    assert helped.labels is not None
    assert helped.labels.judged_worth is not None
    assert helped.labels.judged_worth > 1.5 * 80
    assert helped.high - helped.low < 0.9 * (alone.high - alone.low)


def test_the_interval_of_a_random_part_holds_the_truth() -> None:
    random, held = np.random.default_rng(0), 0
    for _ in range(300):
        differ = random.random(1000) < 0.25
        chance = random.random(int(differ.sum()))
        losses = (chance < 0.45).astype(float) - ((chance >= 0.45) & (chance < 0.7))
        low, high = estimate_difference(losses[:100], differ.mean(), 1000).compute_interval()
        held += low <= 0.05 <= high
    assert held / 300 == pytest.approx(0.95, abs=2.5 * (0.95 * 0.05 / 300) ** 0.5)


def test_results_that_cannot_be_labelled_are_refused(results: Path, tmp_path: Path, quorum: Quorum) -> None:
    three = write_results(tmp_path / "three", {"concat": 0.6, "sure": 0.7, "post_fusion": 0.7}, questions=20)
    rows = (results / "results.jsonl").read_text().splitlines()
    (results / "results.jsonl").write_text(
        "".join(json.dumps({**json.loads(line), "answer": None, "error": "no"}) + "\n" for line in rows)
    )
    for arguments, text in (
        ([str(three)], "holds 3 methods (concat, sure, post_fusion); name the two"),
        ([str(results)], "concat gave no answer to 400 questions"),
        ([str(tmp_path), str(results)], "holds no results"),
        ([str(results), "b", "c"], "quorum label takes a promise, or the results of two methods"),
        (["a", "b", "c"], "quorum label takes a promise, or the results of two methods"),
    ):
        run = quorum("label", *arguments)
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert text in run.err
