"""Designs a cascade of compared methods on some of the compared questions, and certifies it on the others.

No model is called: the comparison has recorded the answers of all methods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quorum.algorithms.cascade_certificates import CascadeCertificate, certify_cascades, compute_losses_by_method
from quorum.algorithms.cascade_design import DESIGN_DIVISOR, design_cascades, split_questions
from quorum.algorithms.cascades import Cascade, RecordedAnswers, Stage, compute_stage_shares, replay_cascade
from quorum.algorithms.paired import NUISANCE_ERROR, count_fewest_questions, estimate_questions_to_certify
from quorum.algorithms.recommend import MARGIN, Choice
from quorum.core.errors import SetupError
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN
from quorum.evaluation.decisions.answer_table import COST_UNITS, Unit, make_answer_table
from quorum.evaluation.decisions.choose import choose_recorded_method
from quorum.evaluation.decisions.recorded_results import RecordedResults, format_question_groups
from quorum.evaluation.run.options import check_margin

LOSE_AT_MOST, CONFIDENCE, SEED = 0.03, 0.9, 0


@dataclass(frozen=True)
class ComposeResult:
    """The result of `compose`.

    cascade: the cheapest certified cascade, which may be a single method that may be the best; certificate: the
    certificate of this cascade. If no certified cascade is cheaper than the method with the highest mean, `cascade` is
    the recommended single method and `certificate` is None. choice: what the rule of recommendation says of the single
    methods (`quorum.algorithms.recommend`).
    certificates: one for each tested candidate, in the order of the tests; the tests end with the first candidate that
    fails.

    best: the single method with the highest mean; best_score, best_cost: its mean score and its mean cost over all
    questions; score, cost: the same for the cascade, computed from the recorded answers; stage_shares: by method, the
    share of questions that reach its stage. question_count: the number of all questions; certifying_count: the number
    of questions from which the certificates are computed. questions_needed: if the first candidate failed, about how
    many questions in all would certify it; None if it passed, or if the number is unknown.
    """

    cascade: Cascade
    certificate: CascadeCertificate | None
    certificates: tuple[CascadeCertificate, ...]
    best: str
    best_score: float
    best_cost: float
    score: float
    cost: float
    stage_shares: Mapping[str, float]
    question_count: int
    certifying_count: int
    questions_needed: int | None
    choice: Choice

    @property
    def saved_share(self) -> float:
        """The share of the best method's cost that the cascade saves."""
        return 1 - self.cost / self.best_cost if self.best_cost else 0.0


@dataclass(frozen=True)
class Guarantee:
    """The promise that the cascade scores at most `lose_at_most` less than the best single method. The promise is
    broken with a probability of at most `error`.

    unit: the unit of cost; wrong_cost: what a wrong answer costs, if a right one is worth 1; seed: the seed of the
    random split of the questions; margin: that of the recommendation of a single method.
    """

    lose_at_most: float = LOSE_AT_MOST
    error: float = round(1 - CONFIDENCE, 12)
    unit: Unit = "tokens"
    wrong_cost: float = 0.0
    seed: int = SEED
    margin: float = MARGIN


def check_guarantee(guarantee: Guarantee) -> None:
    """Raise a `SetupError` if an option of `quorum compose` has a value that cannot be used."""
    if guarantee.unit not in COST_UNITS:
        raise SetupError(f"--cost {guarantee.unit!r} does not fit; choose one of: {', '.join(COST_UNITS)}.")
    if guarantee.seed < 0:
        raise SetupError(f"--seed {guarantee.seed} does not fit; give a whole number from 0 on.")
    if not 1e-6 <= guarantee.lose_at_most < 1:
        raise SetupError(
            f"--lose-at-most {guarantee.lose_at_most:g} does not fit; give the loss that you would accept, above 0 and "
            "below 1, such as 0.03."
        )
    # If answers are scored as right or wrong, no p-value is below NUISANCE_ERROR (see `compute_margin_p_value`).
    if guarantee.error <= NUISANCE_ERROR:
        raise SetupError(
            f"--confidence {1 - guarantee.error:g} cannot be certified; give a probability below "
            f"{1 - NUISANCE_ERROR:g}."
        )


def count_questions_to_compose(guarantee: Guarantee) -> int:
    """The fewest questions that `compose` accepts; questions of the same document or conversation count as one.

    This number is just enough to certify a cascade whose answers are never better or worse than those of the best
    single method.
    """
    certifying = count_fewest_questions(guarantee.lose_at_most / (1 + guarantee.wrong_cost), guarantee.error)
    return -(-certifying * DESIGN_DIVISOR // (DESIGN_DIVISOR - 1))


def compose(results: RecordedResults, guarantee: Guarantee, prices: Path | None = None) -> ComposeResult:
    """Design a cascade on a third of the questions, and certify it on the others.

    prices: a file of prices, for the unit "dollars". Raises `SetupError` for too few questions and for an option that
    cannot be used.
    """
    check_guarantee(guarantee)
    check_one_collection(results)
    recorded_answers = make_answer_table(results, guarantee.unit, wrong_cost=guarantee.wrong_cost, prices=prices)
    fewest, group_count = count_questions_to_compose(guarantee), len(np.unique(recorded_answers.question_groups))
    if group_count < fewest:
        raise SetupError(
            f"{format_question_groups(group_count, recorded_answers.question_count)} are too few to certify a loss of "
            f"at most {guarantee.lose_at_most:g}: at least {fewest} are needed; compare on more questions, or give a "
            "larger --lose-at-most."
        )
    costs = dict(zip(recorded_answers.methods, recorded_answers.cost.mean(axis=1).tolist(), strict=True))
    choice = choose_recorded_method(
        results, costs=costs, wrong_cost=guarantee.wrong_cost, margin=check_margin(guarantee.margin)
    )
    if choice is None:
        raise SetupError(f"No method of {results.folder} answered a question; ask the questions again.")
    return choose_cascade(recorded_answers, guarantee, choice)


def check_one_collection(results: RecordedResults) -> None:
    """Raise a `SetupError` if a method names the collection that it searches: the stages of a cascade search the same
    one, and without this method the promise would not be about the best single method.
    """
    collections = (results.config.get("source") or {}).get("collections", {})
    if named := [name for name in results.methods if name in collections]:
        raise SetupError(
            f"{named[0]} in {results.folder} names the collection that it searches, and all stages of a cascade search "
            "the same one; compare the methods over one collection, then compose."
        )


def choose_cascade(recorded_answers: RecordedAnswers, guarantee: Guarantee, choice: Choice) -> ComposeResult:
    """Design and certify a cascade from the tables of the answers; see `compose`.

    choice: what the rule of recommendation says of the single methods. A single method that is not among the best is
    not proposed, however cheap it is.
    """
    design_questions, certifying_questions = split_questions(recorded_answers.question_groups, guarantee.seed)
    certifying_answers = recorded_answers.select_questions(certifying_questions)
    certificates = certify_cascades(
        certifying_answers,
        design_cascades(recorded_answers.select_questions(design_questions)),
        guarantee.lose_at_most,
        guarantee.error,
        guarantee.wrong_cost,
    )
    # By method. If a method failed on a question, its lowest possible worth counts there.
    mean_scores, mean_costs = recorded_answers.lowest_worth.mean(axis=1), recorded_answers.cost.mean(axis=1)
    best = max(range(len(recorded_answers.methods)), key=lambda method: (mean_scores[method], -mean_costs[method]))
    passed_certificates = [certificate for certificate in certificates if certificate.is_passed]
    cheaper_certificates = [
        certificate
        for certificate in passed_certificates
        if average_cost(recorded_answers, certificate.candidate.cascade) < mean_costs[best]
        and not is_behind(certificate.candidate.cascade, choice)
    ]
    single_name = recorded_answers.methods[best] if choice.recommended == ALWAYS_UNKNOWN else choice.recommended
    single_method: Cascade = (Stage(single_name, None),)
    chosen_certificate = min(
        cheaper_certificates,
        key=lambda certificate: average_cost(recorded_answers, certificate.candidate.cascade),
        default=None,
    )
    cascade = chosen_certificate.candidate.cascade if chosen_certificate else single_method
    replayed_cascade = replay_cascade(recorded_answers, cascade)
    return ComposeResult(
        cascade=cascade,
        certificate=chosen_certificate,
        certificates=tuple(certificates),
        best=recorded_answers.methods[best],
        best_score=float(mean_scores[best]),
        best_cost=float(mean_costs[best]),
        score=float(replayed_cascade.lowest_worth.mean()),
        cost=float(replayed_cascade.cost.mean()),
        stage_shares=compute_stage_shares(recorded_answers, cascade),
        question_count=recorded_answers.question_count,
        certifying_count=len(certifying_questions),
        questions_needed=None
        if passed_certificates
        else estimate_questions_needed(recorded_answers, certifying_answers, certificates, guarantee),
        choice=choice,
    )


def is_behind(cascade: Cascade, choice: Choice) -> bool:
    """Whether the cascade is a single method that is not among the best."""
    return len(cascade) == 1 and cascade[0].method in choice.not_among_best


def average_cost(recorded_answers: RecordedAnswers, cascade: Cascade) -> float:
    """The mean cost of the cascade's answer to a recorded question."""
    return float(replay_cascade(recorded_answers, cascade).cost.mean())


def estimate_questions_needed(
    recorded_answers: RecordedAnswers,
    certifying_answers: RecordedAnswers,
    certificates: Sequence[CascadeCertificate],
    guarantee: Guarantee,
) -> int | None:
    """About how many questions in all would certify the last candidate tested, which failed, if its losses stayed as
    they are here. None if the number is unknown, or if nothing was tested.

    The tests count the questions of a document or conversation as one. So we estimate how many such groups are needed,
    and multiply by the mean number of questions in a group.
    """
    if not certificates:
        return None
    cascade, margin = certificates[-1].candidate.cascade, guarantee.lose_at_most / (1 + guarantee.wrong_cost)
    estimates = [
        estimate_questions_to_certify(losses, margin, guarantee.error)
        for losses in compute_losses_by_method(certifying_answers, cascade, guarantee.wrong_cost).values()
    ]
    known_estimates = [estimate for estimate in estimates if estimate is not None]
    if len(known_estimates) < len(estimates) or not known_estimates:
        return None
    # The test uses only the groups that the design does not use, so more groups are needed in all. And because it
    # failed with the groups recorded here, more than these are needed.
    groups_needed = max(
        -(-max(known_estimates) * DESIGN_DIVISOR // (DESIGN_DIVISOR - 1)),
        len(np.unique(certifying_answers.question_groups)) * DESIGN_DIVISOR // (DESIGN_DIVISOR - 1) + 1,
    )
    group_count = len(np.unique(recorded_answers.question_groups))
    return -(-groups_needed * recorded_answers.question_count // group_count)
