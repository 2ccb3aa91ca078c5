"""Calibrate the reader's confidence: python -m training.calibrate --help.

Runs the exported reader (no torch) on questions held out of training, with and without their gold passage among wrong
passages that a search for the question found. Writes reader.json, which holds the calibration (see `Calibration` in
quorum.models.embedded.reading) and a hash of the weights. If the new weights contain the same sentence encoder as the
installed reader, reader.json also holds the encoder's present name, so that stored collections stay valid.
"""

import argparse
import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorum.core.text import normalize, squad_f1
from quorum.models.embedded import FOLDER, get_encoder_name
from quorum.models.embedded.batching import Job, JobResult, read_jobs
from quorum.models.embedded.encoder import Encoder
from quorum.models.embedded.reading import Calibration, Reading, find_spans
from training.calibration_cases import HELD_OUT_DATA_HELP, Case, make_cases, read_wrong_passages
from training.examples import read_examples
from training.logistic_regression import fit_logistic_regression
from training.shared_encoder import hash_encoder

# margin and answerable are weights: of the span's score, and of the window's answerability logit.
UNCALIBRATED = Calibration(
    margin=1, answerable=0, bias=0, threshold_one_passage=0, threshold_several_passages=0, window=320, candidate_bonus=0
)
SHARE_WITHOUT_ANSWER = 0.25  # assumed: the share of questions whose passages, five from a search, hold no answer
CANDIDATE_BONUSES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
WINDOW_SIZES = (256, 320, 384)


def run_reader(model: Encoder, cases: Sequence[Case], calibration: Calibration) -> list[JobResult]:
    """What the reader found in each case, in the order of the cases; it reads 64 cases at once."""
    jobs = [Job(case.question, case.passages) for case in cases]
    return [
        result
        for begin in range(0, len(jobs), 64)
        for result in read_jobs(jobs[begin : begin + 64], model, calibration)
    ]


def compute_answer_credit(case: Case, answer: str | None) -> float:
    """The credit of an answer: its F1. None stands for unknown, which gets 1 if the case has no answer, else 0."""
    if answer is None:
        return float(not case.answers)
    return squad_f1(answer, case.answers) if case.answers else 0.0


def find_best_threshold(cases: Sequence[Case], readings: Sequence[Reading]) -> tuple[float, float]:
    """(threshold on the probability, mean credit): the threshold with the highest mean credit. All cases with an answer
    together weigh as much as all cases without one.
    """
    answerable_count = sum(bool(case.answers) for case in cases)
    weights = [0.5 / answerable_count if case.answers else 0.5 / (len(cases) - answerable_count) for case in cases]
    best = (0.5, -1.0)
    for threshold in np.arange(0.02, 0.981, 0.02):
        total = sum(
            weight
            * compute_answer_credit(
                case, reading.spans[0].text if reading.probability >= threshold and reading.spans else None
            )
            for weight, case, reading in zip(weights, cases, readings, strict=True)
        )
        if total > best[1]:
            best = (round(float(threshold), 2), float(total))
    return best


def find_matching_threshold(cases: Sequence[Case], readings: Sequence[Reading]) -> tuple[float, float]:
    """(threshold on the probability, mean credit): the threshold at which the share of "unknown" is closest to
    SHARE_WITHOUT_ANSWER, the share of questions that have no answer. The threshold with the highest credit would give
    far more "unknown", because a right answer gets only its F1 but a right "unknown" gets 1.
    """
    weights = compute_case_weights(cases)

    def compute_unknown_share(threshold: float) -> float:
        unknown = [reading.probability < threshold or not reading.spans for reading in readings]
        return float(np.dot(weights, unknown))

    thresholds = [round(0.02 * step, 2) for step in range(1, 50)]
    best = min(thresholds, key=lambda threshold: abs(compute_unknown_share(threshold) - SHARE_WITHOUT_ANSWER))
    answers = [reading.spans[0].text if reading.probability >= best and reading.spans else None for reading in readings]
    return best, compute_credit(cases, answers)


def compute_case_weights(cases: Sequence[Case]) -> list[float]:
    """The weight of each case; the cases without an answer weigh SHARE_WITHOUT_ANSWER together, and all cases 1."""
    answerable_count = sum(bool(case.answers) for case in cases)
    return [
        (1 - SHARE_WITHOUT_ANSWER) / answerable_count
        if case.answers
        else SHARE_WITHOUT_ANSWER / (len(cases) - answerable_count)
        for case in cases
    ]


def compute_credit(cases: Sequence[Case], answers: Sequence[str | None]) -> float:
    """The mean credit of the answers to cases over several passages, with the weights of `compute_case_weights`."""
    pairs = zip(compute_case_weights(cases), cases, answers, strict=True)
    return sum(weight * compute_answer_credit(case, answer) for weight, case, answer in pairs)


def add_candidate_bonus(reading: Reading, candidates: set[str], bonus: float) -> Reading:
    """The reading with a higher score for each span that is one of the candidates (normalised texts)."""
    spans = [replace(span, score=span.score + bonus * (normalize(span.text) in candidates)) for span in reading.spans]
    spans.sort(key=lambda span: -span.score)
    return Reading(spans, spans[0].score if spans else reading.score)


def calibrate_reader(
    model: Encoder,
    one_passage_cases: list[Case],
    several_passage_cases: list[Case],
    report: Callable[[str], None] = print,
) -> Calibration:
    """Fit the probability of an answer. Then choose the window, the two thresholds and the bonus of candidates: spans
    that the reader also gives as its answer when it reads one passage alone.
    """
    calibration = fit_probability(model, one_passage_cases)
    readings = [result.reading for result in run_reader(model, one_passage_cases, calibration)]
    threshold, credit = find_best_threshold(one_passage_cases, readings)
    calibration = replace(calibration, threshold_one_passage=threshold)
    report(f"one passage: {len(one_passage_cases)} cases, threshold {threshold}, credit {credit:.3f}")
    calibration, readings = choose_window(model, several_passage_cases, calibration, report)
    bonus = choose_candidate_bonus(model, several_passage_cases, readings, calibration, report)
    return replace(calibration, candidate_bonus=bonus)


def fit_probability(model: Encoder, cases: list[Case]) -> Calibration:
    """UNCALIBRATED with fitted weights for the probability that the best span of a window is right.

    The features are the span's score and the window's answerability logit; a span with an F1 of .5 or more counts as
    right.
    """
    feature_rows, labels = [], []
    for case, result in zip(cases, run_reader(model, cases, UNCALIBRATED), strict=True):
        for window, logits in zip(result.windows, result.logits, strict=True):
            for span in find_spans(window, logits, case.passages, UNCALIBRATED, 1):
                feature_rows.append((span.score, logits.answerable))
                labels.append(float(compute_answer_credit(case, span.text) >= 0.5))
    features, right = np.array(feature_rows), np.array(labels)
    weights = fit_logistic_regression(features, right)
    if weights[1] < 0:  # the two signals are correlated: use one of them, not their difference
        span_weight, bias = fit_logistic_regression(features[:, :1], right)
        weights = np.array([span_weight, 0.0, bias])
    return replace(UNCALIBRATED, margin=float(weights[0]), answerable=float(weights[1]), bias=float(weights[2]))


def choose_window(
    model: Encoder, cases: list[Case], calibration: Calibration, report: Callable[[str], None]
) -> tuple[Calibration, list[Reading]]:
    """(calibration, readings of the cases): the given calibration with the window size of the highest credit over cases
    of several passages, and with the threshold for that size.
    """
    trials = []
    for size in WINDOW_SIZES:
        trial = replace(calibration, window=size)
        readings = [result.reading for result in run_reader(model, cases, trial)]
        threshold, credit = find_matching_threshold(cases, readings)
        report(f"several passages, windows of {size}: {len(cases)} cases, threshold {threshold}, credit {credit:.3f}")
        trials.append((credit, replace(trial, threshold_several_passages=threshold), readings))
    _, best_calibration, readings = max(trials, key=lambda item: item[0])
    return best_calibration, readings


def choose_candidate_bonus(
    model: Encoder,
    cases: list[Case],
    readings: list[Reading],
    calibration: Calibration,
    report: Callable[[str], None],
) -> float:
    """Return the bonus with the highest mean credit; of equally good ones, the smallest. A span gets the bonus if the
    reader also gives it as its answer when it reads one of the case's passages alone. readings: for each case, what the
    reader found in all its passages together.
    """
    single_passage_cases = [Case(case.question, case.answers, (p,)) for case in cases for p in case.passages]
    single_results = run_reader(model, single_passage_cases, calibration)
    credits = []
    for bonus in CANDIDATE_BONUSES:
        answers, begin = [], 0
        for case, reading in zip(cases, readings, strict=True):
            one_passage_readings = [result.reading for result in single_results[begin : begin + len(case.passages)]]
            begin += len(case.passages)
            candidates = {
                normalize(r.spans[0].text)
                for r in one_passage_readings
                if r.spans and r.probability >= calibration.threshold_one_passage
            }
            reading_with_bonus = add_candidate_bonus(reading, candidates, bonus)
            has_answer = (
                reading_with_bonus.spans and reading_with_bonus.probability >= calibration.threshold_several_passages
            )
            answers.append(reading_with_bonus.spans[0].text if has_answer else None)
        credit = compute_credit(cases, answers)
        credits.append((credit, bonus))
        report(f"candidate bonus {bonus}: credit {credit:.3f}")
    return max(credits, key=lambda item: (item[0], -item[1]))[1]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.calibrate", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where reader.onnx and vocab.txt are")
    parser.add_argument("--data", type=Path, nargs="+", required=True, help=HELD_OUT_DATA_HELP)
    parser.add_argument(
        "--negatives", type=Path, required=True, help="mined wrong passages, at least 5 for each question"
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=600,
        help="use at most so many cases over several passages, and at most three times as many over one passage",
    )
    options = parser.parse_args(arguments)
    examples = [example for path in options.data for example in read_examples(path)]
    random.Random(0).shuffle(examples)
    # Examples of Natural Questions come first, so that the first --limit cases over several passages are theirs.
    examples.sort(key=lambda example: not example.source.startswith("nq"))
    one_passage_cases, several_passage_cases = make_cases(examples, read_wrong_passages(options.negatives))
    model = Encoder(options.folder)
    random.Random(1).shuffle(one_passage_cases)
    calibration = calibrate_reader(
        model, one_passage_cases[: 3 * options.limit], several_passage_cases[: options.limit]
    )
    digest = hashlib.sha256((options.folder / "reader.onnx").read_bytes()).hexdigest()
    rounded_values = {
        name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(calibration).items()
    }
    manifest: dict[str, Any] = {"sha256": digest, "calibration": rounded_values}
    if hash_encoder(options.folder / "reader.onnx") == hash_encoder(FOLDER / "reader.onnx"):
        manifest["embeddings"] = get_encoder_name()  # the installed file's name: stored collections stay valid
    text = json.dumps(manifest, indent=2) + "\n"
    (options.folder / "reader.json").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
