"""The analyses of experiments: the best of several runs of a method, results split by whether the top passage supports
the answer, the spread over draws of demonstrations, and a judge's preference between two methods' summaries.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.evaluation.experiments.analyses import (
    find_shared_name,
    make_best_of_runs_table,
    make_spread_table,
    make_support_split_table,
)
from quorum.evaluation.experiments.preference import compare_summaries, decide_outcome, read_pairs
from quorum.evaluation.run.column_scores import ColumnScores, Row

CONTEXT = Context(model="openai:test", attempts=1)


def make_scores(**measures: list[float | None]) -> ColumnScores:
    """The scores of one run over questions q0, q1, ...; a question whose EM is None failed."""
    column_scores = ColumnScores()
    for number, em in enumerate(measures["em"]):
        row: Any = Row(id=f"q{number}", error="no reply" if em is None else None, malformed=0)
        column_scores.add(row | {name: values[number] for name, values in measures.items()})
    return column_scores


def test_the_best_attempt_at_each_question_counts() -> None:
    runs = {
        "cot[top_p=0]": make_scores(em=[1, 0, 0, 0], f1=[1, 0.5, 0, 0]),
        "cot[top_p=0.5]": make_scores(em=[0, 0, 0, None], f1=[0.2, 0.25, 0, None]),
        "cot[top_p=1]": make_scores(em=[0, 1, 0, 1], f1=[0, 1, 0.4, 1]),
    }
    table = make_best_of_runs_table(runs, [list(runs)], ("em", "f1"))[0]
    row = table["rows"][0]
    assert (row["method"], row["n"]) == ("cot", 3)  # q3 is left out, because one run failed on it
    assert row["EM"].mean == pytest.approx(2 / 3)
    assert row["F1"].mean == pytest.approx((1 + 1 + 0.4) / 3)
    assert row["EM"].low <= row["EM"].mean <= row["EM"].high


def test_analyses_treat_a_judges_verdicts_like_any_other_measure() -> None:
    first_run, second_run = make_scores(em=[0, 0], answer_on_top=[1, 0]), make_scores(em=[0, 0])
    first_run.add_verdicts({"q0": 1, "q1": 0}, {})
    second_run.add_verdicts({"q0": 0, "q1": 1}, {})
    runs = {"cot[seed=1]": first_run, "cot[seed=2]": second_run}
    assert make_best_of_runs_table(runs, [list(runs)], ("em", "judged"))[0]["rows"][0]["judged"].mean == 1
    assert make_support_split_table(runs, [list(runs)], ("judged",))[0]["rows"][0]["judged pos"] == 1
    assert make_spread_table(runs, [list(runs)], ("judged",))[0]["rows"][0]["judged"] == 0.5


def test_results_are_split_by_the_top_passage_of_the_unfiltered_run() -> None:
    runs = {
        "full": make_scores(em=[1, 0, 0, 1], f1=[1, 0, 0, 1], answer_on_top=[1, 1, 0, None], context_tokens=[100] * 4),
        "filco": make_scores(
            em=[1, 1, 1, 0], f1=[1, 1, 1, 0], answer_on_top=[0, 0, 1, 1], context_tokens=[20, 40, 0, 40]
        ),
    }
    full, filco = make_support_split_table(runs, [["full", "filco"]], ("em",))[0]["rows"]
    assert full == {"method": "full", "context": 1, "n pos": 2, "EM pos": 0.5, "n neg": 1, "EM neg": 0}
    assert filco == {"method": "filco", "context": 0.25, "n pos": 2, "EM pos": 1, "n neg": 1, "EM neg": 1}


def test_a_split_is_empty_without_a_context_and_without_answer_on_top() -> None:
    runs = {"a": make_scores(em=[1], context_tokens=[0], answer_on_top=[None])}
    assert make_support_split_table(runs, [["a"]], ("em",))[0]["rows"] == [
        {"method": "a", "n pos": 0, "EM pos": None, "n neg": 0, "EM neg": None}
    ]


def test_the_spread_over_draws_is_computed() -> None:
    runs = {
        "base": make_scores(em=[1, 0]),
        "base[shots=1;draw=0]": make_scores(em=[1, 0]),
        "base[shots=1;draw=1]": make_scores(em=[1, 1]),
        "base[k=3;shots=5;draw=0]": make_scores(em=[None, None]),
    }
    rows = make_spread_table(runs, [[name] for name in runs], ("em",))[0]["rows"]
    assert rows == [
        {"method": "base", "draws": 1, "EM": 0.5, "sd EM": None},
        {"method": "base[shots=1]", "draws": 2, "EM": 0.75, "sd EM": pytest.approx(0.353553, abs=1e-6)},
        {"method": "base[k=3;shots=5]", "draws": 1, "EM": None, "sd EM": None},
    ]


def test_runs_of_one_method_share_a_name() -> None:
    assert find_shared_name(["cot[k=3;top_p=0]", "cot[k=3;top_p=1]"]) == "cot[k=3]"
    assert find_shared_name(["cot", "cot[k=3]"]) == "cot"


@pytest.mark.parametrize(
    ("preferred_methods", "outcome"),  # in each order of the two texts, the preferred method: 0, 1, or None for a tie
    [
        ([0, 0], "first"),
        ([1, 1], "second"),
        ([0, 1], "tie"),
        ([None, None], "tie"),
        ([0, None], "first"),
        ([None, 1], "second"),
    ],
)
def test_both_orders_of_a_pair_count(preferred_methods: list[int | None], outcome: str) -> None:
    assert decide_outcome(preferred_methods) == outcome


def make_result(id_: str, method: str, em: float, rationale: str | None = None) -> dict[str, Any]:
    """A line of results.jsonl. Its answer equals the second gold answer, "Ann", after normalisation."""
    row = {"id": id_, "method": method, "question": f"Who is {id_}?", "answer": "The Ann", "gold": ["Bo", "Ann"]}
    return row | {"em": em, "error": None, "rationale": rationale}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of the methods sure and sum_and_pred. To four questions both gave right answers with a rationale; one of
    these, q6, has no gold answer. An answer of a third method (q1) and one with an error (q5) must be ignored.
    """
    rows = [
        make_result(f"q{n}", method, 1, f"{method} says {n}") for n in range(4) for method in ("sure", "sum_and_pred")
    ]
    rows[1]["em"] = 0  # the answer of sum_and_pred to q0 is wrong
    rows += [make_result("q4", "sure", 1, "sure says 4"), make_result("q4", "sum_and_pred", 1)]
    rows += [make_result("q1", "base", 1, "another"), make_result("q5", "sure", 1, "x") | {"error": "no reply"}]
    rows += [make_result("q6", method, 1, "nothing is said") | {"gold": []} for method in ("sure", "sum_and_pred")]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_pairs_are_questions_that_both_methods_answered_right(folder: Path) -> None:
    pairs = list(read_pairs(folder / "results.jsonl", "sure", "sum_and_pred"))
    assert [(pair.id, pair.answer, pair.first_summary, pair.second_summary) for pair in pairs] == [
        (f"q{n}", "Ann", f"sure says {n}", f"sum_and_pred says {n}") for n in (1, 2, 3)
    ]


async def judge_folder(folder: Path) -> tuple[list[dict[str, Any]], str, list[tuple[int, int]]]:
    """Let the judge compare the summaries; return the table's rows, its title and the reported progress."""
    progress: list[tuple[int, int]] = []
    names = ("sure", "sum_and_pred")
    analysis_tables = await compare_summaries(
        folder,
        names,
        CONTEXT,
        "openai:judge",
        concurrency=2,
        config={},
        report_progress=lambda *step: progress.append(step),
    )
    return analysis_tables[0]["rows"], analysis_tables[0]["title"], progress


async def test_a_judge_is_asked_in_both_orders(folder: Path, openai_server: OpenAIServer) -> None:
    def reply_as_judge(request: Request) -> str:
        first_is_sure = request.text.index("sure says") < request.text.index("sum_and_pred says")
        if "q2?" in request.text:
            return "Summary 1"  # it prefers the first text in both orders: a tie
        return "Summary 1" if first_is_sure else "Summary 2"

    openai_server.reply(reply_as_judge)
    rows, title, progress = await judge_folder(folder)
    assert title == "3 questions that both methods answered correctly with a summary"
    assert [(row["summaries of"], round(row["preferred"].mean, 3)) for row in rows] == [
        ("sure", 0.667),
        ("sum_and_pred", 0),
        ("neither", 0.333),
    ]
    assert [row.get("mean characters") for row in rows] == [11, 19, None]
    assert sorted(progress) == [(1, 3), (2, 3), (3, 3)]
    assert len(openai_server.chats()) == 6
    assert {request.body["model"] for request in openai_server.chats()} == {"judge"}
    lines = [json.loads(line) for line in (folder / "preference.jsonl").read_text().splitlines()]
    assert lines[1] == {"id": "q2", "outcome": "tie", "preferred": [0, 1]}


async def test_unreadable_and_failed_judgements_are_unscored_and_counted(
    folder: Path, openai_server: OpenAIServer
) -> None:
    def reply_as_judge(request: Request) -> Any:
        if "q1?" in request.text:
            return "Well, that depends."
        return make_error(400, "not today") if "q2?" in request.text else "Tie"

    openai_server.reply(reply_as_judge)
    rows, title, _ = await judge_folder(folder)
    assert title == "3 questions that both methods answered correctly with a summary, 1 unscored, 1 failed"
    assert [row["preferred"].mean for row in rows] == [0, 0, 1]


async def test_without_pairs_no_preference_is_counted(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("", encoding="utf-8")
    rows, title, _ = await judge_folder(tmp_path)
    assert title == "0 questions that both methods answered correctly with a summary"
    assert [row["preferred"] for row in rows] == [None] * 3
