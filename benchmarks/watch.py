"""Simulates `quorum watch`: how often it raises a false alarm, and how many labels an alarm and a confirmation take.

    python -m benchmarks.watch [--runs 1000]

False alarms: 10,000 labels whose mean is exactly at the limit, also with flagged answers that are sampled four times as
often and more often wrong. At most 5% of the runs
may alarm (and 2 standard errors more, because the runs are few). Delays: 500 good answers, then worse ones.
Confirmations: answers of which a given share is wrong. It takes about two minutes and 3 GB.
"""

import argparse

import numpy as np

from quorum.algorithms.watch import compute_alarm_capital, compute_confirming_capital

ALARM = 20.0  # 1 / 0.05: one promise
BLOCK = 100  # sampled answers; in a simulation there are no weeks
LABELS, GOOD = 10_000, 500


def mark_starts(count: int) -> np.ndarray:
    return np.arange(count) % BLOCK == 0


def draw_right_or_wrong(random: np.random.Generator, runs: int, count: int, wrong: float) -> np.ndarray:
    return (random.random((runs, count)) < wrong).astype(float)


def draw_loss(random: np.random.Generator, runs: int, count: int, loss: float) -> np.ndarray:
    """z = (1 + loss) / 2 of answers against those of another method: 5% are won, so 5% + loss are lost."""
    chance = random.random((runs, count))
    return 0.5 + np.where(chance < 0.05, -0.5, np.where(chance < 0.1 + loss, 0.5, 0.0))


def show_false_alarms(random: np.random.Generator, runs: int) -> None:
    print(f"False alarms within {LABELS:,} labels at the limit ({runs} runs; at most 5%):")
    starts = mark_starts(LABELS)
    for limit in (0.05, 0.2, 0.35):
        z = draw_right_or_wrong(random, runs, LABELS, limit)
        print_share(f"wrong <= {limit:g}", compute_alarm_capital(z, limit, starts))
    z = draw_right_or_wrong(random, runs, LABELS, 0.05)
    z = draw_loss(random, runs, LABELS, 0.05)
    print_share("loss <= 0.05", compute_alarm_capital(z, 0.525, starts))
    # 30% of the answers are flagged, and 14% of those are wrong: 5% in all are. A sampled answer is flagged more often.
    ratio, flagged_share = 4.0, 0.3
    sampled_flagged = flagged_share * ratio / (1 - flagged_share + flagged_share * ratio)
    is_flagged = random.random((runs, LABELS)) < sampled_flagged
    wrong = np.where(is_flagged, 0.14, (0.05 - 0.14 * flagged_share) / (1 - flagged_share))
    z = (random.random((runs, LABELS)) < wrong).astype(float)
    print_share(
        "wrong <= 0.05, flagged 4 times as often",
        compute_alarm_capital(z, 0.05, starts, np.where(is_flagged, 1 / ratio, 1.0)),
    )


def print_share(name: str, capital: np.ndarray) -> None:
    share = float((capital.max(axis=-1) >= ALARM).mean())
    runs = capital.shape[0]
    limit = 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5
    print(f"  {name:42} {share:6.1%}{'' if share <= limit else '   TOO MANY'}")


def show_delays(random: np.random.Generator, runs: int) -> None:
    print(f"\nSampled answers until the alarm, after {GOOD} good ones ({runs} runs): median (90% quantile)")
    for name, limit, draw, good, bad_values in (
        ("wrong <= 0.05, 3% before", 0.05, draw_right_or_wrong, 0.03, (0.10, 0.15, 0.30)),
        ("score >= 0.65, 0.70 before", 0.35, draw_right_or_wrong, 0.30, (0.45, 0.50, 0.60)),
        ("loss <= 0.05, 0 before", 0.525, draw_loss, 0.0, (0.10, 0.15, 0.20)),
    ):
        for bad in bad_values:
            count = 4000
            z = np.concatenate([draw(random, runs, GOOD, good), draw(random, runs, count, bad)], axis=1)
            alarmed = compute_alarm_capital(z, limit, mark_starts(GOOD + count)) >= ALARM
            early = alarmed[:, :GOOD].any(axis=1)
            delays = np.where(alarmed.any(axis=1), alarmed.argmax(axis=1) + 1 - GOOD, count)[~early]
            median, late = np.quantile(delays, [0.5, 0.9])
            labels = "" if draw is not draw_loss else f", of them to label {median * (0.1 + bad):.0f}"
            print(f"  {name:28} then {bad:4.2f}: {median:5.0f} ({late:.0f}){labels}")


def show_confirmations(random: np.random.Generator, runs: int) -> None:
    print(f"\nLabels until 5% wrong is confirmed ({runs} runs): median")
    for wrong in (0.0, 0.01, 0.02, 0.03):
        z = draw_right_or_wrong(random, runs, 4000, wrong)
        confirmed = compute_confirming_capital(z, 0.05) >= ALARM
        counts = np.where(confirmed.any(axis=1), confirmed.argmax(axis=1) + 1, 4000)
        print(f"  {wrong:.0%} wrong: {np.median(counts):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    show_false_alarms(random, options.runs)
    show_delays(random, options.runs)
    show_confirmations(random, options.runs)


if __name__ == "__main__":
    main()
