"""Experiments: their groups of columns (methods with their settings), the demonstrations they draw, and whole runs from
data to tables.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import run_experiment_over
from openai_server import OpenAIServer, Request

from quorum.cli.main import main
from quorum.cli.tables import SEPARATE_TABLE_COLUMNS
from quorum.core.context import Context, count_passages_to_find
from quorum.core.errors import SetupError
from quorum.datasets.data_set_names import find_data_set_name
from quorum.datasets.examples import read_examples
from quorum.evaluation.experiments.catalogue import EXPERIMENTS, find_experiment
from quorum.evaluation.experiments.experiment_columns import apply_settings, group_columns
from quorum.evaluation.experiments.run_experiment import run_experiment
from quorum.evaluation.run.dataset import read_data
from quorum.evaluation.run.demonstrations import draw_shots
from quorum.evaluation.run.options import Options
from quorum.graphs import METHODS

CONTEXT = Context(model="openai:test", attempts=1)
TOWN_OF_RIVER = {"Rhine": "Basel", "Thames": "London", "Danube": "Vienna"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data file. Each question brings four passages; the third of them answers it."""
    path = tmp_path / "rivers.jsonl"
    fillers = [{"id": f"o{n}", "title": "", "text": f"Nothing is known of stream {n}."} for n in range(3)]
    lines = []
    for river, town in TOWN_OF_RIVER.items():
        gold = {"id": river, "title": river, "text": f"The {river} flows through {town}."}
        passages = [*fillers[:2], gold, fillers[2]]
        question = f"Which town lies on the {river}?"
        lines.append({"id": river, "question": question, "answers": [town], "passages": passages, "gold": [river]})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def list_column_names(experiment: str, **options: Any) -> list[list[str]]:
    return [
        [column.name for column in group] for group in group_columns(find_experiment(experiment), CONTEXT, **options)
    ]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_can_be_run(name: str) -> None:
    experiment = find_experiment(name)
    options: Any = {"verifier": "embedded", "filters": ["embedded"], "searching": True}
    columns = [column for group in group_columns(experiment, CONTEXT, **options) for column in group]
    assert all(column.method in METHODS for column in columns)
    column_names = {column.name for column in columns}
    # Experiments with shots get their columns from the user's examples.
    assert experiment.shots or len(column_names) == len(columns) > 0
    assert set(experiment.shown_measures) <= set(SEPARATE_TABLE_COLUMNS)
    assert len(experiment.summary) <= 62  # so that each experiment has one line in the printed list


@pytest.mark.parametrize("alias", ["gold_insertion", "sweep_candidates", "sweep_k", "verifier"])
def test_an_alias_that_runs_other_columns_has_a_summary_of_its_own(alias: str) -> None:
    experiment = find_experiment(alias)
    assert experiment.summary != find_experiment(experiment.name).summary
    assert len(experiment.summary) <= 62


def test_variants_of_a_method_are_compared_with_the_first() -> None:
    assert list_column_names("queries") == [
        ["blendfilter", "blendfilter[queries=ex+in]", "blendfilter[queries=q+in]", "blendfilter[queries=q+ex]"]
    ]
    assert list_column_names("sweep_k", methods="concat[seed=1],summary")[0][:2] == [
        "concat[seed=1;k=5]",
        "concat[seed=1;k=10]",
    ]
    assert [len(group) for group in list_column_names("filter_modes")] == [4, 4]


def test_methods_are_compared_for_each_retriever_where_there_is_something_to_search() -> None:
    assert list_column_names("retrieval") == [["direct", "iter_retgen", "blendfilter"]]
    assert list_column_names("retrieval", searching=True)[0] == [
        "direct[retriever=bm25]",
        "iter_retgen[retriever=bm25]",
        "blendfilter[retriever=bm25]",
    ]
    assert len(list_column_names("retrieval", searching=True)) == 3


def test_the_users_verifier_is_filled_into_the_settings() -> None:
    assert list_column_names("verifier", verifier="openai:big") == [
        ["sure", "sure[verifier=openai:big]", "sure[model=openai:big]"]
    ]


def test_every_filter_becomes_a_column() -> None:
    assert list_column_names("filco-table-4", filters=["embedded:a", "transformers:b"]) == [
        [
            "filco[filter_mode=full]",
            "filco[filter_mode=silver]",
            "filco[context_filter=embedded:a]",
            "filco[context_filter=transformers:b]",
        ]
    ]


def test_drawn_demonstrations_name_their_columns() -> None:
    labels_and_example_files = [("shots=1;draw=0", "a.jsonl"), ("shots=1;draw=1", "b.jsonl")]
    experiment = replace(find_experiment("few_shot"), passages_read=1)
    groups = group_columns(
        experiment, CONTEXT, methods="base,sure[k=3]", labels_and_example_files=labels_and_example_files
    )
    assert {column.passages_read for group in groups for column in group} == {1}
    assert [[column.name for column in group] for group in groups] == [
        ["base"],
        ["base[shots=1;draw=0]"],
        ["base[shots=1;draw=1]"],
        ["sure[k=3]"],
        ["sure[k=3;shots=1;draw=0]"],
        ["sure[k=3;shots=1;draw=1]"],
    ]
    assert [group[0].context.examples for group in groups[:3]] == [None, "a.jsonl", "b.jsonl"]


def write_examples(path: Path, count: int) -> Path:
    """Write `count` examples to draw from, and two that must not be drawn: a question of the data, and one without an
    answer.
    """
    lines: list[dict[str, Any]] = [{"question": f"Number {n}?", "answers": [str(n), "x"]} for n in range(count)]
    lines += [{"question": "Which town lies on the RHINE", "answer": "Basel"}, {"question": "None?", "answers": []}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_drawing_demonstrations_is_reproducible_and_avoids_the_questions(data: Path, tmp_path: Path) -> None:
    drawn_sets = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        files = draw_shots(
            write_examples(tmp_path / "examples.jsonl", 8), read_data(data), folder, shots=(1, 5), draws=3
        )
        drawn_sets.append({label: read_examples(file) for label, file in files})
    assert drawn_sets[0] == drawn_sets[1]
    assert list(drawn_sets[0]) == [f"shots={size};draw={draw}" for size in (1, 5) for draw in range(3)]
    assert [len(demonstrations) for demonstrations in drawn_sets[0].values()] == [1, 1, 1, 5, 5, 5]
    # A larger set of the same draw begins with the smaller one.
    assert drawn_sets[0]["shots=5;draw=1"][:1] == drawn_sets[0]["shots=1;draw=1"]
    assert all(
        "RHINE" not in example["question"] for demonstrations in drawn_sets[0].values() for example in demonstrations
    )
    assert len({demonstrations[0]["question"] for demonstrations in drawn_sets[0].values()}) > 1


def test_too_few_demonstrations_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="4 examples that are not questions of the data set; give a file with 5"):
        draw_shots(write_examples(tmp_path / "examples.jsonl", 4), read_data(data), tmp_path, shots=(1, 5), draws=4)
    (tmp_path / "bad.jsonl").write_text('{"question": 3}\n', encoding="utf-8")
    with pytest.raises(SetupError, match="line 1: expected a question and its answer"):
        draw_shots(tmp_path / "bad.jsonl", read_data(data), tmp_path, shots=(1,), draws=1)


def answer_or_rank(request: Request) -> str:
    """Reply with the town if the prompt contains the passage that names it, else with unknown. Reply to a ranking
    prompt with the third passage first, which is the one that answers.
    """
    if request.text.endswith("Ranking:"):
        return "[3] > [1] > [2] > [4]"
    return next((town for town in TOWN_OF_RIVER.values() if f"through {town}" in request.text), "unknown")


async def test_the_top_passage_alone_is_read_after_reranking(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(answer_or_rank)
    experiment = find_experiment("rerank")
    tested_variants = tuple(variant for variant in experiment.variants if variant in ("", "reranker=listwise"))
    report, _ = await run_experiment_over(
        replace(experiment, variants=tested_variants),
        data,
        CONTEXT,
        {},
        out=data.parent / "out",
    )
    base, listwise = (report.summary[name] for name in ("base", "base[reranker=listwise]"))
    assert (base["em"], base["calls"], base["hit_at_1"], base["recall"]) == (0, 1, 0, 0)
    assert base["mrr"] == pytest.approx(1 / 3, abs=1e-5)
    assert (listwise["em"], listwise["calls"], listwise["hit_at_1"], listwise["mrr"]) == (1, 2, 1, 1)
    assert (listwise["recall"], listwise["precision"], listwise["recall_before_filter"]) == (1, 1, 1)
    rows = [json.loads(line) for line in (report.folder / "results.jsonl").read_text().splitlines()]
    assert {(len(row["passages"]), len(row["retrieved"])) for row in rows} == {(1, 4)}
    assert json.loads((report.folder / "config.json").read_text())["methods"]["base"]["top"] == 1
    assert report.comparisons[0]["methods"]["base[reranker=listwise]"]["em"]["difference"] == 1


@pytest.mark.parametrize(("context", "count"), [(CONTEXT, 10), (replace(CONTEXT, k=3), 3)])
def test_the_rerankers_of_sures_table_reorder_the_ten_passages_that_were_found(context: Context, count: int) -> None:
    experiment = find_experiment("sure-table-4")
    [columns] = group_columns(experiment, apply_settings(experiment, context))
    assert [column.context.reranker for column in columns] == [None, "question", "listwise", "summary", "rationale"]
    assert {count_passages_to_find(column.context) for column in columns} == {count}


async def test_few_shot_runs_go_on_where_they_stopped(data: Path, tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(answer_or_rank)
    options = {"methods": "base", "examples": write_examples(tmp_path / "examples.jsonl", 6)}
    report, analysis_tables = await run_experiment_over(
        find_experiment("few_shot"), data, CONTEXT, options, out=tmp_path / "out"
    )
    assert [(row["method"], row["draws"], row["EM"]) for row in analysis_tables[0]["rows"]] == [
        ("base", 1, 1),
        ("base[shots=1]", 4, 1),
        ("base[shots=5]", 4, 1),
    ]
    assert "Number" in openai_server.requests[-1].text  # a drawn example stands in the prompt
    assert report.comparisons == []
    second_report, _ = await run_experiment_over(
        find_experiment("few_shot"), data, CONTEXT, options, out=tmp_path / "out"
    )
    assert (report.new_answers, second_report.new_answers) == (3 * 9, 0)  # 3 questions, 9 columns
    write_examples(tmp_path / "examples.jsonl", 7)
    with pytest.raises(SetupError, match="another configuration"):
        await run_experiment_over(find_experiment("few_shot"), data, CONTEXT, options, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("preference", {}, "needs --judge"),
        (
            "preference",
            {"judge": "embedded", "methods": "base"},
            "compares two methods, but 1 are given .*name two with --methods",
        ),
        ("preference", {"judge": "gpt"}, "names no provider"),
        ("verifier", {}, "needs --verifier"),
        ("filco-table-4", {}, "needs --filters"),
        ("filco-table-4", {"filters": ("bert",)}, "names no filter"),
        ("few_shot", {}, "needs --examples"),
        ("few_shot", {"examples": Path("missing.jsonl")}, "missing.jsonl"),
        ("sweep_k", {"methods": "contact"}, "did you mean concat"),
    ],
)
async def test_missing_requirements_are_named_before_any_call(
    data: Path, openai_server: OpenAIServer, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SetupError, match=message):
        await run_experiment_over(find_experiment(name), data, CONTEXT, options, out=data.parent / "out")
    assert openai_server.requests == []
    assert not (data.parent / "out").exists()


@pytest.fixture
def quorum(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function that runs `quorum` with the given arguments, and returns its exit code, stdout and stderr."""

    def run(*args: str) -> tuple[int, str, str]:
        try:
            main([str(arg) for arg in args])
            code: Any = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("file_name", "data_set"),
    [
        ("hotpotqa_dev.jsonl", "HotpotQA"),
        ("NQ.jsonl.gz", "NQ"),
        ("natural_questions.jsonl", "NQ"),
        ("natural-questions-dev.jsonl", "NQ"),
        ("natural questions.jsonl", "NQ"),
        ("web_questions.jsonl", "WebQ"),
        ("questions.jsonl", None),
        ("supernatural_questions.jsonl", None),
        ("hotpotqa/dev.jsonl.gz", "HotpotQA"),
        ("data/nq/open/test.jsonl", "NQ"),
        ("hotpotqa/nq.jsonl", "NQ"),  # the file's name comes first, then the nearest folder
        ("hotpotqa/2wiki/dev.jsonl", "2Wiki"),
        ("data/dev.jsonl", None),
    ],
)
def test_the_names_of_file_and_folders_say_which_of_the_papers_data_sets_is_asked(
    file_name: str, data_set: str | None
) -> None:
    assert find_data_set_name(file_name) == data_set


def test_the_home_folder_names_no_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/wizard")
    assert find_data_set_name("/home/wizard/dev.jsonl") is None
    assert find_data_set_name("/home/wizard/fever/dev.jsonl") == "FEVER"


@pytest.mark.parametrize(
    ("file", "headings", "change"),
    [
        ("2wiki/dev.jsonl", {"paper: 2Wiki"}, None),
        (
            "squad/dev.jsonl",
            {"paper: NQ", "paper: WebQ", "paper: 2Wiki", "paper: HotpotQA"},
            "the questions are SQuAD's, and the paper's numbers are for NQ, WebQ, 2Wiki, HotpotQA (--beside chooses)",
        ),
        (
            "dev.jsonl",
            {"paper: NQ", "paper: WebQ", "paper: 2Wiki", "paper: HotpotQA"},
            "no name of the data file or its folders is that of a data set, and the paper's numbers are for NQ, WebQ, "
            "2Wiki, HotpotQA (--beside chooses)",
        ),
    ],
)
async def test_numbers_of_other_data_sets_are_not_shown_without_a_word(
    data: Path, openai_server: OpenAIServer, file: str, headings: set[str], change: str | None
) -> None:
    openai_server.reply(answer_or_rank)
    path = data.parent / file
    path.parent.mkdir(exist_ok=True)
    data.rename(path)
    options = Options(data=path, context=CONTEXT, methods="base", out=data.parent / "out")
    outcome = await run_experiment(find_experiment("sure-table-1"), options)
    assert [text for text in outcome.changes if "numbers are for" in text] == ([change] if change else [])
    tables = [table for table in outcome.analysis_tables if table["title"].startswith("EM: ours")]
    assert {name for table in tables for row in table["rows"] for name in row} == {"method", "ours", *headings}
    assert ["the paper's for other data" in table["title"] for table in tables] == [bool(change)] * len(tables)


def test_the_list_has_a_line_for_each_experiment(quorum: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = quorum("experiment")
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in EXPERIMENTS] == list(
        EXPERIMENTS
    )
    assert max(map(len, lines)) <= 100
    headings = [index for index, line in enumerate(lines) if "(arXiv:" in line]
    assert ["Post-fusion" in lines[headings[0]], "SuRe" in lines[headings[2]]] == [True, True]
    first_names = [lines[index + 2].split()[0].rpartition("-table")[0] for index in headings]
    assert first_names == ["post-fusion", "blendfilter", "sure", "filco"]


def test_a_dry_run_estimates_an_experiment_without_asking_its_model(
    quorum: Callable[..., tuple[int, str, str]], data: Path, openai_server: OpenAIServer
) -> None:
    command = ("experiment", "sure-table-1", str(data), "--methods", "concat,sure", "--model", "openai:test")
    code, out, err = quorum(*command, "--dry-run")
    assert code == 0, err
    assert not openai_server.requests
    lines = [line.split() for line in out.splitlines()]
    assert [line[0] for line in lines[:3]] == ["estimated", "concat", "sure"]
    assert "In all " in out
    code, out, _ = quorum(*command, "--dry-run", "--json")
    estimate = json.loads(out)
    assert (code, list(estimate["methods"])) == (0, ["concat", "sure"])
    assert estimate["calls"] > 0


def test_an_experiment_runs_and_continues_from_the_command_line(
    quorum: Callable[..., tuple[int, str, str]], data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(answer_or_rank)
    command = ("experiment", "best_of_three", str(data), "--methods", "concat", "--model", "openai:test", "--out", "o")
    code, out, err = quorum(*command)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    assert "The best of 3 attempts at each question" in out
    best_row = ["concat", "3", "100.0", "[29.2,", "100.0]", "100.0", "[29.2,", "100.0]"]  # n, then EM and F1
    assert best_row in [line.split() for line in out.splitlines()]
    assert "made 9 calls now" in err
    sampling_settings = {(request.body["temperature"], request.body.get("top_p")) for request in openai_server.chats()}
    assert sampling_settings == {(0, None), (1, 0.5), (1, None)}
    analysis = json.loads(Path("o/analysis.json").read_text())
    interval = pytest.approx([1, 0.025 ** (1 / 3), 1])  # Clopper and Pearson's interval of three right answers of three
    assert analysis[0]["rows"] == [{"method": "concat", "n": 3, "EM": interval, "F1": interval}]
    _, second_output, err = quorum(*command)
    assert (second_output, "made 0 calls now" in err) == (out, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("rerankk",), "There is no experiment 'rerankk'; did you mean rerank?"),
        (("nothing",), "There is no experiment 'nothing'; the command quorum experiment lists all"),
        (("rerank",), "needs data (NQ*, WebQ*, 2Wiki, HotpotQA in the paper; "),
        (("rerank", "missing.jsonl"), "missing.jsonl"),
        (  # --beside chooses which of the paper's numbers stand beside ours; NQ* is SuRe's sample of NQ
            ("rerank", "missing.jsonl", "--beside", "Latin"),
            "has no numbers of the paper for --beside 'Latin'; choose words from one of: NQ*; WebQ*;",
        ),
        (
            ("queries", "missing.jsonl", "--beside", "NQ"),
            "has no numbers of the paper for --beside 'NQ'; choose words from one of: HotpotQA.",
        ),
    ],
)
def test_a_mistake_is_refused_in_one_sentence(
    quorum: Callable[..., tuple[int, str, str]], args: tuple[str, ...], message: str
) -> None:
    code, out, err = quorum("experiment", *args)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_one_experiment_is_printed_as_json(quorum: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = quorum("experiment", "few_shot", "--json")
    experiment = json.loads(out)
    assert (code, experiment["name"], experiment["aliases"]) == (0, "sure-table-9", ["few_shot"])
    assert experiment["paper_numbers"][0]["values"]["base"] == [29.4, 41.7]


@pytest.mark.parametrize("corpus", [(), ("--corpus", "given")])  # both read each question's own passages
def test_a_run_as_json_says_what_the_screen_says(
    quorum: Callable[..., tuple[int, str, str]], data: Path, openai_server: OpenAIServer, corpus: tuple[str, ...]
) -> None:
    openai_server.reply(answer_or_rank)
    options = ("--methods", "base", "--model", "openai:test", "--out", "o", *corpus)
    command = ("experiment", "sure-table-2", str(data), *options)
    code, out, _ = quorum(*command, "--json")
    printed_json = json.loads(out)
    assert (code, printed_json["source"], printed_json["summary"]["base"]["em"]) == (0, "SuRe, table 2", 1)
    no_search_note = (
        "nothing is searched, so retrievers are not compared: --corpus pool searches the passages of all questions"
    )
    assert printed_json["changes"] == [no_search_note, "methods base"]
    assert printed_json["analysis"] == json.loads(Path("o/analysis.json").read_text())
    assert no_search_note in " ".join(quorum(*command)[1].split())
