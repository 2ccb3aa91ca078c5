"""Experiments that move or insert gold passages, or that drop the questions which the model answers by itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import run_experiment_over
from gold_passages import make_passages_with_answer_in_g
from openai_bodies import make_error
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.experiments.catalogue import find_experiment
from quorum.evaluation.experiments.experiment_columns import group_columns
from quorum.evaluation.run.dataset import read_data

CONTEXT = Context(model="openai:test", attempts=1)


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data file of three questions, each with three passages. Passage g contains the answer. The question q0 has g at
    rank 1 and lists it under "gold"; q1 has g at rank 3 and lists nothing; q2 does not have g.
    """
    lines: list[dict[str, Any]] = []
    for number, passage_ids in enumerate((("g", "a", "b"), ("a", "b", "g"), ("a", "b", "c"))):
        gold = ["g"] if number == 0 else []
        lines.append(
            {
                "question": f"Which town is {number}?",
                "answers": ["Basel"],
                "passages": make_passages_with_answer_in_g(*passage_ids),
            }
        )
        lines[-1] |= {"id": f"q{number}", "gold": gold}
    return write_lines(tmp_path / "towns.jsonl", lines)


async def test_the_gold_passage_moves_and_questions_without_one_are_left_out(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    def answer_if_gold_comes_first(request: Request) -> str:
        return "Basel" if request.text.index("It is Basel") < request.text.index("Nothing.") else "unknown"

    openai_server.reply(answer_if_gold_comes_first)
    options = {"methods": "concat[k=2]"}
    experiment = find_experiment("gold_position")
    report, analysis_tables = await run_experiment_over(experiment, data, CONTEXT, options, out=tmp_path / "out")
    em = {name: (row["em"], row["n"]) for name, row in report.summary.items()}
    assert em == {
        "concat[k=2;gold=retrieved]": (0.5, 2),
        "concat[k=2;gold=top]": (1, 2),
        "concat[k=2;gold=bottom]": (0, 2),
    }
    assert report.count_without_gold_passage == 1
    assert analysis_tables[0] == {
        "title": "Gold passages (left out: 1 question that has none)",
        "rows": [{"passages": "k=2", "n": 2, "gold found": 1, "gold put in": 1}],
    }
    rows = [json.loads(line) for line in (report.folder / "results.jsonl").read_text().splitlines()]
    row = next(row for row in rows if row["id"] == "q1" and row["method"] == "concat[k=2;gold=top]")
    # `gold_rank` is the rank among the retrieved passages; g was not retrieved.
    assert (row["retrieved"], row["passages"], row["gold_rank"]) == (["a", "b"], ["g", "a"], None)
    methods = json.loads((report.folder / "config.json").read_text())["methods"]
    assert [method["gold"] for method in methods.values()] == ["retrieved", "top", "bottom"]
    second_report, same_tables = await run_experiment_over(experiment, data, CONTEXT, options, out=tmp_path / "out")
    assert (second_report.new_answers, second_report.count_without_gold_passage, same_tables) == (0, 1, analysis_tables)


async def test_gold_passages_that_were_not_retrieved_are_inserted(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.reply(lambda request: "Basel" if "Basel" in request.text.rsplit("Passages", 1)[-1] else "unknown")
    report, _ = await run_experiment_over(
        find_experiment("gold_insertion"), data, CONTEXT, {"methods": "concat[k=2]"}, out=tmp_path / "out"
    )
    assert {name: (row["em"], row["n"]) for name, row in report.summary.items()} == {
        "concat[k=2]": (0.5, 2),
        "concat[k=2;gold=inserted]": (1, 2),
    }


async def test_gold_texts_come_from_a_corpus(tmp_path: Path, openai_server: OpenAIServer) -> None:
    """The gold passages are those that the question lists under "gold".

    If the question lists none, its gold passage is the first of the corpus's 100 best passages that contains an answer.
    """
    openai_server.reply(lambda request: "Basel" if "It is Basel" in request.text else "unknown")
    fillers = [{"id": f"f{n}", "title": "", "text": f"Which town is nothing, number {n}?"} for n in range(6)]
    gold = [{"id": "g1", "title": "", "text": "Unlike the question: It is Basel."}]
    corpus = write_lines(tmp_path / "corpus.jsonl", [*fillers, *gold])
    lines = [
        {"id": "listed", "question": "Which town is one?", "answers": ["Basel"], "gold": ["g1"]},
        {"id": "found", "question": "Which town is two?", "answers": ["Basel"]},
        {"id": "none", "question": "Which town is three?", "answers": ["Vienna"]},
        {"id": "lost", "question": "Which town is four?", "answers": ["Basel"], "gold": ["elsewhere"]},
    ]
    questions = write_lines(tmp_path / "questions.jsonl", lines)
    context = Context(model="openai:test", attempts=1, retriever="bm25", store=str(tmp_path / "store"))
    report, analysis_tables = await run_experiment_over(
        find_experiment("gold_insertion"),
        questions,
        context,
        {"methods": "concat[k=2]"},
        corpus=str(corpus),
        out=tmp_path / "out",
    )
    assert (report.count_without_gold_passage, analysis_tables[0]["rows"][0]["gold put in"]) == (2, 2)
    assert report.summary["concat[k=2;gold=inserted]"]["em"] == 1
    assert report.summary["concat[k=2]"]["em"] == 0


async def test_gold_texts_for_given_passages_come_from_a_file(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: "Basel" if "It is Basel" in request.text else "unknown")
    lines: list[dict[str, Any]] = [
        {
            "id": "q",
            "question": "Which town?",
            "answers": ["Basel"],
            "gold": ["g"],
            "passages": make_passages_with_answer_in_g("a", "b"),
        }
    ]
    data = write_lines(tmp_path / "towns.jsonl", lines)
    experiment, options = find_experiment("gold_insertion"), {"methods": "concat[k=2]"}
    with pytest.raises(SetupError, match=r"None of the 1 questions in .* has a gold passage with a known text"):
        await run_experiment_over(experiment, data, CONTEXT, dict(**options), out=tmp_path / "bare")
    corpus = write_lines(tmp_path / "gold.jsonl", [dict(item) for item in make_passages_with_answer_in_g("c", "g")])
    report, _ = await run_experiment_over(
        experiment, data, CONTEXT, dict(**options, gold_from=corpus), out=tmp_path / "out"
    )
    assert report.summary["concat[k=2;gold=inserted]"]["em"] == 1
    experiment_config = json.loads((report.folder / "config.json").read_text())["experiment"]
    assert experiment_config["gold_from"]["file"] == "gold.jsonl"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "rerank",
            {"gold_from": Path("x.jsonl")},
            "does not put gold passages among the retrieved ones; leave --gold-from out",
        ),
        ("gold_position", {"gold_from": Path("missing.jsonl")}, "no file missing.jsonl; give passages"),
    ],
)
async def test_a_missing_or_superfluous_gold_from_file_is_refused(
    data: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SetupError, match=message):
        await run_experiment_over(find_experiment(name), data, CONTEXT, options, out=data.parent / "out")


def test_positions_are_compared_for_each_number_of_passages() -> None:
    position_groups = [
        [column.name for column in group] for group in group_columns(find_experiment("gold_position"), CONTEXT)
    ]
    assert position_groups[0] == ["concat[k=5;gold=retrieved]", "concat[k=5;gold=top]", "concat[k=5;gold=bottom]"]
    assert [group[0] for group in position_groups] == [f"concat[k={k};gold=retrieved]" for k in (5, 10, 20)]
    insertion_groups = [
        [column.name for column in group] for group in group_columns(find_experiment("gold_insertion"), CONTEXT)
    ]
    assert (insertion_groups[0][0], insertion_groups[1][0], len(insertion_groups[0])) == (
        "concat",
        "concat[gold=inserted]",
        6,
    )


async def test_questions_that_the_model_knows_are_dropped_for_every_method(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    """A question with an empty list of answers does not count as known if the model says unknown."""
    with data.open("a", encoding="utf-8") as file:
        file.write(
            json.dumps({"id": "open", "question": "?", "answers": [], "passages": make_passages_with_answer_in_g("a")})
            + "\n"
        )

    def answer_question_1_without_passages(request: Request) -> str:
        is_known = "Which town is 1?" in request.text and "Nothing." not in request.text
        return "Basel" if is_known else "unknown"

    openai_server.reply(answer_question_1_without_passages)
    options = {"methods": "concat,no_retrieval,summary"}
    experiment = find_experiment("closed_book")
    report, analysis_tables = await run_experiment_over(experiment, data, CONTEXT, options, out=tmp_path / "out")
    assert {name: row["n"] for name, row in report.summary.items()} == {"no_retrieval": 4, "concat": 3, "summary": 3}
    assert analysis_tables[0]["title"] == "Questions that the model answers correctly (EM) without passages are dropped"
    # questions asked without passages, known ones, and those that the other methods were asked
    assert [row["n"] for row in analysis_tables[0]["rows"]] == [4, 1, 3]
    assert [comparison["baseline"] for comparison in report.comparisons] == ["concat"]
    second_report, same_tables = await run_experiment_over(experiment, data, CONTEXT, options, out=tmp_path / "out")
    assert (second_report.new_answers, second_report.screened_out_count, same_tables) == (0, 1, analysis_tables)
    assert json.loads((report.folder / "analysis.json").read_text())[0] == analysis_tables[0]


async def test_a_question_that_failed_closed_book_is_asked_later(
    data: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.reply(lambda request: make_error(400, "no") if "town is 0" in request.text else "Vienna")
    options = {"methods": "concat"}
    report, _ = await run_experiment_over(find_experiment("closed_book"), data, CONTEXT, options, out=tmp_path / "out")
    assert report.summary["no_retrieval"]["errors"] == 1
    assert (report.summary["concat"]["n"], report.summary["concat"]["errors"]) == (2, 0)
    openai_server.reply("Basel")
    report, _ = await run_experiment_over(find_experiment("closed_book"), data, CONTEXT, options, out=tmp_path / "out")
    assert (report.summary["no_retrieval"]["errors"], report.screened_out_count, report.new_answers) == (0, 1, 1)


async def test_the_embedded_reader_knows_nothing(data: Path, tmp_path: Path) -> None:
    options = {"methods": "concat"}
    report, analysis_tables = await run_experiment_over(
        find_experiment("closed_book"), data, Context(), options, out=tmp_path / "out"
    )
    assert analysis_tables[0]["title"] == "No question is dropped: the embedded reader knows nothing but what it reads"
    assert (report.screened_out_count, report.summary["concat"]["n"]) == (0, 3)


async def test_known_questions_are_dropped_on_request(data: Path, openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.reply("Basel")
    options = {"methods": "concat[k=2]", "drop_known": True}
    report, analysis_tables = await run_experiment_over(
        find_experiment("gold_insertion"), data, CONTEXT, options, out=tmp_path / "out"
    )
    assert (report.screened_out_count, report.count_without_gold_passage) == (2, 1)
    assert [row["n"] for row in analysis_tables[0]["rows"]] == [2, 2, 0]
    assert {row["n"] for name, row in report.summary.items() if name != "no_retrieval"} == {0}


async def test_no_more_passages_are_read_than_there_are(data: Path, tmp_path: Path) -> None:
    experiment = find_experiment("sweep_passages")
    groups = group_columns(experiment, CONTEXT, methods="base", most_passages=15)
    assert [column.name for column in groups[0]] == ["base[k=5]", "base[k=10]", "base[k=20]"]
    assert (
        len(group_columns(experiment, CONTEXT, most_passages=60)[0]) == len(group_columns(experiment, CONTEXT)[0]) == 6
    )
    assert read_data(data).most_passages == 3
    report, analysis_tables = await run_experiment_over(
        experiment, data, Context(), {"methods": "base"}, out=tmp_path / "out"
    )
    assert list(report.summary) == ["base[k=5]"]
    assert analysis_tables[0]["title"] == "The questions have at most 3 passages; once k reaches 3, no larger k is run"
    assert analysis_tables[0]["rows"][0] == {"passages": "k=5", "questions with at least k passages": 0, "n": 3}
