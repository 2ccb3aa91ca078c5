"""Simulates `quorum watch`: how often it raises a false alarm, and how many labels an alarm and a confirmation take.

    python -m benchmarks.watch [--runs 1000] [--judged-runs 60]

False alarms: 10,000 labels whose mean is exactly at the limit, also with flagged answers that are sampled four times as
often and more often wrong. At most 5% of the runs
may alarm (and 2 standard errors more, because the runs are few). Delays: 500 good answers, then worse ones; also in
weeks, where a judge flags answers that are sampled more often. Confirmations: answers of which a given share is wrong.
Judge's labels: a judge that finds 80% of the wrong answers and calls 5% of the right ones wrong; then the system, the
judge, or both change. Where only the judge changed, no run should say that the system did.
"""

import argparse

import numpy as np

from quorum.algorithms.watch import choose_sampling, compute_alarm_capital, compute_confirming_capital
from quorum.evaluation.watch.anchors import LABELS_BETWEEN_CHECKS, bound_rise

ALARM = 20.0  # 1 / 0.05: one promise
BLOCK = 100  # sampled answers; in a simulation there are no weeks
LABELS, GOOD = 10_000, 500


def mark_starts(count: int) -> np.ndarray:
    return np.arange(count) % BLOCK == 0


def draw_right_or_wrong(random: np.random.Generator, runs: int, count: int, wrong: float) -> np.ndarray:
    return (random.random((runs, count)) < wrong).astype(float)


def draw_loss(random: np.random.Generator, runs: int, count: int, loss: float) -> np.ndarray:
    """z = (1 + loss) / 2 of answers against those of another method. At a loss of 0, 15% of the answers differ; a
    tenth and more are lost where 10% more of them differ than are lost.
    """
    differ = 0.1 + loss if loss >= 0.1 else 0.15
    chance = random.random((runs, count))
    return 0.5 + np.where(chance < (differ + loss) / 2, 0.5, np.where(chance < differ, -0.5, 0.0))


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


def show_weeks(random: np.random.Generator, runs: int) -> None:
    """50 labels a week of 300 answers; 3% are wrong, and 10% from week 10 on. A judge flags wrong answers."""
    print(f"\nWeeks until the alarm, with 50 labels a week of 300 answers, 3% wrong, then 10% ({runs} runs): median")
    for name, found, false in (("no judge", 0.0, 0.0), ("good", 0.8, 0.05), ("fair", 0.6, 0.1), ("useless", 0.2, 0.2)):
        weeks = [count_weeks(random, found, false) for _ in range(runs)]
        print(f"  {name:9} (flags {found:.0%} of the wrong, {false:.0%} of the right): {np.median(weeks):.0f}")


def count_weeks(random: np.random.Generator, found: float, false: float, change: int = 10, last: int = 60) -> int:
    """How many weeks after the change the alarm comes, with the sampling of the product."""
    labels, broken, answers = [0, 0], [0.0, 0.0], [0, 0]
    z, weights, starts = [], [], []
    for week in range(last):
        sampling = (50 / 300, 50 / 300) if week < 4 else choose_sampling(labels, broken, answers, 50 / 300)
        wrong = random.random(300) < (0.03 if week < change else 0.1)
        flagged = random.random(300) < np.where(wrong, found, false)
        sampled = random.random(300) < np.where(flagged, sampling[1], sampling[0])
        for stratum in (0, 1):
            is_here = flagged == bool(stratum)
            answers[stratum] += int(is_here.sum())
            labels[stratum] += int((is_here & sampled).sum())
            broken[stratum] += float((is_here & sampled & wrong).sum())
        count = int(sampled.sum())
        z.append(wrong[sampled].astype(float))
        weights.append(np.where(flagged[sampled], sampling[0] / sampling[1], 1.0))
        begun = sum(len(part) for part in z) - count
        last_start = starts[-1] if starts else -BLOCK
        if begun - last_start >= BLOCK or not starts:
            starts.append(begun)
        if week >= change:
            values = np.concatenate(z)
            is_start = np.isin(np.arange(values.size), starts)
            if compute_alarm_capital(values, 0.05, is_start, np.concatenate(weights)).max() >= ALARM:
                return week + 1 - change
    return last - change


JUDGED_LIMIT, FOUND, FALSE, ANCHORS, JUDGED_LABELS = 0.1, 0.8, 0.05, 300, 1500
HARSH = 100  # labels for which a judge is harsh that then judges as before
# name: (share wrong after the change, share of the right answers that the judge then calls wrong[, and after HARSH])
CHANGES: dict[str, tuple[float, ...]] = {
    "nothing": (0.03, 0.05),
    "the judge alone, 5% false -> 10%": (0.03, 0.1),
    "the judge alone, 5% false -> 20%": (0.03, 0.2),
    "the judge harsh, then as before": (0.03, 0.4, FALSE),
    "the system, 3% wrong -> 15%": (0.15, 0.05),
    "the system, 3% wrong -> 25%": (0.25, 0.05),
    "the system, 3% wrong -> 40%": (0.4, 0.05),
    "both, 25% wrong and 15% false": (0.25, 0.15),
}


def show_judged(random: np.random.Generator, runs: int) -> None:
    print(f"\nA judge's labels, wrong <= {JUDGED_LIMIT:g}, {ANCHORS} anchors ({runs} runs each): changes, verdicts")
    for name, change in CHANGES.items():
        found = [judge_run(random, *change) for _ in range(runs)]
        system = [delay for delay, _ in found if delay is not None]
        judge = sum(delay is None and alarmed for delay, alarmed in found)
        delay = f", median after {np.median(system):.0f} labels" if system else ""
        print(f"  {name:33} 'not kept' {len(system):3}, 'the judge changed' {judge:3}, nothing "
              f"{runs - len(system) - judge:3}{delay}")  # fmt: skip


def judge_run(
    random: np.random.Generator, wrong: float, false: float, later: float | None = None
) -> tuple[int | None, bool]:
    """(after how many labels the alarm stands, or None; whether there was an alarm). The change comes after GOOD.
    later: which share of the right answers the judge calls wrong when it has been harsh for HARSH labels.
    """
    count = GOOD + JUDGED_LABELS
    is_late = np.arange(count) >= GOOD
    is_wrong = random.random(count) < np.where(is_late, wrong, 0.03)
    later = false if later is None else later
    is_last = np.arange(count) >= GOOD + HARSH
    calls = np.where(is_last, later, np.where(is_late, false, FALSE))
    z = (random.random(count) < np.where(is_wrong, FOUND, calls)).astype(float)
    anchor_wrong, chance = random.random(ANCHORS) < 0.03, random.random(ANCHORS)
    before = chance < np.where(anchor_wrong, FOUND, FALSE)
    after = chance < np.where(anchor_wrong, FOUND, false)
    at_last = chance < np.where(anchor_wrong, FOUND, later)
    capital = compute_alarm_capital(z, JUDGED_LIMIT, mark_starts(count))
    reached = np.flatnonzero(capital >= 2 * ALARM)
    if not reached.size:
        return None, False
    highest = 0.0
    for check, end in enumerate(range(int(reached[0]) + 1, count + 1, LABELS_BETWEEN_CHECKS), 1):
        now = before if end <= GOOD else after if end <= GOOD + HARSH else at_last
        highest = max(highest, bound_rise(now.astype(float) - before, check))
        limit = JUDGED_LIMIT + highest
        if limit < 1 and compute_alarm_capital(z[:end], limit, mark_starts(end)).max() >= 2 * ALARM:
            return end - GOOD, True
    return None, True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--judged-runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    show_false_alarms(random, options.runs)
    show_delays(random, options.runs)
    show_confirmations(random, options.runs)
    show_weeks(random, options.judged_runs)
    show_judged(random, options.judged_runs)


if __name__ == "__main__":
    main()
