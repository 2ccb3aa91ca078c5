"""Scorers: pure functions of a result and the gold answers, usable alone and by `langsmith.evaluate`.

Each takes `outputs` (a `Result`) and `reference_outputs` ({"answers": [accepted answer, ...]}) and returns a number or
a truth value, None where the method gives nothing to measure. A question whose `answers` are empty has no answer in the
data: "unknown" is right.
"""

from collections.abc import Sequence
from typing import TypedDict

from core import text
from core.state import Result


class Reference(TypedDict):
    """What a question is scored against; no answers: "unknown" is right."""

    answers: list[str]


class Scores(TypedDict):
    """The measures of one answered question. `not_majority` and `gold_in_pool` are null without a pool of votes."""

    em: float
    f1: float
    unknown: bool
    not_majority: bool | None
    gold_in_pool: bool | None


def unknown(outputs: Result, reference_outputs: Reference | None = None) -> bool:
    """Whether the method gave no answer (%Unk)."""
    return outputs["unknown"]


def em(outputs: Result, reference_outputs: Reference) -> float:
    """Exact match in 0..1 (SQuAD normalisation, any gold answer)."""
    golds = reference_outputs["answers"]
    return text.exact_match(outputs["answer"], golds) if golds else float(unknown(outputs))


def f1(outputs: Result, reference_outputs: Reference) -> float:
    """Token F1 in 0..1, the best over the gold answers. The words of a refusal earn nothing."""
    if unknown(outputs) or not reference_outputs["answers"]:
        return em(outputs, reference_outputs)
    return text.f1(outputs["answer"], reference_outputs["answers"])


def pool(outputs: Result) -> list[str] | None:
    """The known answers that were voted on; None where no vote was held."""
    votes = outputs.get("votes")
    return None if votes is None else [vote["answer"] for vote in votes if not vote["unknown"]]


def gold_in_pool(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether any of the answers voted on is right, by exact match."""
    answers = pool(outputs)
    return None if answers is None else any(text.exact_match(one, reference_outputs["answers"]) for one in answers)


def not_majority(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether a right answer was in the pool and the final answer is wrong (%NM; Liu et al. 2024, section 4)."""
    found = gold_in_pool(outputs, reference_outputs)
    return None if found is None else found and em(outputs, reference_outputs) == 0


def score(result: Result, answers: Sequence[str]) -> Scores:
    """All measures of one result."""
    reference = Reference(answers=list(answers))
    return Scores(
        em=em(result, reference),
        f1=f1(result, reference),
        unknown=unknown(result),
        not_majority=not_majority(result, reference),
        gold_in_pool=gold_in_pool(result, reference),
    )
