"""`quorum compose` makes a cascade from a folder of results, and says how much cost it would have saved there."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from decision_results import group_questions, write_results
from quorum_command import Quorum

from quorum.cascades.composed_file import read_composed_cascade
from quorum.core.errors import SetupError
from quorum.evaluation.decisions.answer_table import make_answer_table
from quorum.evaluation.decisions.choose import choose_recorded_method
from quorum.evaluation.decisions.compose import Guarantee, choose_cascade, compose
from quorum.evaluation.decisions.recorded_results import read_results

SHARE_RIGHT = {"concat": 0.5, "concat_pf": 0.55, "sure": 0.62}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write_results(
        tmp_path / "out",
        SHARE_RIGHT,
        questions=400,
        unknown_probability_if_not_right=0.9,
        shared_difficulty_probability=0.97,
    )


def test_a_cascade_is_certified_and_cheaper(results: Path) -> None:
    composition = compose(read_results(results), Guarantee(lose_at_most=0.08))
    assert composition.certificate is not None
    assert composition.certificate.p_value <= 0.1
    assert composition.best == "sure"
    assert composition.saved_share > 0.2
    assert composition.cascade[-1].accept is None
    assert composition.stage_shares[composition.cascade[0].method] == 1.0


def test_calls_that_methods_share_are_paid_once(results: Path) -> None:
    table = make_answer_table(read_results(results), "calls")
    concat, concat_pf, sure = (table.methods.index(name) for name in ("concat", "concat_pf", "sure"))
    assert table.cost.mean(axis=1).tolist() == [1.0, 3.0, 7.0]
    assert (table.shared_cost[concat, concat_pf] == 1).all()
    assert not table.shared_cost[concat, sure].any()
    tokens = make_answer_table(read_results(results), "tokens")
    assert np.allclose(tokens.cost, 102 * table.cost)  # write_results: each call has 100 input and 2 output tokens


@pytest.mark.parametrize("context_filter", ["embedded", "llm"])
def test_the_work_of_a_context_filter_is_counted(quorum: Quorum, tmp_path: Path, context_filter: str) -> None:
    """A filter that scores sentences calls no chat model, and the summary counts its tokens, too."""
    passages = [{"id": "a", "title": "Vell", "text": "The tower of Vell was built in 1931. It is tall."}]
    line = {"question": "When was the tower of Vell built?", "answers": ["1931"], "passages": passages}
    (tmp_path / "one.jsonl").write_text(json.dumps(line))
    arguments = ["given", str(tmp_path / "one.jsonl"), "--methods", "concat,filco", "--models", "embedded"]
    run = quorum("compare", *arguments, "--set", f"context_filter={context_filter}", "--out", str(tmp_path / "out"))
    assert run.code == 0, run.err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    for unit, keys in (("tokens", ("input_tokens", "output_tokens")), ("calls", ("calls",))):
        table = make_answer_table(read_results(tmp_path / "out"), unit)  # type: ignore[arg-type]
        for method, cost in zip(table.methods, table.cost[:, 0], strict=True):
            assert cost == sum(summary[method][key] for key in keys)


def test_the_command_writes_a_cascade_that_can_be_used_as_a_method(quorum: Quorum, results: Path) -> None:
    run = quorum("compose", str(results), "--lose-at-most", "0.08", "--cost", "calls")
    assert run.code == 0
    assert run.out.startswith("Ask ")
    assert "with confidence 0.9" in run.out
    composed_cascade = read_composed_cascade(str(results / "composed.json"))
    assert len(composed_cascade.stages) in (2, 3)
    assert composed_cascade.certificate is not None
    assert composed_cascade.certificate["lose_at_most"] == 0.08
    assert composed_cascade.stages[0].settings["k"] == 2
    assert composed_cascade.stages[0].prompts.keys() == {"answer"}
    diagram = quorum("methods", str(results / "composed.json"), "--diagram")
    assert diagram.code == 0
    assert f"begin --> {composed_cascade.stages[0].method};" in diagram.out
    second_run = quorum("compose", str(results), "--lose-at-most", "0.08", "--cost", "calls", "--json")
    assert json.loads(second_run.out) == json.loads((results / "composed.json").read_text())


def test_without_a_certificate_the_best_single_method_is_used(quorum: Quorum, tmp_path: Path) -> None:
    folder = write_results(
        tmp_path / "out",
        {"concat": 0.6, "sure": 0.65},
        questions=150,
        unknown_probability_if_not_right=0.0,
        shared_difficulty_probability=0.8,
    )
    run = quorum("compose", str(folder))
    assert run.code == 0
    assert "With 150 questions no cascade can be certified to lose 3 points at most" in run.out
    assert "Ask sure (" in run.out
    assert "recommended for now: 2 of 2 methods may be the best" in run.out
    composed_cascade = read_composed_cascade(str(folder / "composed.json"))
    assert [stage.method for stage in composed_cascade.stages] == ["sure"]
    assert composed_cascade.certificate is None


def test_a_group_of_questions_counts_as_one_question_when_the_needed_number_is_estimated(tmp_path: Path) -> None:
    results = write_results(tmp_path / "out", SHARE_RIGHT, questions=100, unknown_probability_if_not_right=0.9)
    table = make_answer_table(read_results(results), "tokens")
    # Each question three times: the copies are in the same group, because np.repeat copies the group numbers, too.
    repeated_arrays = {name: np.repeat(getattr(table, name), 3, axis=-1) for name in vars(table) if name != "methods"}
    grouped_table = replace(table, **repeated_arrays)
    guarantee = Guarantee(lose_at_most=0.05)
    choice = choose_recorded_method(read_results(results))
    assert choice is not None
    composition = choose_cascade(table, guarantee, choice)
    grouped_composition = choose_cascade(grouped_table, guarantee, choice)
    assert composition.questions_needed is not None
    assert composition.questions_needed > 300
    assert grouped_composition.questions_needed == 3 * composition.questions_needed


def test_too_few_groups_of_questions_are_refused(tmp_path: Path) -> None:
    results = group_questions(write_results(tmp_path / "out", SHARE_RIGHT, questions=120), 3)
    with pytest.raises(SetupError, match="40 groups of questions are too few to certify a loss of at most"):
        compose(read_results(results), Guarantee(lose_at_most=0.03))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lose-at-most", "0"], "--lose-at-most 0 does not fit"),
        (["--confidence", "0.999"], "--confidence 0.999 cannot be certified; give a probability below 0.999."),
        (["--cost", "time"], "--cost 'time' does not fit; choose one of: tokens, calls, dollars."),
        (["--cost", "dollars"], "openai:test has no price"),
        (["--lose-at-most", "0.003"], "400 questions are too few to certify a loss of at most 0.003: "),
        (["--out", "nowhere/x.json"], "there is no folder nowhere"),
        (["--out", "."], ". is a folder; give the name of a file in it."),
    ],
)
def test_impossible_compositions_are_refused_in_one_sentence(
    quorum: Quorum, results: Path, arguments: list[str], message: str
) -> None:
    run = quorum("compose", str(results), *arguments)
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert message in run.err


@pytest.mark.parametrize("passage_settings", [{"top": 1}, {"gold": "inserted"}], ids=["top", "gold"])
def test_a_method_whose_passages_an_experiment_chose_is_refused(
    quorum: Quorum, results: Path, passage_settings: dict[str, str | int]
) -> None:
    config = json.loads((results / "config.json").read_text())
    for settings in config["methods"].values():
        settings.update(passage_settings)
    (results / "config.json").write_text(json.dumps(config))
    run = quorum("compose", str(results), "--lose-at-most", "0.08")
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert run.err.startswith("quorum: An experiment chose which passages ")
    assert "so this method cannot be part of a cascade" in run.err


def test_a_method_that_names_a_collection_is_refused_as_a_stage(quorum: Quorum, results: Path) -> None:
    config = json.loads((results / "config.json").read_text(encoding="utf-8"))
    config["source"]["collections"] = {name: {"name": "other", "revision": "1"} for name in config["methods"]}
    (results / "config.json").write_text(json.dumps(config), encoding="utf-8")
    run = quorum("compose", str(results), "--lose-at-most", "0.08")
    assert run.code == 2
    assert "names the collection that it searches" in run.err


def test_a_method_that_was_not_asked_every_question_is_left_out(results: Path) -> None:
    file = results / "results.jsonl"
    lines = [line for line in file.read_text().splitlines() if '"q7", "method": "sure"' not in line]
    file.write_text("\n".join(lines) + "\n")
    assert read_results(results).complete_methods == ("concat", "concat_pf")
    assert compose(read_results(results), Guarantee(lose_at_most=0.08)).best == "concat_pf"


def test_a_composition_does_not_depend_on_the_order_in_which_answers_arrived(results: Path) -> None:
    guarantee = Guarantee(lose_at_most=0.08, wrong_cost=0.5)  # with a cost of wrong answers, bets decide, one by one
    certificates = compose(read_results(results), guarantee).certificates
    file = results / "results.jsonl"
    file.write_text("".join(sorted(file.read_text().splitlines(keepends=True), reverse=True)))
    assert compose(read_results(results), guarantee).certificates == certificates
