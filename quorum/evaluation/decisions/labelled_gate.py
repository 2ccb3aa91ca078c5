"""The gate by labels of people (`quorum gate --labels`), on those answers of two methods that differ.

If all of these are labelled, the tests are those of every gate, and exact. If only a random part is, a t test takes
their place, whose errors are approximately what they say (`quorum.algorithms.labelled_difference`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quorum.algorithms.labelled_difference import (
    FEWEST_DIFFERENCES,
    FEWEST_LABELS,
    are_enough_labels,
    estimate_difference,
)
from quorum.algorithms.paired import compute_paired_interval
from quorum.evaluation.decisions.answer_labels import LabelledPair
from quorum.evaluation.decisions.gate import (
    GATE_ERROR,
    Gate,
    LabelCounts,
    Verdict,
    check_margin_of_gate,
    decide_by_losses,
)


def decide_labelled_gate(
    pair: LabelledPair, margin: float, *, wrong_cost: float = 0.0, error: float = GATE_ERROR
) -> Gate:
    """The verdict by the labels so far. Skipped answers count, as failed ones do, against what is to be shown; the
    interval holds whatever they are.
    """
    check_margin_of_gate(margin)
    ids, drawn, differing = pair.baseline.ids, pair.drawn, pair.differing
    counts = LabelCounts(len(differing), len(drawn), skipped=sum(map(pair.is_skipped, drawn)))
    if len(drawn) == len(differing):
        low, high = pair.bound_losses(ids, wrong_cost)
        gate = decide_by_losses(pair.baseline, pair.methods, low, high, margin, wrong_cost, error)
        return replace(gate, measure="labels", labels=counts)
    low, high = pair.bound_losses(drawn, wrong_cost)
    scale, share = 1 + wrong_cost, len(differing) / len(ids)
    losses = (low + high) / 2
    is_grouped = len(np.unique(pair.baseline.group_numbers)) < len(ids)
    if is_grouped or not are_enough_labels(losses):
        interval = compute_paired_interval(low)[0], compute_paired_interval(high)[1]
        ends, p_pass, p_fail, judge = [share * end for end in interval], 1.0, 1.0, None
        loss = share * float(losses.mean()) if len(losses) else 0.0
    else:
        judged, rest = judge_both(pair, drawn, differing[len(drawn) :], wrong_cost)
        estimate = estimate_difference(losses, share, len(ids), judged, rest)
        largest = estimate_difference(high, share, len(ids), judged, rest)
        smallest = estimate_difference(low, share, len(ids), judged, rest)
        p_pass, p_fail = 1 - largest.compute_p_value(margin / scale), smallest.compute_p_value(0.0)
        ends, loss = [smallest.compute_interval()[0], largest.compute_interval()[1]], estimate.difference
        judge = estimate.worth if estimate.weight else None
    verdict: Verdict = "pass" if p_pass <= error else "fail" if p_fail <= error else "cannot tell"
    return Gate(
        verdict=verdict,
        baseline=pair.methods[0],
        new=pair.methods[1],
        measure="labels",
        margin=margin,
        wrong_cost=wrong_cost,
        n=len(ids),
        loss=round(loss * scale, 6),
        low=round(ends[0] * scale, 6),
        high=round(ends[1] * scale, 6),
        p_pass=round(p_pass, 6),
        p_fail=round(p_fail, 6),
        questions_needed=None,
        question_count=len(ids),
        labels=replace(counts, judged_worth=judge, is_grouped=is_grouped, are_few=not are_enough_labels(losses)),
    )


def judge_both(
    pair: LabelledPair, drawn: Sequence[str], rest: Sequence[str], wrong_cost: float
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The judge's differences on labelled and unlabelled questions; (None, None) if it has not judged all of them."""
    if wrong_cost:  # its verdicts are about right and wrong
        return None, None
    judged, judged_rest = pair.compute_judged(drawn), pair.compute_judged(rest)
    return (None, None) if judged is None or judged_rest is None else (judged, judged_rest)


def describe_labels_of_gate(counts: LabelCounts) -> str:
    """What the verdict comes from, and what would help."""
    by = f" By people's labels: {counts.labelled:,} of {counts.differing:,} questions whose answers differ"
    if counts.skipped:
        by += f", of which {counts.skipped:,} skipped"
    if counts.labelled == counts.differing:
        return f"{by}."
    if counts.is_grouped:
        return f"{by}; questions of one document are not independent, so label all of them."
    if counts.are_few:
        return (
            f"{by}; it takes {FEWEST_LABELS} labelled ones at least, with {FEWEST_DIFFERENCES} on which just one "
            "answer is right, or all."
        )
    judge = (
        "" if counts.judged_worth is None else f", which count as {counts.judged_worth:.0f} with the judge's verdicts"
    )
    return (
        f"{by}{judge}; approximately: a wrong verdict has a probability of about 5%, if you decided beforehand how "
        "many to label."
    )
