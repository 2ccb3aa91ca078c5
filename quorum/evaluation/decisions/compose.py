"""Designs a cascade from compared methods and certifies it on other questions, without a further model call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorum.algorithms.cascade_certificates import CascadeCertificate, certify_cascades, compute_losses
from quorum.algorithms.cascade_design import DESIGN_DIVISOR, design_cascades, split_questions
from quorum.algorithms.cascades import Cascade, RecordedAnswers, Stage, compute_stage_shares, replay_cascade
from quorum.algorithms.paired import count_fewest_questions, estimate_questions_to_certify
from quorum.core.composed_file import FILE_KIND
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.compare.format_figures import format_dollars, format_percent
from quorum.evaluation.decisions.answer_table import COST_UNITS, Unit, make_answer_table
from quorum.evaluation.decisions.recorded_results import RecordedResults
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.result_files import write_json
from quorum.prompts import BUILT_IN

LOSE_AT_MOST, CONFIDENCE, SEED = 0.03, 0.9, 0
ROUNDED_DIGITS = 6


@dataclass(frozen=True)
class ComposeResult:
    """The result of `compose`.

    cascade: the certified cascade, or the best single method if none is certified; certificate: that of the cascade,
    None for a single method. certificates: the tests of all candidates, in order. best: the best single method;
    best_score, best_cost: its score and cost over all questions; score, cost: those of the cascade, computed from the
    recorded answers; shares: the share of questions that reach each stage. questions: how many there are; certifying:
    how many of them the certificate is computed from. needed: about how many questions would
    certify the first cascade that failed, None if unknown.
    """

    cascade: Cascade
    certificate: CascadeCertificate | None
    certificates: tuple[CascadeCertificate, ...]
    best: str
    best_score: float
    best_cost: float
    score: float
    cost: float
    shares: Mapping[str, float]
    questions: int
    certifying: int
    needed: int | None

    @property
    def saved_share(self) -> float:
        """The share of the best method's cost that the cascade saves."""
        return 1 - self.cost / self.best_cost if self.best_cost else 0.0


@dataclass(frozen=True)
class Guarantee:
    """The terms of the promise: the largest loss, its error, the unit of cost, the cost of a wrong answer."""

    lose_at_most: float = LOSE_AT_MOST
    error: float = round(1 - CONFIDENCE, 12)
    unit: Unit = "tokens"
    wrong_cost: float = 0.0
    seed: int = SEED


def check_guarantee(terms: Guarantee) -> None:
    if terms.unit not in COST_UNITS:
        raise SetupError(f"--cost {terms.unit!r} does not fit; choose one of: {', '.join(COST_UNITS)}.")
    if terms.seed < 0:
        raise SetupError(f"--seed {terms.seed} does not fit; give a whole number from 0 on.")
    if not 1e-6 <= terms.lose_at_most < 1:
        raise SetupError(
            f"--lose-at-most {terms.lose_at_most:g} does not fit; give the loss that you would accept, such as 0.03."
        )


def count_questions_to_compose(terms: Guarantee) -> int:
    """The smallest number of questions that can certify anything under these terms."""
    certifying = count_fewest_questions(terms.lose_at_most / (1 + terms.wrong_cost), terms.error)
    return -(-certifying * DESIGN_DIVISOR // (DESIGN_DIVISOR - 1))


def compose(results: RecordedResults, terms: Guarantee, prices: Path | None = None) -> ComposeResult:
    """Design on a third of the questions, certify on the others. Raises `SetupError` for too few questions."""
    check_guarantee(terms)
    recorded = make_answer_table(results, terms.unit, wrong_cost=terms.wrong_cost, prices=prices)
    fewest, groups = count_questions_to_compose(terms), len(np.unique(recorded.group))
    if groups < fewest:
        raise SetupError(
            f"{format_count(groups, 'question')} are too few to lose {terms.lose_at_most:g} at most: at least {fewest} "
            "are needed; compare on more questions, or give a larger --lose-at-most."
        )
    return choose_cascade(recorded, terms)


def choose_cascade(recorded: RecordedAnswers, terms: Guarantee) -> ComposeResult:
    """Design and certify a cascade from the tables of the answers; see `compose`."""
    design_questions, certifying_questions = split_questions(recorded.group, terms.seed)
    certifying_answers = recorded.select_questions(certifying_questions)
    certificates = certify_cascades(
        certifying_answers,
        design_cascades(recorded.select_questions(design_questions)),
        terms.lose_at_most,
        terms.error,
        terms.wrong_cost,
    )
    score, cost = recorded.lowest_worth.mean(axis=1), recorded.cost.mean(axis=1)
    best = max(range(len(recorded.methods)), key=lambda place: (score[place], -cost[place]))
    passed = [certificate for certificate in certificates if certificate.passed]
    cheaper = [
        certificate for certificate in passed if average_cost(recorded, certificate.candidate.cascade) < cost[best]
    ]
    single: Cascade = (Stage(recorded.methods[best], None),)
    chosen_certificate = min(
        cheaper, key=lambda certificate: average_cost(recorded, certificate.candidate.cascade), default=None
    )
    cascade = chosen_certificate.candidate.cascade if chosen_certificate else single
    replayed = replay_cascade(recorded, cascade)
    return ComposeResult(
        cascade=cascade,
        certificate=chosen_certificate,
        certificates=tuple(certificates),
        best=recorded.methods[best],
        best_score=float(score[best]),
        best_cost=float(cost[best]),
        score=float(replayed.lowest_worth.mean()),
        cost=float(replayed.cost.mean()),
        shares=compute_stage_shares(recorded, cascade),
        questions=recorded.questions,
        certifying=len(certifying_questions),
        needed=None if passed else estimate_questions_needed(certifying_answers, certificates, terms),
    )


def average_cost(recorded: RecordedAnswers, cascade: Cascade) -> float:
    return float(replay_cascade(recorded, cascade).cost.mean())


def estimate_questions_needed(
    certifying_answers: RecordedAnswers, certificates: Sequence[CascadeCertificate], terms: Guarantee
) -> int | None:
    """About how many questions in all would certify the failed cascade, if the losses stayed as they are here."""
    if not certificates:
        return None
    cascade, margin = certificates[-1].candidate.cascade, terms.lose_at_most / (1 + terms.wrong_cost)
    estimates = [
        estimate_questions_to_certify(losses, margin, terms.error)
        for losses in compute_losses(certifying_answers, cascade, terms.wrong_cost).values()
    ]
    known_estimates = [questions for questions in estimates if questions is not None]
    if len(known_estimates) < len(estimates) or not known_estimates:
        return None
    return max(
        -(-max(known_estimates) * DESIGN_DIVISOR // (DESIGN_DIVISOR - 1)),
        certifying_answers.questions * DESIGN_DIVISOR // (DESIGN_DIVISOR - 1) + 1,
    )


def make_composed_file(results: RecordedResults, composed: ComposeResult, terms: Guarantee) -> dict[str, Any]:
    """The content of composed.json: the stages with their settings, the certificate, and the data behind it."""
    certified = composed.certificate
    certificate = None
    if certified is not None:
        certificate = {
            "lose_at_most": terms.lose_at_most,
            "confidence": round(1 - terms.error, 12),
            "p": round(certified.p_value, ROUNDED_DIGITS),
            "against": certified.rival,
            "loss": round(certified.loss, ROUNDED_DIGITS),
            "questions": composed.certifying,
            "seed": terms.seed,
            "wrong_cost": terms.wrong_cost,
            "measure": results.measure,
        }
    return {
        "kind": FILE_KIND,
        "stages": [describe_stage(results, stage) for stage in composed.cascade],
        "certificate": certificate,
        "expected": {
            "score": round(composed.score, ROUNDED_DIGITS),
            terms.unit: round(composed.cost, ROUNDED_DIGITS),
            "reached": {name: round(share, ROUNDED_DIGITS) for name, share in composed.shares.items()},
            "best": composed.best,
            "best_score": round(composed.best_score, ROUNDED_DIGITS),
            f"best_{terms.unit}": round(composed.best_cost, ROUNDED_DIGITS),
        },
        "questions": composed.questions,
        "questions_needed": composed.needed,
        "data": dict(results.data_and_source),
        "collection": describe_collection(results),
    }


def describe_collection(results: RecordedResults) -> dict[str, str | None] | None:
    """The collection that was searched and its revision; None if a corpus or the questions' passages were read."""
    source = results.config.get("source") or {}
    if source.get("collection") is None:
        return None
    return {"name": str(source["collection"]), "revision": source.get("revision")}


def describe_stage(results: RecordedResults, stage: Stage) -> dict[str, Any]:
    """A stage with the settings that it was measured with, and the versions of the prompts that it sent."""
    settings = {name: value for name, value in results.get_settings(stage.method).items() if name != "graph"}
    if "top" in settings or "gold" in settings:
        raise SetupError(f"{stage.method} read passages that the experiment chose, so it cannot be part of a cascade.")
    method = settings.pop("method", stage.method)
    accept = None if stage.accept is None else {"test": stage.accept.test, "at_least": stage.accept.at_least}
    system = settings.pop("system", None)
    versions = {**results.config.get("prompts", {}), **(settings.get("prompts") or {})}
    sent_prompts = list_prompts(results, stage.method) or set(BUILT_IN)
    return {
        "name": stage.method,
        "method": method,
        "accept": accept,
        "settings": settings,
        "prompts": {name: versions[name] for name in sorted(sent_prompts) if name in versions},
        **({} if system is None else {"system": system}),
    }


def list_prompts(results: RecordedResults, method: str) -> set[str]:
    """The prompts that the method sent in these results; empty if the results have no details."""
    prompts: set[str] = set()
    with LineIndex(results.folder / "details.jsonl") as details:
        for id_ in results.ids:
            line = details.get(method, id_)
            prompts |= set(line["usage"]) if line is not None else set()
    return prompts


def write_composed(path: Path, content: Mapping[str, Any]) -> None:
    """Write the whole file at once. Raises `SetupError` if it cannot be written."""
    if not path.parent.is_dir():
        raise SetupError(f"{path} cannot be written: there is no folder {path.parent}; give another with --out.")
    write_json(path, content)


def describe_composed(composed: ComposeResult, terms: Guarantee) -> list[str]:
    """The result in sentences."""
    if composed.certificate is None:
        return describe_single_method(composed, terms)
    steps = [
        f"{stage.method} ({stage.accept.describe()}; asked {format_percent(composed.shares[stage.method], 0)})"
        if stage.accept
        else f"{stage.method} (asked {format_percent(composed.shares[stage.method], 0)})"
        for stage in composed.cascade
    ]
    change = 100 * (composed.score - composed.best_score)
    return [
        f"Ask {', else '.join(steps)}.",
        f"It takes {format_cost(composed.cost, terms.unit)} a question, {format_percent(composed.saved_share, 0)} less "
        f"than {composed.best} ({format_cost(composed.best_cost, terms.unit)}), and scored {change:+.1f} points "
        "against it.",
        f"On questions like these it loses at most {100 * terms.lose_at_most:g} points to the best single method, with "
        f"confidence {1 - terms.error:g} (p = {composed.certificate.p_value:.3f} over {composed.certifying:,} "
        "questions that were not used to design it).",
    ]


def describe_single_method(composed: ComposeResult, terms: Guarantee) -> list[str]:
    """The sentences if no cascade is certified: the best single method, and what would help."""
    loss = f"{100 * terms.lose_at_most:g} points"
    if not composed.certificates or composed.certificates[0].passed:
        return [f"No cascade is cheaper than {composed.best}, the best single method: ask {composed.best}."]
    advice = (
        f"about {composed.needed:,} questions would be enough"
        if composed.needed
        else "more questions would hardly help, a larger --lose-at-most might"
    )
    return [
        f"No cascade can be certified to lose {loss} at most from {composed.certifying:,} questions; {advice}.",
        f"Ask {composed.best}, the best single method ({format_percent(composed.best_score)}, "
        f"{format_cost(composed.best_cost, terms.unit)} a question).",
    ]


def format_cost(cost: float, unit: Unit) -> str:
    """'612 tokens', '2.4 calls', '$0.0012'."""
    return (
        format_dollars(cost)
        if unit == "dollars"
        else f"{cost:,.0f} tokens"
        if unit == "tokens"
        else f"{cost:.1f} calls"
    )
