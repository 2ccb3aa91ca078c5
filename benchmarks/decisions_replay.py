"""Replays stopping rules and cascades on recorded answers. Needs no model and no network.

A stopping rule decides when a method is no longer asked. The replay shows how many calls a rule or a cascade saves, and
how often it errs. A rule errs if it drops all of the best methods; a cascade errs if it scores lower than its
certificate promises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions_recorded import RecordedSet
from benchmarks.decisions_rules import RULES, QuestionsWhenDropped
from quorum.algorithms.cascade_certificates import certify_cascades
from quorum.algorithms.cascade_design import design_cascades, split_questions
from quorum.algorithms.cascades import Cascade, RecordedAnswers, replay_cascade
from quorum.algorithms.race import run_race

Floats = NDArray[np.float64]
# A rule takes a table of right (1) and wrong (0) answers, with a row for each question and a column for each method. It
# returns {column number of a dropped method: the number of questions after which it is dropped}.
Rule = Callable[[Floats], QuestionsWhenDropped]

# A method is dropped as soon as it can no longer win on the questions of the table (exact), is unlikely to win on them
# (questions), or is unlikely to be the best on new questions (future).
RACE_RULES: dict[str, Rule] = {
    "race exact": lambda table: run_race(table, "exact").asked_when_dropped,
    "race questions": lambda table: run_race(table, "questions").asked_when_dropped,
    "race future": lambda table: run_race(table, "future").asked_when_dropped,
}
# Race rule -> the highest probability of an error that it claims. The race rules that are missing here claim
# quorum.algorithms.race.RACE_ERROR_PROBABILITY.
CLAIMED_ERRORS = {"race exact": 0.0}
CASCADE_ERROR = 0.1
QUESTIONS_PER_DRAW = 400
ROUNDING_ERROR = 1e-9  # scores that differ by less count as equal


@dataclass
class Outcomes:
    """What one rule did in each repetition: the shares of runs and of calls that it saved, and whether it dropped
    all of the best methods. A run is one question put to one method.
    """

    saved_runs: list[float] = field(default_factory=list)
    saved_calls: list[float] = field(default_factory=list)
    all_best_dropped: list[bool] = field(default_factory=list)

    def add(
        self, questions_when_dropped: QuestionsWhenDropped, calls: Floats, best: NDArray[np.int64], question_count: int
    ) -> None:
        """calls: the mean number of calls for a question, by method; best: the methods that are truly best."""
        saved_shares = np.zeros(len(calls))
        for method, asked_count in questions_when_dropped.items():
            saved_shares[method] = (question_count - asked_count) / question_count
        self.saved_runs.append(float(saved_shares.mean()))
        self.saved_calls.append(float((saved_shares * calls).sum() / calls.sum()))
        self.all_best_dropped.append(all(int(item) in questions_when_dropped for item in best))

    def compute_means(self) -> dict[str, float]:
        return {name: float(np.mean(getattr(self, name))) for name in ("saved_runs", "saved_calls", "all_best_dropped")}


def find_best(means: Floats) -> NDArray[np.int64]:
    """The numbers of the methods with the highest mean."""
    return np.flatnonzero(means >= means.max() - ROUNDING_ERROR)


def compute_error_share_allowed_by_chance(claim: float, repetitions: int) -> float:
    """The largest share of errors that chance allows if `claim` is the error rate: `claim` plus two standard errors."""
    return claim + 2 * float(np.sqrt(claim * (1 - claim) / repetitions))


def replay_random_orders(
    recorded_set: RecordedSet, orders: int, seed: int = 0, questions: int | None = None
) -> dict[str, dict[str, float]]:
    """Replay the rules on the recorded questions in random orders. The best methods are those with the highest score if
    every method is asked every question. `race future` is left out, because its claim is about new questions.

    questions: how many questions to draw with replacement for each order; None: take each recorded question once.
    Returns {rule: means over the orders} (see `Outcomes`).
    """
    table, calls = recorded_set.right_by_question, recorded_set.arrays["calls"].mean(axis=1)
    rng, rules = np.random.default_rng(seed), RACE_RULES | dict(RULES)
    outcomes_of_rules = {name: Outcomes() for name in rules if name != "race future"}
    for _ in range(orders):
        chosen_rows = rng.integers(len(table), size=questions) if questions else rng.permutation(len(table))
        ordered_table = table[chosen_rows]
        best = find_best(ordered_table.mean(axis=0))
        for name, outcomes in outcomes_of_rules.items():
            outcomes.add(rules[name](ordered_table), calls, best, len(ordered_table))
    return {name: item.compute_means() for name, item in outcomes_of_rules.items()}


def replay_new_questions(
    recorded_set: RecordedSet, draws: int, seed: int = 1, truth: RecordedSet | None = None
) -> dict[str, dict[str, float]]:
    """Replay `race future` and, for comparison, the stopping rules that others use (RULES), on QUESTIONS_PER_DRAW
    questions drawn with replacement. The
    best methods are those with the highest score on all questions of `recorded_set` or, if `truth` is given, on all
    questions of that other set.

    Returns {rule: means over the draws} (see `Outcomes`).
    """
    table, calls = recorded_set.right_by_question, recorded_set.arrays["calls"].mean(axis=1)
    best = find_best((truth or recorded_set).right_by_question.mean(axis=0))
    rng, rules = np.random.default_rng(seed), {"race future": RACE_RULES["race future"], **RULES}
    outcomes_of_rules = {name: Outcomes() for name in rules}
    for _ in range(draws):
        drawn = table[rng.integers(len(table), size=QUESTIONS_PER_DRAW)]
        for name, outcomes in outcomes_of_rules.items():
            outcomes.add(rules[name](drawn), calls, best, QUESTIONS_PER_DRAW)
    return {name: item.compute_means() for name, item in outcomes_of_rules.items()}


def replay_cascades(
    recorded_set: RecordedSet, draws: int, margins: Sequence[float], seed: int = 2, truth: RecordedSet | None = None
) -> dict[float, dict[str, float]]:
    """Draw QUESTIONS_PER_DRAW questions with replacement, design cascades on a third of them, and certify these
    cascades on the other questions. A certified cascade promises to score at most `margin` less than the best method.

    Returns for each margin: how often at least one cascade is certified (certified); the mean share of calls that the
    cheapest certified cascade saves, 0 if none is cheaper than the best method (saved); how often all certified
    cascades keep the promise on all questions of `recorded_set` (promise_kept). truth: another set; if it is given, the
    promise is checked and the saved share computed on its questions.
    """
    recorded_answers, true_answers = (
        item.make_recorded_answers("calls") for item in (recorded_set, truth or recorded_set)
    )
    # lowest_worth: the lower bound of the worth of each answer
    true_scores, true_costs = true_answers.lowest_worth.mean(axis=1), true_answers.cost.mean(axis=1)
    rng = np.random.default_rng(seed)
    replays: dict[float, list[tuple[bool, float, bool]]] = {margin: [] for margin in margins}
    for split_seed in range(draws):
        drawn, question_groups = (
            recorded_answers.select_questions(rng.integers(recorded_answers.question_count, size=QUESTIONS_PER_DRAW)),
            np.arange(QUESTIONS_PER_DRAW),
        )
        designing_questions, certifying_questions = split_questions(question_groups, split_seed)
        candidates, certifying_answers = (
            design_cascades(drawn.select_questions(designing_questions)),
            drawn.select_questions(certifying_questions),
        )
        scores = drawn.lowest_worth.mean(axis=1)
        best = max(range(len(recorded_answers.methods)), key=lambda method: (scores[method], -true_costs[method]))
        for margin in margins:
            certified_cascades = [
                item.candidate.cascade
                for item in certify_cascades(certifying_answers, candidates, margin, CASCADE_ERROR)
                if item.is_passed
            ]
            promise_kept, costs = check_promise(true_answers, certified_cascades, float(true_scores.max()) - margin)
            cheaper_places = [
                place
                for place, item in enumerate(certified_cascades)
                if compute_mean_cost(drawn, item) < drawn.cost[best].mean()
            ]
            chosen_place = min(
                cheaper_places, key=lambda place: compute_mean_cost(drawn, certified_cascades[place]), default=None
            )
            saved_share = 0.0 if chosen_place is None else 1 - costs[chosen_place] / true_costs[best]
            replays[margin].append((bool(certified_cascades), float(saved_share), promise_kept))
    names = ("certified", "saved", "promise_kept")
    return {
        margin: {name: float(np.mean([item[index] for item in replays_of_margin])) for index, name in enumerate(names)}
        for margin, replays_of_margin in replays.items()
    }


def compute_mean_cost(recorded_answers: RecordedAnswers, cascade: Cascade) -> float:
    return float(replay_cascade(recorded_answers, cascade).cost.mean())


def check_promise(
    true_answers: RecordedAnswers, cascades: Sequence[Cascade], min_score: float
) -> tuple[bool, list[float]]:
    """Whether all cascades score at least `min_score` on these answers, and the mean cost of each cascade."""
    replayed_cascades = [replay_cascade(true_answers, cascade) for cascade in cascades]
    is_kept = all(item.lowest_worth.mean() >= min_score - ROUNDING_ERROR for item in replayed_cascades)
    return is_kept, [float(item.cost.mean()) for item in replayed_cascades]


def simulate_recorded_set(shares: Sequence[float], questions: int, dependence: float, seed: int) -> RecordedSet:
    """Simulate the answers of methods that are right with known probabilities.

    shares: for each method, the probability of a right answer. A random number decides whether a method answers a
    question rightly. dependence: the probability that this random number is the one that all methods share for the
    question, not one of the method's own. The higher this probability is, the more often the methods fail at the same
    questions.
    """
    rng = np.random.default_rng(seed)
    # These tables have a row for each method, as in `RecordedSet.arrays`. `right_by_question` is transposed.
    shared_draws, own_draws = rng.random((1, questions)), rng.random((len(shares), questions))
    right = np.where(rng.random(own_draws.shape) < dependence, shared_draws, own_draws) < np.asarray(shares)[:, None]
    names = [f"method {number}" for number in range(len(shares))]
    return RecordedSet("scripted", {"methods": names}, {"right": right.astype("u1"), "calls": np.ones(right.shape)})


# name: (the probability of a right answer for each method, dependence of `simulate_recorded_set`)
SIMULATED_CASES: dict[str, tuple[list[float], float]] = {
    "one of 23 leads by 2 points": ([0.42] + [0.4] * 22, 0.8),
    "one of 23 leads by 5 points": ([0.45] + [0.4] * 22, 0.8),
    "23 methods, evenly from .2 to .5": ([round(0.2 + 0.3 * n / 22, 4) for n in range(22, -1, -1)], 0.8),
    "two methods, independent, .52 and .5": ([0.52, 0.5], 0.0),
}


def replay_simulated(repetitions: int, questions: int = QUESTIONS_PER_DRAW) -> dict[str, dict[str, dict[str, float]]]:
    """Replay `race future` and, for comparison, the stopping rules that others use (RULES), on simulated tables, whose
    methods are right with known probabilities. The best methods are those with the highest probability.

    Returns {case: {rule: means over the tables}} (see `Outcomes`).
    """
    rules = {"race future": RACE_RULES["race future"], **RULES}
    outcomes: dict[str, dict[str, Outcomes]] = {case: {rule: Outcomes() for rule in rules} for case in SIMULATED_CASES}
    for case, (shares, dependence) in SIMULATED_CASES.items():
        best, calls = find_best(np.asarray(shares)), np.ones(len(shares))
        for seed in range(repetitions):
            table = simulate_recorded_set(shares, questions, dependence, seed).right_by_question
            for name, rule in rules.items():
                outcomes[case][name].add(rule(table), calls, best, questions)
    return {
        case: {rule: item.compute_means() for rule, item in outcomes_of_rules.items()}
        for case, outcomes_of_rules in outcomes.items()
    }
