"""Simulates `quorum gate --labels`: coverage, width and wrong verdicts with labels on a random part of the answers that
differ, alone and with a judge's verdicts.

    python -m benchmarks.labels [--runs 2000]

Of 1,000 questions the answers of two methods differ on a quarter. 100 of these are labelled. The interval should hold
the true difference in 95% of the runs, and each verdict be wrong in about 5%: at a loss of just the margin for "pass",
and without a loss for "fail". "uniform" labels 100 of all questions in place of differing ones. About half a minute.
"""

import argparse

import numpy as np

from quorum.algorithms.labelled_difference import compute_t_quantile, estimate_difference

QUESTIONS, LABELS, DIFFER = 1000, 100, 0.25
MARGIN, ERROR = 0.05, 0.05


def draw(random: np.random.Generator, loss: float, judge_wrong: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which questions differ; the loss on each (1: only the baseline is right); the loss as a judge sees it, which
    calls each answer wrongly with a probability.
    """
    differ = random.random(QUESTIONS) < DIFFER
    chance, lost = random.random(QUESTIONS), 0.35 + loss / DIFFER / 2
    first, second = differ & (chance < lost), differ & (chance >= lost) & (chance < 0.7)
    said = [answer ^ (random.random(QUESTIONS) < judge_wrong) for answer in (first, second)]
    judged = np.where(differ, said[0].astype(float) - said[1], 0.0)
    return differ, first.astype(float) - second, judged


def run(random: np.random.Generator, loss: float, judge_wrong: float | None, *, uniform: bool = False) -> np.ndarray:
    """Whether the interval holds the truth, its width, and whether the verdict is pass and fail."""
    differ, losses, judged = draw(random, loss, judge_wrong or 0.0)
    if uniform:
        values = losses[random.permutation(QUESTIONS)[:LABELS]]
        half = compute_t_quantile(0.975, LABELS - 1) * values.std(ddof=1) / LABELS**0.5
        return np.array([abs(values.mean() - loss) <= half, 2 * half, np.nan, np.nan])
    places = random.permutation(np.flatnonzero(differ))
    drawn, rest = places[:LABELS], places[LABELS:]
    said = (None, None) if judge_wrong is None else (judged[drawn], judged[rest])
    estimate = estimate_difference(losses[drawn], len(places) / QUESTIONS, QUESTIONS, *said)
    low, high = estimate.compute_interval()
    passes, fails = 1 - estimate.compute_p_value(MARGIN) <= ERROR, estimate.compute_p_value(0.0) <= ERROR
    return np.array([low <= loss <= high, high - low, passes, fails and not passes])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    print(f"{LABELS} labels, {QUESTIONS} questions, {DIFFER:.0%} differ ({options.runs} runs), margin {MARGIN:g}")
    for name, judge_wrong, uniform in (
        ("uniform", None, True),
        ("differing only", None, False),
        ("with a judge wrong on 10%", 0.1, False),
        ("with a judge wrong on 30%", 0.3, False),
    ):
        at_margin, at_zero = (
            np.array([run(random, loss, judge_wrong, uniform=uniform) for _ in range(options.runs)]).mean(axis=0)
            for loss in (MARGIN, 0.0)
        )
        print(f"  {name:26} holds the truth {at_margin[0]:.1%}, width {at_margin[1]:.3f}", end="")
        if uniform:
            print()
            continue
        print(
            f"; at the margin: passes (wrongly) {at_margin[2]:.1%}; no loss: passes {at_zero[2]:.1%}, fails (wrongly) "
            f"{at_zero[3]:.1%}"
        )


if __name__ == "__main__":
    main()
