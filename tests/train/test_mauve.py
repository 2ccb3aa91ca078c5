"""MAUVE with a tiny language model: it equals the number that its authors' package computes, and the experiment
sure-table-8 reports it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import mauve
import pytest
import tiny_language_models

from quorum.evaluation.experiments.catalogue import EXPERIMENTS
from quorum.evaluation.experiments.mauve import compute_mauve, embed_texts

SHORT_TEXTS = [f"in {year}" for year in range(1900, 1940)]
LONG_TEXTS = [f"It was built in {year}, when the old tower of the town had burnt down." for year in range(1900, 1940)]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_language_models.write_gpt2(tmp_path_factory.mktemp("models") / "gpt2"))


def test_mauve_equals_that_of_its_authors_package(gpt2: str, capfd: pytest.CaptureFixture[str]) -> None:
    answers, golds = SHORT_TEXTS[:20] + LONG_TEXTS[:20], SHORT_TEXTS[:5] + LONG_TEXTS[:35]
    value = compute_mauve(answers, [[gold, "another"] for gold in golds], gpt2)  # the first gold answer counts
    assert "Featurizing" not in capfd.readouterr().err  # from the authors' progress bars, which we do not show
    authors_result = mauve.compute_mauve(p_text=answers, q_text=golds, featurize_model_name=gpt2, max_text_length=128)
    assert value == pytest.approx(100 * authors_result.mauve, abs=1e-6)
    assert 0 < value < 99
    assert embed_texts(answers[:3], gpt2).shape == (3, 48)


def test_equal_sets_are_alike_and_different_ones_are_not(gpt2: str) -> None:
    golds = [[text] for text in LONG_TEXTS]
    assert compute_mauve(LONG_TEXTS, golds, gpt2) == pytest.approx(100, abs=1)
    assert compute_mauve(SHORT_TEXTS, golds, gpt2) < 10
    assert compute_mauve(["", ""], golds, gpt2) == 0  # every answer is empty


def run_table(folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run `quorum experiment sure-table-8` in a process of its own, without a network.

    home: the folder where the process looks for the language model.
    """
    passages = [
        {"id": f"p{n}", "title": "", "text": f"The tower of Vell {n} is of {text}"} for n, text in enumerate(LONG_TEXTS)
    ]
    lines = [
        {"id": f"q{n}", "question": f"When was tower {n} built?", "answers": [LONG_TEXTS[n]], "passages": [passages[n]]}
        for n in range(6)
    ]
    data = folder / "asqa.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    command = [
        str(Path(sys.executable).with_name("quorum")),
        "experiment",
        "sure-table-8",
        str(data),
        "--out",
        str(folder / "out"),
    ]
    own_variables = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=folder, env=os.environ | own_variables, capture_output=True, text=True, check=False
    )


def test_a_table_reports_mauve(tmp_path: Path) -> None:
    cached_model = tmp_path / "home/hub/models--gpt2-large"
    (cached_model / "refs").mkdir(parents=True)
    (cached_model / "refs/main").write_text("0" * 40)
    tiny_language_models.write_gpt2(cached_model / "snapshots" / ("0" * 40))
    process = run_table(tmp_path, tmp_path / "home")
    assert process.returncode == 0, process.stderr
    assert "MAUVE is left out" not in process.stdout
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert all(0 <= summary[method]["mauve"] <= 100 for method in EXPERIMENTS["sure-table-8"].methods)
    panels = json.loads((tmp_path / "out/analysis.json").read_text())
    rows = next(panel["rows"] for panel in panels if panel["title"].startswith("MAUVE: ours"))
    assert [row["ours"] for row in rows] == [f"{summary[row['method']]['mauve']:.1f}" for row in rows]
    assert [row["paper: ASQA"] for row in rows] == ["69.83", "70.33"]


def test_without_its_model_mauve_is_left_out_and_the_rest_runs(tmp_path: Path) -> None:
    process = run_table(tmp_path, tmp_path / "empty")
    assert process.returncode == 0, process.stderr
    assert "MAUVE is left out: its language model gpt2-large is not on this machine" in process.stdout
    assert "mauve" not in json.loads((tmp_path / "out/summary.json").read_text())["sure"]
