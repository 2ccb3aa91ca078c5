"""Fitting the certainty: the probability that the statement shown with an answer contains a gold answer.

A statement is a piece of a passage, for example a sentence. If its certainty is below a threshold, the answer is shown
with a warning.
"""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from quorum.models.embedded import FOLDER, read_manifest
from quorum.models.embedded.statements import SIGNALS
from quorum.training.examples import CALIBRATION_PERCENT, Example, is_held_out
from training import certainty
from training.certainty import MeasuredCase, choose_warning_threshold, cross_validate, fit_certainty

TOWNS = ("Rohrau", "Eisenach", "Salzburg", "Bonn", "Parma", "Zwickau", "Leipzig", "Halle", "Prague", "Vienna")


def draw_cases(count: int) -> list[MeasuredCase]:
    """Draw cases, a third of them without an answer. In the others, the higher the score of the span in the statement,
    the more often the statement is right. The other signals say nothing about it.
    """
    rng = random.Random(4)
    cases = []
    for number in range(count):
        span_score, is_answerable = rng.gauss(0, 2), number % 3 != 0
        is_right = is_answerable and rng.random() < 1 / (1 + np.exp(-span_score))
        signals = [span_score, rng.random(), rng.random(), rng.random(), 1.0]  # in the order of SIGNALS
        cases.append(MeasuredCase(f"q{number}", signals, is_right, is_answerable, agrees=True))
    return cases


def test_the_span_gets_the_largest_weight_when_it_alone_separates_right_from_wrong() -> None:
    manifest_entry, figures = fit_certainty(draw_cases(600))
    weights = manifest_entry["weights"]
    assert list(weights) == [*SIGNALS, "bias"]
    assert weights["span"] > 1.5 * max(abs(weights[name]) for name in ("closeness", "words", "lead"))
    assert 0.65 < figures["auroc"] < 0.9
    assert figures["unanswerable with a warning"] >= 0.75


def make_case(*, is_right: bool = False, agrees: bool = True) -> MeasuredCase:
    """A case whose statement is right, or a case without an answer. agrees: whether the statement holds the reader's
    own answer. A statement that does not hold it gets a warning at every threshold.
    """
    return MeasuredCase("q", [0.0] * 5, is_right=is_right, is_answerable=is_right, agrees=agrees)


def test_the_threshold_is_the_lowest_that_warns_at_three_quarters_of_the_questions_without_an_answer() -> None:
    """The thresholds to choose from are 0.5, 0.55, ..., 0.95."""
    assert choose_warning_threshold(np.array([0.3, 0.3]), [make_case(is_right=True), make_case()]) == 0.5
    certainties = np.array([0.52, 0.57, 0.62, 0.82, 0.9, 0.9, 0.9])
    right_cases = [make_case(is_right=True)] * 3
    assert choose_warning_threshold(certainties, [make_case()] * 4 + right_cases) == 0.65
    assert choose_warning_threshold(certainties, [make_case()] * 3 + [make_case(agrees=False)] + right_cases) == 0.6


def test_the_threshold_rises_until_three_quarters_of_the_statements_without_a_warning_are_right() -> None:
    certainties = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.62, 0.9])
    assert choose_warning_threshold(certainties, [make_case()] * 6 + [make_case(is_right=True)]) == 0.65


def test_no_case_is_scored_by_weights_fitted_on_its_own_question() -> None:
    """Ten cases are wrong although their signals are the highest. If they belong to one question, their certainties are
    computed by weights that were fitted without any of them; if they belong to ten questions, by weights that were
    fitted on some of them.
    """
    signals = np.array([[float(number % 2)] for number in range(40)] + [[5.0]] * 10)
    right = np.array([0.0, 1.0] * 20 + [0.0] * 10)
    certainties_of_one_question = cross_validate(signals, right, [f"q{number}" for number in range(40)] + ["same"] * 10)
    certainties_of_ten_questions = cross_validate(signals, right, [f"q{number}" for number in range(50)])
    assert certainties_of_one_question[40:].min() > 0.9  # without these ten, every case with a high signal is right
    assert certainties_of_ten_questions[40:].max() < 0.5


@pytest.fixture
def held_out_files(tmp_path: Path) -> tuple[Path, Path]:
    """The paths of two files: twelve records of reading comprehension, whose questions are held out for calibration;
    and the wrong passages of each question.
    """
    questions = [f"Where was composer number {number} born?" for number in range(2000)]
    held_out_questions = [
        question for question in questions if is_held_out(Example(question, ""), CALIBRATION_PERCENT)
    ][:12]
    records_path, negatives_path = tmp_path / "reading.jsonl.gz", tmp_path / "negatives.jsonl.gz"
    with gzip.open(records_path, "wt") as records_file, gzip.open(negatives_path, "wt") as negatives_file:
        for number, question in enumerate(held_out_questions):
            town = TOWNS[number % len(TOWNS)]
            context = f"{question.split(' was ')[1].split(' born')[0]} was born in {town}. He wrote a great deal."
            answer = {"text": town, "start": context.index(town)}
            record = {"id": str(number), "question": question, "context": context, "answers": [answer], "source": "own"}
            records_file.write(json.dumps(record) + "\n")
            wrong_texts = ("Tea is a drink.", "The river is long.", "Chess has rules.", "Rain fell.", "A bell rang.")
            negatives = [{"title": "", "text": text} for text in wrong_texts]
            negatives_file.write(json.dumps({"question": question, "negatives": negatives}) + "\n")
    return records_path, negatives_path


def test_the_command_changes_only_the_certainty_in_the_manifest(
    held_out_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest_path = tmp_path / "reader.json"
    manifest_path.write_text((FOLDER / "reader.json").read_text(encoding="utf-8"), encoding="utf-8")
    records_path, negatives_path = held_out_files
    files = ["--data", str(records_path), "--negatives", str(negatives_path), "--manifest", str(manifest_path)]
    certainty.main([*files, "--limit", "40"])
    new_manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    assert {name: value for name, value in new_manifest.items() if name != "certainty"} == {
        name: value for name, value in read_manifest().items() if name != "certainty"
    }
    assert set(new_manifest["certainty"]["weights"]) == {*SIGNALS, "bias"}
    figures = json.loads(capsys.readouterr().out)
    assert figures["cases"] == 40
    # Half of the cases have the gold passage, in which the answer is easy to find.
    assert 0.4 <= figures["right"] <= 0.6
