"""Measures how well confidence predicts right answers: risk-coverage curve, area under it, calibration error.

A method that says unknown abstains. So the curves cover only the answers that it gave, and coverage is their share of
all questions: the end of a curve shows how often the method answers.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from quorum.cascades.composed_file import ComposedCascade, is_composed_file_name, read_composed_cascade
from quorum.cascades.written_cascade import is_written_cascade, read_written_cascade
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Result
from quorum.core.text import UNKNOWN
from quorum.evaluation.metrics.statistics import Floats

BIN_COUNT = 10
# The confidence of these methods is the winner's share of the vote.
VOTING_METHODS = ("post_fusion", "concat_pf", "rerank", "replug")
# The confidence of these methods is the agreement of the samples, if there are several.
SAMPLED_METHODS = (
    "concat",
    "base",
    "no_retrieval",
    "pf_concat",
    "concat_pf",
    "filco",
    "hyde",
    "full_documents",
    "self_route",
    "crag",
)
# The confidence of these methods is the lead of the chosen candidate over the next best. With a single
# candidate, self_verification states the share of samples that gave it, and sure states no confidence.
WEIGHED_METHODS = ("sure", "self_verification")


@dataclass(frozen=True)
class Bin:
    """`count` answers of similar confidence. confidence: their mean confidence; right: the share of right ones."""

    count: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Calibration:
    """How well a method's confidence predicts right answers.

    n: answers with a confidence; of: all answers, also unknown ones. coverage, risk: the points of the curve, from the
    surest answer on: the share of questions answered, and the share of these answers that is wrong. area: the area
    under the curve, which is the mean risk over all coverages (AURC; Geifman and El-Yaniv 2017); best: the area if all
    right answers came first; chance: the area for a random order; ece: the expected calibration error in ten bins of
    equal width (Guo et al. 2017, equation 3).
    """

    n: int
    of: int
    coverage: list[float]
    risk: list[float]
    area: float
    best: float
    chance: float
    ece: float
    bins: list[Bin]

    @property
    def wrong_share(self) -> float:
        """The share that is wrong among the answers with a confidence; the area for a random order equals it."""
        return self.chance


def compute_calibration(
    confidence: ArrayLike, right: ArrayLike, question_count: int | None = None
) -> Calibration | None:
    """The calibration; None if no answer has a confidence and a score.

    confidence: of each answer, in 0..1 (NaN: none); right: the score of each answer, in 0..1 (NaN: none). Answers
    without one of the two are left out. question_count: how many questions count as full coverage; by default the
    number of answers that are not left out.
    """
    confidences, score = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    has_both = ~np.isnan(confidences) & ~np.isnan(score)
    confidences, wrong = confidences[has_both], 1 - score[has_both]
    n = len(confidences)
    if n == 0:
        return None
    risks = compute_selective_risks(confidences, wrong)
    # The curve has one point for each different confidence: no threshold can separate answers of equal confidence.
    ends = np.append(np.flatnonzero(np.diff(-np.sort(-confidences))), n - 1)
    bins = make_bins(confidences, 1 - wrong)
    total = n if question_count is None else question_count
    return Calibration(
        n=n,
        of=total,
        coverage=[float(end + 1) / total for end in ends],
        risk=[float(risks[end]) for end in ends],
        area=float(risks.mean()),
        best=float(compute_selective_risks(-wrong, wrong).mean()),
        chance=float(wrong.mean()),
        ece=sum(item.count * abs(item.confidence - item.right) for item in bins) / n,
        bins=bins,
    )


def compute_selective_risks(confidences: Floats, wrong: Floats) -> Floats:
    """For each i from 1 on, the share of wrong answers among the i surest answers. Answers of equal confidence count
    with their mean, as if their order were random.
    """
    order = np.argsort(-confidences, kind="stable")
    _, group = np.unique(-confidences[order], return_inverse=True)
    means = np.bincount(group, weights=wrong[order]) / np.bincount(group)
    risks: Floats = np.cumsum(means[group]) / np.arange(1, len(confidences) + 1)
    return risks


def make_bins(confidences: Floats, right: Floats) -> list[Bin]:
    """The bins that are not empty, from the lowest confidence on; a confidence of 1 belongs to the last bin."""
    bin_numbers = np.minimum((confidences * BIN_COUNT).astype(int), BIN_COUNT - 1)
    bin_members = [bin_numbers == number for number in range(BIN_COUNT)]
    return [
        Bin(int(is_member.sum()), float(confidences[is_member].mean()), float(right[is_member].mean()))
        for is_member in bin_members
        if is_member.any()
    ]


def check_confidence(method: str, context: Context, cascade: ComposedCascade | None = None) -> None:
    """Raises `SetupError` if the method never states a confidence under these settings.

    method: its name, or the file of a cascade; cascade: the content of this file.
    """
    if cascade is not None:
        if not has_stage_with_confidence(cascade, context):
            raise SetupError(
                f"No stage of the cascade {method} states a confidence, which --abstain-below needs; leave out "
                "--abstain-below, or compose a cascade that asks a voting method such as post_fusion."
            )
        return
    if has_confidence(method, context):
        return
    vote_advice = "set vote=all, or " if method in VOTING_METHODS else ""
    sampling_advice = (
        f"sample its answer ({method} with --set samples=5 --set temperature=0.7), or "
        if method in SAMPLED_METHODS
        else ""
    )
    usable_methods = [name for name in (*VOTING_METHODS, *WEIGHED_METHODS) if has_confidence(name, context)]
    raise SetupError(
        f"The method {method} states no confidence, which --abstain-below needs; {vote_advice}{sampling_advice}"
        f"choose one of these methods: {', '.join(usable_methods)}."
    )


def has_stage_with_confidence(cascade: ComposedCascade, context: Context) -> bool:
    """Whether a stage of the cascade, or of a cascade that is its stage, can state a confidence.

    A stage has the settings with which it was measured, and those of the context where none was recorded.
    """
    for stage in cascade.stages:
        settings = {name: stage.settings[name] for name in ("samples", "vote") if name in stage.settings}
        stage_context = replace(context, **settings)
        if stage.own_system_hash is not None:
            continue  # a user's own system states no confidence
        if is_written_cascade(stage.method) or is_composed_file_name(stage.method):
            read = read_written_cascade if is_written_cascade(stage.method) else read_composed_cascade
            if has_stage_with_confidence(read(stage.method), stage_context):
                return True
        elif has_confidence(stage.method, stage_context):
            return True
    return False


def has_confidence(method: str, context: Context) -> bool:
    """Whether the method can state a confidence under these settings."""
    if method in WEIGHED_METHODS or (method in SAMPLED_METHODS and context.samples > 1):
        return True
    return method in VOTING_METHODS and context.vote == "all"


def abstain_below(result: Result, below: float) -> Result:
    """The result, with the answer "unknown" and no evidence if its confidence is under `below`. An answer without a
    confidence is not changed.
    """
    confidence = result.get("confidence")
    if result["unknown"] or confidence is None or confidence >= below:
        return result
    return {**result, "answer": UNKNOWN, "answer_text": None, "unknown": True, "evidence": [], "citations": None}
