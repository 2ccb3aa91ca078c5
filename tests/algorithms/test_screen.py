"""The screen before a race keeps, within each k, the settings of the best recall."""

import numpy as np

from benchmarks.decisions_screen import WORLDS, make_world, race, screen
from quorum.algorithms.screen import choose_by_recall


def test_the_best_within_each_k_are_kept_and_of_equal_ones_the_first() -> None:
    kept = choose_by_recall([0.9, 0.2, 0.8, 0.8, 0.1], [10, 3, 10, 10, 3], keep=2)
    assert kept.tolist() == [True, True, True, False, True]
    assert choose_by_recall([0.5, 0.4], [3, 3], keep=7).all()


def test_the_best_of_60_is_nearly_always_kept_and_the_race_of_those_kept_errs_as_rarely_as_promised() -> None:
    world, rng, repetitions = make_world(WORLDS["recall decides"]), np.random.default_rng(1), 20
    kept_best = lost = 0
    losses = []
    for _ in range(repetitions):
        hits, right = world.draw(rng, 200)
        kept = screen(world, hits)
        assert [int(kept[world.ks == k].sum()) for k in (3, 5, 10)] == [7, 7, 7]
        kept_best += bool(kept[world.right.argmax()])
        losses.append(world.right.max() - world.right[kept].max())
        answers = right[:, kept]
        is_live, _ = race(answers, "questions")
        lost += not is_live[answers.mean(axis=0) >= answers.mean(axis=0).max() - 1e-12].any()
    assert kept_best / repetitions >= 0.9
    assert np.mean(losses) <= 0.002
    assert lost / repetitions <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / repetitions)


def test_where_recall_misleads_the_screen_loses_the_best() -> None:
    world, rng = make_world(WORLDS["recall misleads"]), np.random.default_rng(1)
    kept = [bool(screen(world, world.draw(rng, 200)[0])[world.right.argmax()]) for _ in range(20)]
    assert np.mean(kept) < 0.8  # so it is called a heuristic, and not a promise
