"""Replays cascades of methods on recorded answers. `cascade_design` finds cascades, `cascade_certificates` tests them.

A cascade asks at most three methods, its stages, in turn. If a stage's answer passes the stage's test, it is the answer
of the cascade; else the next stage is asked. The last stage has no test. An earlier comparison recorded the answers of
all methods, so we can compute the answers and the cost of any cascade without a further call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TestName = Literal["known", "confidence", "same", "certified"]


@dataclass(frozen=True)
class AcceptanceTest:
    """The test of a stage. An unknown answer never passes.

    known: any answer but unknown passes. confidence: an answer passes if its confidence is `at_least` or more. same: it
    passes if an earlier stage gave the same answer, after normalisation. certified: it passes if no replacement of a
    single passage changes the vote.
    """

    test: TestName
    at_least: float | None = None

    def describe(self) -> str:
        """The test in words: 'known', 'confidence 0.6 or more', 'same as an earlier answer', 'certified'."""
        if self.test == "confidence":
            return f"confidence {self.at_least:g} or more"
        return {"known": "known", "same": "same as an earlier answer", "certified": "certified"}[self.test]


@dataclass(frozen=True)
class Stage:
    """A method, and `accept`, the test of its answer: None for the last stage, whose answer is always accepted."""

    method: str
    accept: AcceptanceTest | None


Cascade = tuple[Stage, ...]


@dataclass(frozen=True)
class RecordedAnswers:
    """The answers of several methods to the same questions, as arrays of methods by questions, with two exceptions:
    `shared_cost` and `question_groups`.

    lowest_worth, highest_worth: the bounds of an answer's worth, which is its score less the cost of a wrong answer
    (`quorum.algorithms.race.compute_worth`). The bounds differ only if the method failed. is_known: whether there is an
    answer that is not unknown; has_failed: whether there is no answer; answer_number: the same for equal answers to a
    question; confidence: NaN if there is none; is_certified: see `AcceptanceTest`. cost: the cost of all calls that
    the answer took; shared_cost[A, B, question]: the cost of those calls of method B that method A makes as well.
    question_groups: a number for each question, the same for questions of the same document or conversation.
    """

    methods: tuple[str, ...]
    lowest_worth: Floats
    highest_worth: Floats
    is_known: Flags
    has_failed: Flags
    answer_number: NDArray[np.int64]
    confidence: Floats
    is_certified: Flags
    cost: Floats
    shared_cost: Floats
    question_groups: NDArray[np.int64]

    @property
    def question_count(self) -> int:
        return int(self.lowest_worth.shape[1])

    def select_questions(self, questions: NDArray[np.int64]) -> "RecordedAnswers":
        """The answers to these questions only."""
        names = (
            "lowest_worth",
            "highest_worth",
            "is_known",
            "has_failed",
            "answer_number",
            "confidence",
            "is_certified",
            "cost",
        )
        parts = {name: getattr(self, name)[:, questions] for name in names}
        return replace(
            self,
            **parts,
            shared_cost=self.shared_cost[:, :, questions],
            question_groups=self.question_groups[questions],
        )


@dataclass(frozen=True)
class ReplayResult:
    """A cascade's outcome on recorded questions. lowest_worth: for each question, the lower bound of its answer's
    worth; cost: for each question; is_asked: whether a stage is asked a question, as an array of stages by questions.
    """

    lowest_worth: Floats
    cost: Floats
    is_asked: Flags


def find_accepted_questions(
    recorded_answers: RecordedAnswers, method: int, accept: AcceptanceTest, earlier: Sequence[int]
) -> Flags:
    """The questions on which the method's answer passes the test, as flags.

    method: the method's index in `recorded_answers`; earlier: the indexes of the methods of the earlier stages.
    """
    is_accepted: Flags = recorded_answers.is_known[method]
    if accept.test == "confidence":
        confidence = recorded_answers.confidence[method]
        is_accepted = is_accepted & (np.nan_to_num(confidence, nan=-1.0) >= float(accept.at_least or 0.0))
    if accept.test == "certified":
        is_accepted = is_accepted & recorded_answers.is_certified[method]
    if accept.test == "same":
        is_same = np.zeros_like(is_accepted)
        for earlier_method in earlier:
            is_same |= recorded_answers.is_known[earlier_method] & (
                recorded_answers.answer_number[earlier_method] == recorded_answers.answer_number[method]
            )
        is_accepted = is_accepted & is_same
    return is_accepted


def compute_added_cost(recorded_answers: RecordedAnswers, method: int, earlier: Sequence[int]) -> Floats:
    """The cost of a stage's calls, by question, less the cost of the calls that an earlier stage has made already.

    If several earlier stages share calls with this stage, only the largest shared cost is deducted. method, earlier: as
    in `find_accepted_questions`.
    """
    cost: Floats = recorded_answers.cost[method]
    if earlier:
        cost = cost - np.max(
            [recorded_answers.shared_cost[earlier_method, method] for earlier_method in earlier], axis=0
        )
    return cost


def replay_cascade(recorded_answers: RecordedAnswers, cascade: Cascade) -> ReplayResult:
    """Answer the recorded questions with the cascade.

    If a stage that is asked failed on a question, the cascade fails on it, too, and gets the lowest worth of all
    recorded answers to all questions. The stages after the failed one still count as asked and are paid.
    """
    methods = [recorded_answers.methods.index(stage.method) for stage in cascade]
    n = recorded_answers.question_count
    is_open, has_failed = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    worth, cost, is_asked = np.zeros(n), np.zeros(n), np.zeros((len(cascade), n), dtype=np.bool_)
    for number, (stage, method) in enumerate(zip(cascade, methods, strict=True)):
        is_asked[number] = is_open
        cost += np.where(is_open, compute_added_cost(recorded_answers, method, methods[:number]), 0.0)
        has_failed |= is_open & recorded_answers.has_failed[method]
        is_accepted = (
            is_open
            if stage.accept is None
            else is_open & find_accepted_questions(recorded_answers, method, stage.accept, methods[:number])
        )
        worth = np.where(is_accepted, recorded_answers.lowest_worth[method], worth)
        is_open = is_open & ~is_accepted
    lowest = float(recorded_answers.lowest_worth.min()) if n else 0.0
    return ReplayResult(np.where(has_failed, lowest, worth), cost, is_asked)


def compute_stage_shares(recorded_answers: RecordedAnswers, cascade: Cascade) -> Mapping[str, float]:
    """The share of questions that reach each stage, by method."""
    shares_asked = replay_cascade(recorded_answers, cascade).is_asked.mean(axis=1)
    return {stage.method: float(share) for stage, share in zip(cascade, shares_asked, strict=True)}
