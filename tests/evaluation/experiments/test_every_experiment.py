"""Runs every experiment from its data to its analysis, over tiny questions with a model on a loopback server.

An experiment repeats a table or figure of a paper.
"""

import csv
import io
import json
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer
from river_questions import RIVERS, reply_about_rivers, write_lines, write_questions

from quorum.cli.main import main
from quorum.evaluation.experiments import paper_numbers
from quorum.evaluation.experiments.catalogue import ALIASES, EXPERIMENTS, find_experiment
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.run.column_scores import Row
from quorum.prompts import BUILT_IN

OPTIONS = {  # what an experiment needs besides data and a model
    "sure-figure-4b": ("--judge", "openai:judge"),
    "sure-table-7": ("--judge", "openai:judge"),
    "sure-table-9": ("--examples", "{examples}"),
    "sure-table-10": ("--verifier", "openai:small", "--prices", "{prices}"),
    "filco-table-4": ("--filters", "embedded", "--variant", "lexical[filter=llm:openai:small;model=openai:small]"),
    "verifier": ("--verifier", "openai:small"),
    # An alias of post-fusion-figure-5, with post_fusion in place of pf_concat. The test of post-fusion-figure-5 runs
    # all variants, so the test of this alias runs only two.
    "sweep_samples": ("--quick",),
    # retrievers differ only where there is something to search
    **dict.fromkeys(("sure-table-2", "sure-table-5", "blendfilter-figure-2", "retrieval"), ("--corpus", "pool")),
}
# For each analysis, one experiment that has it, and further options of that experiment. These run over three questions.
EXPERIMENT_OF_ANALYSIS = {
    "best_of_runs": ("best_of_three", "--methods", "cot"),
    "split_by_support": ("filco-table-5",),
    "spread_over_draws": ("sure-table-9", "--methods", "base"),  # draws: random sets of demonstrations
    "judge_preference": ("sure-figure-4b",),
    "people_preference": ("sure-figure-4c",),
    "gold_passages": ("post-fusion-figure-6", "--methods", "concat[k=5]"),
    "cost": ("sure-table-10",),
    "support_by_passages": ("filco-table-2",),
}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "nq_rivers.jsonl")


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], questions: Path, tmp_path: Path, openai_server: OpenAIServer
) -> Callable[..., tuple[int, str, str]]:
    openai_server.reply(reply_about_rivers)
    examples = write_lines(
        tmp_path / "examples.jsonl", [{"question": f"Number {n}?", "answer": str(n)} for n in range(6)]
    )
    prices = tmp_path / "prices.toml"
    prices.write_text(
        "".join(f'["openai:{name}"]\ninput = 10.0\noutput = 10.0\n' for name in ("test", "small")), encoding="utf-8"
    )

    def run_experiment(name: str, *extra_options: str) -> tuple[int, str, str]:
        options = [item.format(examples=examples, prices=prices) for item in OPTIONS.get(name, ())]
        # three attempts, because a busy machine loses a connection at times
        common_options = ["--model", "openai:test", "--out", str(tmp_path / "out"), "--set", "attempts=3"]
        try:
            main(["experiment", name, str(questions), *common_options, *options, *extra_options])
            code: Any = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        return code, *capsys.readouterr()

    return run_experiment


ANALYSIS_TITLES = {
    "best_of_runs": "The best of 3 attempts at each question",
    "split_by_support": "Context as a share of the first method's",
    "spread_over_draws": "Mean and standard deviation over the draws",
    "judge_preference": "{n} questions that both methods answered correctly with a summary",
    "people_preference": "0 of {n} pairs decided in preference.csv",
    "gold_passages": "Gold passages (left out: 0 questions that have none)",
    "cost": "What the answers cost",
    "support_by_passages": "Questions whose passages support the answer",
}
# The main column of each analysis. pos: over the questions for which a passage supports the answer.
ANALYSIS_COLUMNS = {
    "best_of_runs": "EM",
    "split_by_support": "EM pos",
    "spread_over_draws": "EM",
    "judge_preference": "preferred",
    "gold_passages": "gold put in",
    "cost": "dollars",
    "support_by_passages": "precision (pos)",
}
UNCHECKED_MEASURES = {"accuracy", "str_em", "mauve"}  # short answers have none of these; tests/train tests MAUVE
# Aliases that change a field of their experiment, such as its methods; the others only rename it.
CHANGED_ALIASES = [name for name in ALIASES if ALIASES[name] != EXPERIMENTS[ALIASES[name].name]]


def check_run(name: str, n: int, output: tuple[int, str, str], folder: Path) -> None:
    """Check what every run has: an answer to each question, some right answers, its analyses on the screen."""
    code, out, err = output
    assert (code, err.count("failed")) == (0, 0), err
    assert max(map(len, out.splitlines())) <= 100
    for analysis in find_experiment(name).analyses:
        assert ANALYSIS_TITLES[analysis].format(n=n) in out
    rows: list[Row] = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert len({row["id"] for row in rows}) == n
    assert all(row["error"] is None for row in rows)
    assert any(row["em"] == 1 or (row["rouge_l"] or 0) > 0 for row in rows)
    check_analysis(find_experiment(name), folder)


def check_analysis(experiment: Experiment, folder: Path) -> None:
    """Check that analysis.json has every analysis of the experiment, and our number for each measure of the paper.

    Our number is a list, the value with its interval, if the measure is a share; for counts and the like it is a text.
    """
    analysis_tables = json.loads((folder / "analysis.json").read_text())
    for measure in set(experiment.measures) - UNCHECKED_MEASURES:
        rows_of_measure = find_table(analysis_tables, f"{paper_numbers.TABLE_TITLES[measure]}: ours")["rows"]
        number_type = str if measure in paper_numbers.PLAIN_MEAN_MEASURES else list
        assert any(isinstance(row["ours"], number_type) for row in rows_of_measure), measure
    for analysis in experiment.analyses:
        rows = find_table(analysis_tables, ANALYSIS_TITLES[analysis].partition("{n}")[2] or ANALYSIS_TITLES[analysis])[
            "rows"
        ]
        assert rows
        if analysis != "people_preference":  # nobody has chosen yet
            assert all(row[ANALYSIS_COLUMNS[analysis]] is not None for row in rows), analysis


def find_table(analysis_tables: list[dict[str, Any]], title: str) -> dict[str, Any]:
    return next(table for table in analysis_tables if title in table["title"])


@pytest.mark.parametrize("analysis", EXPERIMENT_OF_ANALYSIS)
def test_every_analysis_is_printed(analysis: str, run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    name, *options = EXPERIMENT_OF_ANALYSIS[analysis]
    assert analysis in find_experiment(name).analyses
    check_run(name, 3, run(name, "--limit", "3", *options), tmp_path / "out")


@pytest.mark.long
@pytest.mark.parametrize("name", [*EXPERIMENTS, *CHANGED_ALIASES])
def test_every_experiment_runs_from_data_to_its_analysis(
    name: str, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Over four questions: two of each kind that there is, with the answer in the first or in the third passage."""
    check_run(name, 4, run(name, "--limit", "4"), tmp_path / "out")


@pytest.mark.skipif(find_spec("mauve") is not None, reason="the extra is installed")
def test_mauve_is_left_out_without_its_extra(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("sure-table-8", "--methods", "concat", "--limit", "1")
    assert code == 0
    assert "MAUVE is left out; to include it, run: pip install 'quorum-rag[mauve]'" in " ".join(out.split())


def test_the_short_tests_cover_every_analysis() -> None:
    assert (
        set(EXPERIMENT_OF_ANALYSIS)
        == {analysis for item in EXPERIMENTS.values() for analysis in item.analyses}
        == set(ANALYSIS_TITLES)
    )


def test_the_papers_numbers_stand_beside_ours(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("sure-table-1", "--methods", "base,sure")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    begin = next(n for n, line in enumerate(lines) if line[:3] == ["EM:", "ours", "with"])
    assert lines[begin + 1 : begin + 4] == [
        ["method", "ours", "paper:", "NQ"],  # the file's name contains "NQ"
        ["base", "100.0", "[69.2,", "100.0]", "28.4"],
        ["sure", "100.0", "[69.2,", "100.0]", "33.5"],
    ]
    assert "so bm25 does not search for any; methods base,sure." in " ".join(out.split())
    _, hotpotqa_output, _ = run("sure-table-1", "--methods", "base,sure", "--beside", "HotpotQA")
    assert "paper: HotpotQA" in hotpotqa_output
    assert "30.8" in hotpotqa_output


def test_counts_of_calls_are_reported_as_means(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    assert run("post-fusion-figure-3", "--methods", "concat,post_fusion", "--k", "4")[0] == 0
    analysis_tables = json.loads((tmp_path / "out/analysis.json").read_text())
    assert [row["ours"] for row in find_table(analysis_tables, "Calls: ours")["rows"]] == ["1.0", "4.0"]


def test_the_users_settings_win_over_the_papers_and_are_named(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, out, _ = run("sure-table-1", "--methods", "base", "--k", "3", "--set", "retriever=hybrid")
    assert code == 0
    changes = "k=3, not 10; retriever=hybrid, not bm25; the questions bring their passages, so hybrid does not search"
    assert f"Not as in the paper: {changes}" in " ".join(out.split())
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["methods"]["base"]["k"] == 3


def test_an_experiment_asks_for_no_citations(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("It stands in Vell.")
    code, _, err = run("sure-table-8", "--methods", "concat", "--model", "openai:test")
    assert code == 0, err
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert (config["methods"]["concat"]["citations"], config["methods"]["concat"]["answer_type"]) == ("off", "long")
    beginning = BUILT_IN["answer_long.uncited"].partition("$")[0]
    texts = [chat.text for chat in openai_server.chats()]
    assert texts
    assert all(text.startswith(beginning) for text in texts)


def test_the_option_quick_says_what_it_changed(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, out, _ = run("blendfilter-figure-3", "--methods", "direct", "--quick")
    assert code == 0
    changes = "only the first 20 questions are asked; left out: k=4, k=5, k=7"
    assert changes in " ".join(out.split())
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert list(summary) == ["direct[k=3]", "direct[k=6]", "direct[k=8]"]


def test_a_variant_has_its_own_filter_and_generator(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, openai_server: OpenAIServer
) -> None:
    variants = ("--variant", "psg[filter=llm:openai:a;model=openai:b]", "--variant", "filco[model=openai:c]")
    code, _, err = run("filco-table-3", *variants)
    assert code == 0, err
    methods = json.loads((tmp_path / "out/config.json").read_text())["methods"]
    assert list(methods) == [
        "filco[filter_mode=full]",
        "filco[filter_mode=psg;context_filter=llm:openai:a;model=openai:b]",
        "filco[filter_mode=filco;model=openai:c]",
        "filco[filter_mode=silver]",
    ]
    requests = {(request.body["model"], request.text.rstrip().splitlines()[-1]) for request in openai_server.chats()}
    assert {("a", "Numbers of the passages to keep:"), ("b", "Answer:"), ("c", "Answer:")} <= requests


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("psg", "cannot be read; write a name and its settings in brackets"),
        ("psg[fliter=llm]", "sets 'fliter', which is not a setting"),
        ("psg[filter=bert]", "names no filter"),
    ],
)
def test_a_variant_that_does_not_fit_is_refused(
    run: Callable[..., tuple[int, str, str]], text: str, message: str
) -> None:
    code, out, err = run("filco-table-3", "--variant", text)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_people_choose_without_knowing_the_method(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    assert run("sure-figure-4c")[0] == 0
    sheet = tmp_path / "out/preference.csv"
    assert "sure" not in sheet.read_text().lower()
    lines = list(csv.DictReader(io.StringIO(sheet.read_text())))
    key = json.loads((tmp_path / "out/preference.key.json").read_text())["pairs"]
    assert len(lines) == len(key) == 10
    assert {item["is_swapped"] for item in key} == {True, False}
    assert [item["id"] for item in key] != sorted(RIVERS)
    # SuRe's summary is chosen in every pair but the first, which is a tie.
    for number, (line, item) in enumerate(zip(lines, key, strict=True)):
        line["choice"] = "tie" if number == 0 else "2" if item["is_swapped"] else "Summary 1"
    save_sheet(sheet, lines)
    code, out, _ = run("sure-figure-4c")
    assert code == 0
    assert "10 of 10 pairs decided" in out
    rows = [line.split()[:2] for line in out.partition("10 of 10 pairs decided")[2].splitlines()]
    assert [row for row in rows if row and row[0] in ("sure", "sum_and_pred", "neither")] == [
        ["sure", "90.0"],
        ["sum_and_pred", "0.0"],
        ["neither", "10.0"],
    ]
    lines[4]["choice"] = "left"
    save_sheet(sheet, lines)
    code, _, err = run("sure-figure-4c")
    assert (code, err.strip().splitlines()[-1].endswith("the choice is 'left'; write 1, 2 or tie.")) == (2, True)


def save_sheet(sheet: Path, lines: list[dict[str, str]]) -> None:
    """Save the sheet as a spreadsheet does."""
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def test_the_list_of_experiments_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        main(["experiment", "--json"])
    experiments = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    assert list(experiments) == list(EXPERIMENTS)
    assert all({"name", "paper", "item", "methods"} <= item.keys() for item in experiments.values())
    assert experiments["sure-table-4"]["aliases"] == ["rerank"]
    assert (experiments["sure-table-1"]["paper"], experiments["sure-table-1"]["item"]) == ("SuRe", "table 1")
    assert all(name.startswith(item["paper"].lower()) for name, item in experiments.items())
