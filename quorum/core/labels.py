"""Answers that only judge: the labels of a fact check (Thorne et al. 2018, FEVER), and yes or no."""

from collections.abc import Iterable

from quorum.core.text import is_unknown, normalize

SUPPORTS, REFUTES, NOT_ENOUGH_INFO = LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
VERDICTS = frozenset({"yes", "no", *(label.lower() for label in LABELS)})


def is_verdict(answer: str) -> bool:
    """Whether an answer only judges: it stands in no passage."""
    return normalize(answer) in VERDICTS


def are_verdicts(answers: Iterable[str]) -> bool:
    """Whether there are answers and all of them only judge."""
    judged = [is_verdict(answer) for answer in answers]
    return bool(judged) and all(judged)


def type_of(answers: Iterable[str]) -> str:
    """The answer_type of a question that has these gold answers and names none: label, yes_no or short."""
    found = list(answers)
    if not are_verdicts(found):
        return "short"
    return "yes_no" if all(normalize(answer) in ("yes", "no") for answer in found) else "label"


def is_silent(answer: str, answer_type: str) -> bool:
    """Whether an answer is unknown. Where labels are asked for, NOT ENOUGH INFO is an answer like the others."""
    return is_unknown(answer) and not (answer_type == "label" and answer in LABELS)
