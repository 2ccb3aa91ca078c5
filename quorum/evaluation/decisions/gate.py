"""Decides whether a new system may replace the one in use: pass, fail or cannot tell (`quorum gate`)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from quorum.algorithms.cascade_certificates import average_by_group
from quorum.algorithms.paired import (
    compute_margin_p_value,
    compute_paired_interval,
    compute_superiority_p_value,
    count_fewest_questions,
    estimate_questions_to_certify,
)
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.compare.format_figures import format_signed
from quorum.evaluation.decisions.choose import choose_recorded_method
from quorum.evaluation.decisions.recorded_results import RecordedResults, check_method, format_question_groups
from quorum.evaluation.run.config_file import list_differences

GATE_ERROR = 0.05
Verdict = Literal["pass", "fail", "cannot tell"]
EXIT_CODES: Mapping[Verdict, int] = {"pass": 0, "fail": 1, "cannot tell": 3}


@dataclass(frozen=True)
class LabelCounts:
    """Of a gate by labels: on how many questions the answers differ, and how many of these are labelled or skipped.

    judged_worth: with a judge's verdicts, as how many labels they count; is_grouped: whether questions share documents;
    are_few: whether the labels are too few for a verdict; skipped: on how many of the labelled an answer was skipped.
    """

    differing: int
    labelled: int
    judged_worth: float | None = None
    is_grouped: bool = False
    are_few: bool = False
    skipped: int = 0


@dataclass(frozen=True)
class Gate:
    """The verdict on a new system against a baseline.

    loss: the mean of baseline minus new, in the unit of the measure; low, high: its 95% interval; p_pass: the p-value
    of "the loss is at least the margin"; p_fail: the p-value of "there is no loss"; question_count: the number of
    questions; n: the number of questions if those of one document or conversation count as one; questions_needed: about
    how large n would have to be for a pass or a fail, None if that is unknown or the verdict is already one of these.
    recommended, is_new_among_best: if the results of the new system hold other methods as well, which of them is
    recommended there (see `quorum.algorithms.recommend`), and whether the new system may be the best of them; else
    None.
    """

    verdict: Verdict
    baseline: str
    new: str
    measure: str
    margin: float
    wrong_cost: float
    n: int
    loss: float
    low: float
    high: float
    p_pass: float
    p_fail: float
    questions_needed: int | None
    question_count: int
    recommended: str | None = None
    is_new_among_best: bool | None = None
    labels: LabelCounts | None = None

    def to_json(self) -> dict[str, Any]:
        content = asdict(self)
        return content if self.labels is not None else {key: value for key, value in content.items() if key != "labels"}


def decide_gate(
    baseline: RecordedResults,
    new: RecordedResults,
    margin: float,
    *,
    methods: tuple[str | None, str | None] = (None, None),
    wrong_cost: float = 0.0,
    error: float = GATE_ERROR,
) -> Gate:
    """Pass if the loss is surely below the margin, fail if there surely is a loss, else "cannot tell".

    Only one of the null hypotheses "the loss is at least the margin" and "there is no loss" can be true. So only one of
    the tests can err, and the verdict is wrong with a probability of at most `error`. If a method failed on a question,
    the worth of its answer is not known: each test then takes the worth that makes the test's null hypothesis harder to
    reject.

    methods: the method to take from `baseline` and the one to take from `new`; None if these results hold only one.
    """
    check_margin_of_gate(margin)
    check_comparable(baseline, new)
    baseline_method, new_method = choose_method(baseline, methods[0]), choose_method(new, methods[1])
    baseline_low, baseline_high = align_worth(baseline, baseline_method, baseline.ids, wrong_cost)
    new_low, new_high = align_worth(new, new_method, baseline.ids, wrong_cost)
    scale = 1 + wrong_cost
    smallest, largest = (baseline_low - new_high) / scale, (baseline_high - new_low) / scale
    methods_found = baseline_method, new_method
    gate = decide_by_losses(baseline, methods_found, smallest, largest, margin, wrong_cost, error)
    choice = choose_recorded_method(new, wrong_cost=wrong_cost) if len(new.complete_methods) > 1 else None
    if choice is None:
        return gate
    return replace(gate, recommended=choice.recommended, is_new_among_best=new_method in choice.may_be_best)


def check_margin_of_gate(margin: float) -> None:
    if not 1e-6 <= margin < 1:
        raise SetupError(
            f"--margin {margin:g} does not fit; give the loss that would matter, above 0 and below 1, such as 0.03."
        )


def decide_by_losses(
    baseline: RecordedResults,
    methods: tuple[str, str],
    smallest: np.ndarray,
    largest: np.ndarray,
    margin: float,
    wrong_cost: float,
    error: float,
) -> Gate:
    """The verdict from the smallest and the largest possible loss of each question, divided by 1 + `wrong_cost`."""
    scale = 1 + wrong_cost
    largest_losses = average_by_group(largest, baseline.group_numbers)
    smallest_losses = average_by_group(smallest, baseline.group_numbers)
    if len(largest_losses) < (fewest := count_fewest_questions(margin / scale, error)):
        raise SetupError(
            f"{format_question_groups(len(largest_losses), len(baseline.ids))} are too few for a margin of "
            f"{margin:g}: at least {fewest} are needed to show that the loss is below it if the two methods never "
            "differ; ask more questions, or allow a larger margin."
        )
    p_pass = compute_margin_p_value(largest_losses, margin / scale)
    p_fail = compute_superiority_p_value(smallest_losses)
    verdict: Verdict = "pass" if p_pass <= error else "fail" if p_fail <= error else "cannot tell"
    losses = (largest_losses + smallest_losses) / 2
    low, high = compute_paired_interval(smallest_losses)[0], compute_paired_interval(largest_losses)[1]
    questions_needed = None if verdict != "cannot tell" else estimate_questions_needed(losses, margin / scale, error)
    return Gate(
        verdict=verdict,
        baseline=methods[0],
        new=methods[1],
        measure=baseline.measure,
        margin=margin,
        wrong_cost=wrong_cost,
        n=len(losses),
        loss=round(float(losses.mean()) * scale, 6),
        low=round(low * scale, 6),
        high=round(high * scale, 6),
        p_pass=round(p_pass, 6),
        p_fail=round(p_fail, 6),
        questions_needed=questions_needed,
        question_count=len(baseline.ids),
    )


def estimate_questions_needed(losses: np.ndarray, margin: float, error: float) -> int | None:
    """About how many questions would be enough to pass or to fail, if the true loss were the observed one.

    losses: one for each question, or for each group of questions; the result is a number of questions, or of groups.
    margin: in the unit of `losses`.
    """
    estimates = [
        estimate_questions_to_certify(losses, margin, error),
        estimate_questions_to_certify(-losses, 0.0, error),
    ]
    questions_needed = [questions for questions in estimates if questions is not None]
    return max(min(questions_needed), len(losses) + 1) if questions_needed else None


def check_comparable(baseline: RecordedResults, new: RecordedResults) -> None:
    """Raises `SetupError` if the questions, passages or measures of the results differ."""
    lines = list_differences(dict(baseline.data_and_source), dict(new.data_and_source))
    if lines:
        raise SetupError(
            f"{new.folder} and {baseline.folder} are results of different data ({'; '.join(lines[:3])}); evaluate "
            "both on the same questions."
        )
    if baseline.answer_measure != new.answer_measure:
        raise SetupError(
            f"The answers in {baseline.folder} were measured by {baseline.answer_measure}, those in {new.folder} by "
            f"{new.answer_measure}, and results of two measures are not compared; evaluate both by the same one "
            "(--set answer_measure=...)."
        )
    if baseline.measure != new.measure:
        raise SetupError(
            f"The deciding measures differ: {baseline.measure} for {baseline.folder}, {new.measure} for {new.folder}; "
            "name one for both with --measure."
        )
    if set(baseline.ids) != set(new.ids):
        raise SetupError(
            f"{new.folder} holds {format_count(len(new.ids), 'question')}, {baseline.folder} {len(baseline.ids):,}; "
            "finish both evaluations first."
        )


def choose_method(results: RecordedResults, method: str | None) -> str:
    """The named method, or the only method in the results; it must have been asked every question."""
    if method is None and len(results.methods) > 1:
        raise SetupError(
            f"{results.folder} holds {len(results.methods)} methods ({', '.join(results.methods)}); name one as "
            f"{results.folder}:METHOD."
        )
    name = check_method(results, method) if method else results.methods[0]
    if name not in results.complete_methods:
        raise SetupError(f"{name} was not asked all questions of {results.folder}; finish the evaluation first.")
    return name


def align_worth(
    results: RecordedResults, method: str, ids: tuple[str, ...], wrong_cost: float
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest possible worth of each answer of the method, in the order of `ids`."""
    low, high = results.bound_worth(method, wrong_cost)
    place_of_id = {id_: number for number, id_ in enumerate(results.ids)}
    order = [place_of_id[id_] for id_ in ids]
    return low[order], high[order]


def describe_gate(gate: Gate) -> str:
    """The verdict in a sentence, and what a comparison of all methods in the new results says otherwise."""
    return f"{describe_verdict(gate)}{describe_other_methods(gate)}"


def describe_other_methods(gate: Gate) -> str:
    """A sentence if a new system that passes is not among the best of its results, or one that fails may be."""
    if gate.verdict == "pass" and gate.is_new_among_best is False:
        return (
            f" Not among the best of its results (p < .05, corrected): {gate.new}; recommended is {gate.recommended}."
        )
    if gate.verdict == "fail" and gate.recommended == gate.new:
        return (
            f" A comparison of all methods in its results still recommends {gate.new}: a gate tests one pair that was "
            "named beforehand."
        )
    return ""


def describe_verdict(gate: Gate) -> str:
    """The verdict in a sentence."""
    change = f"{format_signed(-gate.loss)} points [{format_signed(-gate.high)}, {format_signed(-gate.low)}]"
    over = f"over {format_question_groups(gate.n, gate.question_count)}"
    if gate.verdict == "pass":
        return f"Pass: {gate.new} loses less than {100 * gate.margin:g} points to {gate.baseline} ({change} {over})."
    if gate.verdict == "fail":
        return f"Fail: {gate.new} is worse than {gate.baseline} ({change} {over})."
    noun = "questions" if gate.n == gate.question_count else "groups of questions"
    questions_needed = (
        f"about {gate.questions_needed:,} {noun} would be enough"
        if gate.questions_needed
        else f"the number of {noun} that would be enough is unknown"
    )
    margin_text = f"{100 * gate.margin:g} points to {gate.baseline}"
    return f"Cannot tell whether {gate.new} loses {margin_text} ({change} {over}); {questions_needed}."
