"""Methods against a baseline: which questions count, which tests are used, and the tables that show the differences."""

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from quorum.algorithms.best_set import compare_with_fixed, compute_simultaneous_interval, find_best_set, sum_by_unit
from quorum.algorithms.paired import compute_tango_interval
from quorum.cli.tables import TableColumn, format_cell, format_interval, make_analysis_table, make_score_tables
from quorum.core.errors import SetupError
from quorum.evaluation.run.baseline import (
    check_baseline,
    compare_with_baseline,
    compare_with_best,
    compare_within_groups,
)
from quorum.evaluation.run.column_scores import ColumnScores, Row
from quorum.evaluation.run.differences import Comparison, compute_difference_interval


def make_column_scores(em: dict[str, float | None], **other_measures: dict[str, float | None]) -> ColumnScores:
    """Scores of one method, from its EM by question id. F1 equals EM unless given.

    An EM of None means that the question failed.
    """
    column_scores = ColumnScores()
    measures = {"f1": em, **other_measures}
    for id_, value in em.items():
        row: Any = Row(id=id_, method="x", em=value, malformed=0, seconds=1.0)
        row |= {"error": "no reply" if value is None else None, "unknown": False, "calls": 1, "input_tokens": 1200}
        row |= {"output_tokens": 12, "context_tokens": 640} | {name: values[id_] for name, values in measures.items()}
        column_scores.add(row)
    return column_scores


def draw_em_values(share: float, seed: int, count: int = 200) -> dict[str, float | None]:
    """Random EM by question id, of a method that is right on about this share of the questions."""
    rng = np.random.default_rng(seed)
    return {f"q{number}": float(rng.random() < share) for number in range(count)}


def test_only_questions_that_all_answered_are_compared() -> None:
    methods = {
        "a": make_column_scores({"1": 1, "2": 0, "3": 1, "4": None}),
        "b": make_column_scores({"4": 1, "3": 0, "2": 0, "1": None}),
        "c": make_column_scores({"1": 0, "2": 1, "3": 1, "4": 1}),
    }
    comparison = compare_with_baseline(methods, ["a", "b", "c"], "a")
    assert (comparison["baseline"], comparison["n"], comparison["left_out"]) == ("a", 2, 2)
    assert comparison["methods"]["b"]["em"]["difference"] == -0.5
    assert comparison["methods"]["c"]["em"]["difference"] == 0.5
    assert compare_with_baseline(methods, ["a", "c"], "c")["n"] == 3


def add_groups(column_scores: ColumnScores, size: int) -> ColumnScores:
    """Put `size` questions that follow one another into each document."""
    column_scores.group_of_id = {id_: f"document {int(id_[1:]) // size}" for id_ in column_scores.ids}
    return column_scores


def collect_em(methods: dict[str, ColumnScores]) -> np.ndarray:
    ids = sorted(next(iter(methods.values())).ids)
    return np.column_stack([scores.get_values("em", ids) for scores in methods.values()])


def test_a_baseline_is_compared_by_the_step_down_test_with_simultaneous_intervals() -> None:
    methods = {
        "a": make_column_scores(draw_em_values(0.3, 1)),
        "b": make_column_scores(draw_em_values(0.5, 2)),
        "c": make_column_scores(draw_em_values(0.33, 3)),
    }
    comparison = compare_with_baseline(methods, ["a", "b", "c"], "a")
    table = collect_em(methods)
    em, f1 = comparison["methods"]["b"]["em"], comparison["methods"]["b"]["f1"]
    assert em["test"] == f1["test"] == "step-down"
    for difference, graded in ((em, False), (f1, True)):
        test = compare_with_fixed(table, 0, graded=graded)
        assert difference["p_holm"] == pytest.approx(test.p_values[1], abs=1e-6)
        assert difference["p"] == pytest.approx(test.own_p_values[1], abs=1e-6)
        assert difference["p"] <= difference["p_holm"] < 0.05
        assert difference["questions_needed"] is None  # these questions are enough
    exact, graded_test = compare_with_fixed(table, 0, graded=False), compare_with_fixed(table, 0, graded=True)
    differences = table[:, 1] - table[:, 0]
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    assert exact.critical_value > 1.96
    assert (em["low"], em["high"]) == pytest.approx(
        compute_tango_interval(wins, losses, 200, z=exact.critical_value), abs=1e-6
    )
    assert (f1["low"], f1["high"]) == pytest.approx(
        compute_simultaneous_interval(differences, np.ones(200), graded_test.critical_value), abs=1e-6
    )
    needed = comparison["methods"]["c"]["em"]["questions_needed"]
    assert needed is not None
    assert needed > 200


def test_questions_of_one_document_count_once() -> None:
    methods = {
        "a": add_groups(make_column_scores(draw_em_values(0.35, 1)), 20),
        "b": add_groups(make_column_scores(draw_em_values(0.5, 2)), 20),
    }
    table, documents = collect_em(methods), np.array([id_[1:] for id_ in sorted(methods["a"].ids)]).astype(int) // 20
    grouped = compare_with_baseline(methods, ["a", "b"], "a")["methods"]["b"]["em"]
    expected = compare_with_fixed(table, 0, documents, graded=False)
    assert grouped["p_holm"] == pytest.approx(expected.p_values[1], abs=1e-6)
    differences = table[:, 1] - table[:, 0]
    assert (grouped["low"], grouped["high"]) == pytest.approx(
        compute_simultaneous_interval(sum_by_unit(differences, documents), [20] * 10, expected.critical_value), abs=1e-6
    )
    for scores in methods.values():
        scores.group_of_id = {}
    alone = compare_with_baseline(methods, ["a", "b"], "a")["methods"]["b"]["em"]
    assert alone["difference"] == grouped["difference"]
    assert alone["p_holm"] != grouped["p_holm"]


def test_against_the_highest_mean_the_p_value_is_that_of_being_one_of_the_best() -> None:
    shares = {"best": 0.6, "near": 0.55, "far": 0.25}
    methods = {name: make_column_scores(draw_em_values(share, 7)) for name, share in shares.items()}
    ids = sorted(methods["best"].ids)
    comparison = compare_with_best(methods, list(methods), "best", ids)
    best_set = find_best_set(collect_em(methods), graded=False)
    far = comparison["methods"]["far"]["em"]
    assert (far["test"], far["p"], far["questions_needed"]) == ("best set", far["p_holm"], None)
    assert far["p_holm"] == pytest.approx(best_set.p_values[2], abs=1e-6)
    assert comparison["methods"]["near"]["em"]["p_holm"] == pytest.approx(best_set.p_values[1], abs=1e-6)
    differences = collect_em(methods)[:, 2] - collect_em(methods)[:, 0]
    assert (far["low"], far["high"]) == pytest.approx(
        compute_tango_interval(0, int((differences < 0).sum()), 200, z=max(1.96, best_set.pair_critical_value)),
        abs=1e-6,
    )


def test_the_interval_of_a_difference_never_lacks_a_width() -> None:
    for binary in (True, False):
        low, high = compute_difference_interval(np.zeros(50), None, 0.0, binary=binary)
        assert low < -0.05 < 0.05 < high
    low, high = compute_difference_interval(np.array([2.0, -1.0, 0.5] * 20), None, 2.5, binary=False, scale=3.0)
    assert -3 <= low < 0.5 < high <= 3


def test_a_measure_is_compared_where_it_is_defined() -> None:
    no_values: dict[str, float | None] = {"1": None, "2": None}
    a = make_column_scores({"1": 1, "2": 0}, rouge_l={"1": 0.5, "2": None}, str_em=no_values)
    b = make_column_scores({"1": 1, "2": 1}, rouge_l={"1": 0.75, "2": 0.1}, str_em={"1": 1, "2": 1})
    comparison = compare_with_baseline({"a": a, "b": b}, ["a", "b"], "a")["methods"]["b"]
    assert comparison["rouge_l"]["difference"] == 0.25
    assert set(comparison) == {"em", "f1", "rouge_l"}


def test_without_common_questions_there_is_no_difference() -> None:
    comparison = compare_with_baseline(
        {"a": make_column_scores({"1": 1}), "b": make_column_scores({"1": None})}, ["a", "b"], "a"
    )
    assert comparison == Comparison(baseline="a", n=0, left_out=1, methods={"b": {}})


def test_the_methods_of_a_group_are_compared_with_the_baseline_or_else_with_the_first_one() -> None:
    methods = {name: make_column_scores(draw_em_values(0.4, seed, 10)) for seed, name in enumerate("abcd")}
    comparison = compare_within_groups(methods, [["a", "b"], ["c", "d"]], "b")
    assert [(item["baseline"], list(item["methods"])) for item in comparison] == [("b", ["a"]), ("c", ["d"])]
    assert compare_within_groups(methods, [["a"], ["b"]]) == []
    with pytest.raises(SetupError, match="is not one of the methods; name one of: a, b"):
        check_baseline([["a", "b"]], "z")


def render_tables(tables: Any, width: int = 100) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False)
    for table in tables:
        console.print(table)
    return file.getvalue()


def test_the_tables_fit_into_100_columns() -> None:
    names = ["concat", "post_fusion[vote=staged;k=10]", "self_verification"]
    methods = {name: make_column_scores(draw_em_values(0.3 + seed / 10, seed, 300)) for seed, name in enumerate(names)}
    summary = {name: method.summarize() for name, method in methods.items()}
    text = render_tables(make_score_tables(summary, compare_within_groups(methods, [names]), ("em", "f1")))
    lines = text.splitlines()
    assert len(lines) == 4 + 5 + 4  # the scores, the differences (under a title of two lines), the costs
    assert max(len(line.rstrip()) for line in lines) <= 100
    assert lines[4].startswith("Difference from concat on 300 questions that all answered; the intervals hold together")
    assert "[" in lines[1]  # an interval
    assert "1,200.0" in lines[-1]


@pytest.mark.parametrize(
    ("values", "sign", "text"),
    [
        ((0.15, 0.112, 0.191), "", "15.0 [11.2, 19.1]"),
        ((-0.05, -0.1, 0.0), "+", "-5.0 [-10.0, 0.0]"),
        ((0.00004, -0.00004, 0.1), "+", "0.0 [0.0, +10.0]"),
    ],
)
def test_an_interval_is_written_in_percent(values: tuple[float, float, float], sign: str, text: str) -> None:
    assert format_interval(*values, sign) == text


def test_a_missing_measure_is_shown_as_a_dash() -> None:
    assert format_cell({"em": None}, TableColumn("EM", "em", has_interval=True)) == "-"
    assert format_cell({"em": 0.5}, TableColumn("EM", "em", has_interval=True)) == "50.0"
    assert format_cell({"calls": 1234.56}, TableColumn("calls", "calls", 1)) == "1,234.6"


def test_an_analysis_table_shows_shares_counts_and_intervals() -> None:
    rows = [{"method": "a", "n": 1200, "EM": 0.5, "F1": (0.5, 0.25, 0.75)}, {"method": "b", "n": 3, "EM": None}]
    lines = render_tables([make_analysis_table("What it is", rows)]).splitlines()
    assert [line.split() for line in lines] == [
        ["What", "it", "is"],
        ["method", "n", "EM", "F1"],
        ["a", "1,200", "50.0", "50.0", "[25.0,", "75.0]"],
        ["b", "3", "-", "-"],
    ]
