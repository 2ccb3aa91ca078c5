"""Rejects leaked answers: a model repeated them from the prompt's demonstrations and did not read the passages."""

import re
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar, cast

from quorum.algorithms.answer_measures import contains_answer
from quorum.core.labels import is_verdict
from quorum.core.state import Passage
from quorum.core.text import is_unknown, normalize
from quorum.nodes.cuts import is_wordy
from quorum.nodes.read_replies import forget_answer, get_answer
from quorum.prompts.prompt import Prompt

T = TypeVar("T")

DEMONSTRATION_INPUTS = ("demonstrations", "examples")  # the variables of prompts that hold demonstrations
# The answer of a demonstration, in the forms in which prompts show it.
SHOWN_ANSWER = re.compile(
    r"^(?:short |final )?answer:[ \t]*(?P<line>\S.*)$"
    r"|\bso the (?:final )?answer is:?[ \t]+(?P<conclusion>\w.*?)\.?[ \t]*$|\bfinish\[(?P<finish>[^\]\n]+)\]",
    re.IGNORECASE | re.MULTILINE,
)
YEAR = re.compile(r"\d{3,4}")
PLACEHOLDERS = frozenset({"answer"})  # "Finish[answer]" explains a form


def find_demonstration_answers(template: str, inputs: Mapping[str, str | list[str]]) -> set[str]:
    """The answers, normalised, that a prompt's own text and its demonstrations give. Verdicts are left out.

    template: the prompt's text before its variables are filled in; inputs: the variables.

    >>> sorted(find_demonstration_answers("Question: Who?\\nAnswer: Ida Brenn\\n\\n$passages", {}))
    ['ida brenn']
    """
    texts = [template, *(text for name in DEMONSTRATION_INPUTS if isinstance(text := inputs.get(name), str))]
    return set().union(*map(find_shown_answers, texts))


@lru_cache(maxsize=64)  # a run asks the same prompts with the same demonstrations again and again
def find_shown_answers(text: str) -> frozenset[str]:
    """The answers, normalised, that a prompt's text or its demonstrations give."""
    answers = {
        answer.strip()
        for match in SHOWN_ANSWER.finditer(text)
        if (answer := match["line"] or match["conclusion"] or match["finish"])
    }
    return (
        frozenset(
            normalize(answer)
            for answer in answers
            if not (is_verdict(answer) or is_unknown(answer) or answer.startswith("$"))
        )
        - PLACEHOLDERS
    )


def list_absent_answers(demonstration_answers: set[str], question: object, shown: Sequence[Passage]) -> list[str]:
    """Those of the demonstrations' answers that neither the passages which the prompt shows nor the question have."""
    texts = [*(text for passage in shown for text in (passage["text"], passage["title"])), str(question)]
    return sorted(
        answer for answer in demonstration_answers if not any(contains_answer(text, [answer]) for text in texts)
    )


def is_leaked(answer: str, absent_answers: Sequence[str]) -> bool:
    """Whether an answer equals one of these answers, or is a longer phrase that has one of several words or a year."""
    telling = [absent for absent in absent_answers if " " in absent or YEAR.fullmatch(absent)]
    holds_leak = not is_wordy(answer) and any(contains_answer(answer, [leaked]) for leaked in telling)
    return normalize(answer) in absent_answers or holds_leak


def remove_leaked_answers(
    prompt: Prompt[T], values: Sequence[T], absent_answers: Sequence[str], unfinished: Container[int] = ()
) -> tuple[list[T], set[int]]:
    """(the parsed values, in which leaked answers are unknown; the indexes of the values that had one).

    Of a list of candidates, those that are leaked are removed. unfinished: the indexes of wordy answers, which are
    checked when they are short.
    """
    checked_values, leaked_indexes = list(values), set[int]()
    for index, value in enumerate(values):
        if index in unfinished:
            continue
        if isinstance(value, list):
            kept_candidates = [candidate for candidate in value if not is_leaked(str(candidate), absent_answers)]
            if len(kept_candidates) < len(value):
                checked_values[index] = cast(T, kept_candidates)
                leaked_indexes.add(index)
        elif (answer := get_answer(prompt, value)) is not None and is_leaked(answer, absent_answers):
            checked_values[index] = forget_answer(value)
            leaked_indexes.add(index)
    return checked_values, leaked_indexes
