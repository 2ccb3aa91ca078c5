"""Verdicts: the labels of a fact check (Thorne et al. 2018, FEVER), and yes or no."""

from collections.abc import Iterable

from quorum.core.text import is_unknown, normalize

SUPPORTS, REFUTES, NOT_ENOUGH_INFO = LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
VERDICTS = frozenset({"yes", "no", *(label.lower() for label in LABELS)})


def is_verdict(answer: str) -> bool:
    """Whether an answer is a verdict. A verdict is a judgement, so its words need not stand in the passages."""
    return normalize(answer) in VERDICTS


def are_verdicts(answers: Iterable[str]) -> bool:
    """Whether all answers are verdicts; False if there are no answers."""
    verdict_flags = [is_verdict(answer) for answer in answers]
    return bool(verdict_flags) and all(verdict_flags)


def infer_answer_type(answers: Iterable[str]) -> str:
    """The answer type that gold answers imply: "label", "yes_no" or "short"."""
    answer_list = list(answers)
    if not are_verdicts(answer_list):
        return "short"
    return "yes_no" if all(normalize(answer) in ("yes", "no") for answer in answer_list) else "label"


def is_unknown_for_type(answer: str, answer_type: str) -> bool:
    """Whether an answer is unknown. For answer_type "label", NOT ENOUGH INFO is a label and not unknown."""
    return is_unknown(answer) and not (answer_type == "label" and answer in LABELS)
