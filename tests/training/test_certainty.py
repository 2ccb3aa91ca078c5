"""Fitting the certainty: the probability that the statement shown with an answer contains a gold answer.

A statement is a sentence of a passage, for example.
"""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from quorum.models.embedded import FOLDER, read_manifest
from quorum.models.embedded.statements import SIGNALS
from quorum.training import certainty
from quorum.training.certainty import MeasuredCase, choose_warning_threshold, cross_validate, fit_certainty
from quorum.training.examples import CALIBRATION_PERCENT, Example, is_held_out

TOWNS = ("Rohrau", "Eisenach", "Salzburg", "Bonn", "Parma", "Zwickau", "Leipzig", "Halle", "Prague", "Vienna")


def draw_cases(count: int) -> list[MeasuredCase]:
    """Draw cases. The higher the span's score, the more often the statement is right; a third have no answer."""
    rng = random.Random(4)
    cases = []
    for number in range(count):
        span, answerable = rng.gauss(0, 2), number % 3 != 0
        right = answerable and rng.random() < 1 / (1 + np.exp(-span))
        cases.append(
            MeasuredCase(
                f"q{number}", [span, rng.random(), rng.random(), rng.random(), 1.0], right, answerable, agrees=True
            )
        )
    return cases


def test_the_span_gets_the_largest_weight_when_it_alone_separates_right_from_wrong() -> None:
    fields, figures = fit_certainty(draw_cases(600))
    weights = fields["weights"]
    assert list(weights) == [*SIGNALS, "bias"]
    assert weights["span"] > 3 * max(abs(weights[name]) for name in ("closeness", "words", "lead")) / 2
    assert 0.65 < figures["auroc"] < 0.9
    assert figures["unanswerable with a warning"] >= 0.75


def make_case(*, right: bool = False, agrees: bool = True) -> MeasuredCase:
    """agrees: the statement holds the reader's own answer. A statement that does not hold it gets a warning at every
    threshold.
    """
    return MeasuredCase("q", [0.0] * 5, is_right=right, is_answerable=right, agrees=agrees)


def test_the_threshold_is_the_lowest_step_that_warns_at_three_quarters_of_the_questions_without_an_answer() -> None:
    assert choose_warning_threshold(np.array([0.3, 0.3]), [make_case(right=True), make_case()]) == 0.5
    chances = np.array([0.52, 0.57, 0.62, 0.82, 0.9, 0.9, 0.9])
    known_cases = [make_case(right=True)] * 3
    assert choose_warning_threshold(chances, [make_case()] * 4 + known_cases) == 0.65
    assert choose_warning_threshold(chances, [make_case()] * 3 + [make_case(agrees=False)] + known_cases) == 0.6


def test_the_threshold_rises_until_three_quarters_of_the_statements_without_a_warning_are_right() -> None:
    chances = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.62, 0.9])
    assert choose_warning_threshold(chances, [make_case()] * 6 + [make_case(right=True)]) == 0.65


def test_no_case_is_scored_by_weights_fitted_on_its_own_question() -> None:
    """Ten cases are wrong although their signals are high. If they belong to one question, they are scored by weights
    that were fitted without any of them; if they belong to ten questions, by weights that were fitted on some of them.
    """
    signals = np.array([[float(number % 2)] for number in range(40)] + [[5.0]] * 10)
    right = np.array([0.0, 1.0] * 20 + [0.0] * 10)
    chances_of_one_question = cross_validate(signals, right, [f"q{number}" for number in range(40)] + ["same"] * 10)
    chances_of_ten_questions = cross_validate(signals, right, [f"q{number}" for number in range(50)])
    assert chances_of_one_question[40:].min() > 0.9  # by their signals alone they look surest of all
    assert chances_of_ten_questions[40:].max() < 0.5


@pytest.fixture
def held_out_files(tmp_path: Path) -> tuple[Path, Path]:
    """Records of reading comprehension whose questions are held out for calibration, and wrong passages for each."""
    questions = [f"Where was composer number {number} born?" for number in range(2000)]
    held_out_questions = [
        question for question in questions if is_held_out(Example(question, ""), CALIBRATION_PERCENT)
    ][:12]
    data, negatives = tmp_path / "reading.jsonl.gz", tmp_path / "negatives.jsonl.gz"
    with gzip.open(data, "wt") as reading, gzip.open(negatives, "wt") as wrong:
        for number, question in enumerate(held_out_questions):
            town = TOWNS[number % len(TOWNS)]
            context = f"{question.split(' was ')[1].split(' born')[0]} was born in {town}. He wrote a great deal."
            place = {"text": town, "start": context.index(town)}
            record = {"id": str(number), "question": question, "context": context, "answers": [place], "source": "own"}
            reading.write(json.dumps(record) + "\n")
            texts = ("Tea is a drink.", "The river is long.", "Chess has rules.", "Rain fell.", "A bell rang.")
            wrong.write(
                json.dumps({"question": question, "negatives": [{"title": "", "text": text} for text in texts]}) + "\n"
            )
    return data, negatives


def test_the_command_writes_the_certainty_and_leaves_the_rest(
    held_out_files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "reader.json"
    manifest.write_text((FOLDER / "reader.json").read_text(encoding="utf-8"), encoding="utf-8")
    data, negatives = held_out_files
    certainty.main(["--data", str(data), "--negatives", str(negatives), "--limit", "40", "--manifest", str(manifest)])
    new_manifest = json.loads(manifest.read_text(encoding="utf-8"))
    assert {name: value for name, value in new_manifest.items() if name != "certainty"} == {
        name: value for name, value in read_manifest().items() if name != "certainty"
    }
    assert set(new_manifest["certainty"]["weights"]) == {*SIGNALS, "bias"}
    figures = json.loads(capsys.readouterr().out)
    assert figures["cases"] == 40
    assert 0.4 <= figures["right"] <= 0.6  # half of the cases have their gold passage, which plainly answers
