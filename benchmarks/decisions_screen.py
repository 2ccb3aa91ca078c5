"""Simulates the screen before a race: how often the best of 60 configurations is kept, and what is lost if it is not.

60 configurations: 4 ways of splitting the documents, 5 retrievers, 3 numbers of passages k. One finds what a question
needs with the probability of its recall; if it does, the answer is right with the probability of its reading,
which falls with k and depends on the splitting; if it does not, with a small one. In the world "recall decides" reading
depends on the splitting little, in "reading decides" as much as recall does, and in "recall misleads" the splittings
that are found best are read worst: there the screen has no reason to work.
"""

from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.race import Race, RaceMode
from quorum.algorithms.screen import choose_by_recall

Floats = NDArray[np.float64]
KEEP = 7
RECALL_OF_K = {3: 0.55, 5: 0.61, 10: 0.67}
READING_OF_K = {3: 0.75, 5: 0.72, 10: 0.66}
GAINS_OF_RETRIEVERS = (0.0, 0.03, 0.05, 0.06, 0.10)
GAINS_OF_SPLITTINGS = (0.0, 0.02, 0.03, -0.04)
LUCK = 0.08  # right although nothing was found
SHARED_SEARCH, SHARED_READING = 0.75, 0.8  # how much is decided by the question's difficulty
WORLDS = {  # what each splitting adds to reading
    "recall decides": (0.0, 0.01, -0.01, 0.02),
    "reading decides": (0.0, 0.05, -0.05, 0.03),
    "recall misleads": (0.0, -0.05, -0.08, 0.10),
}


@dataclass(frozen=True)
class World:
    """Configurations with their true recall and their true share of right answers. searches: the number of the search,
    which configurations that differ only in k share.
    """

    ks: NDArray[np.int64]
    searches: NDArray[np.int64]
    recall: Floats
    reading: Floats

    @property
    def right(self) -> Floats:
        return self.recall * self.reading + (1 - self.recall) * LUCK

    def draw(self, rng: np.random.Generator, questions: int) -> tuple[Floats, Floats]:
        """Whether each configuration finds what each question needs, and whether its answer is right: (questions,
        configurations) both.
        """
        shape = (questions, len(self.ks))
        find = mix(SHARED_SEARCH, rng.normal(size=(questions, 1)), rng.normal(size=(questions, 20))[:, self.searches])
        read = mix(SHARED_READING, rng.normal(size=(questions, 1)), rng.normal(size=shape))
        hits = find < compute_quantiles(self.recall)
        right = np.where(hits, read < compute_quantiles(self.reading), rng.random(shape) < LUCK)
        return hits.astype(np.float64), right.astype(np.float64)


def mix(share: float, shared: Floats, own: Floats) -> Floats:
    """Normal numbers of which `share` of the variance is shared by all configurations."""
    mixed: Floats = np.sqrt(share) * shared + np.sqrt(1 - share) * own
    return mixed


def compute_quantiles(probabilities: Floats) -> Floats:
    return np.array([NormalDist().inv_cdf(float(probability)) for probability in probabilities])


def make_world(reading_gains: tuple[float, ...]) -> World:
    """The 60 configurations. reading_gains: what each splitting adds to reading."""
    configurations = list(product(range(4), range(5), RECALL_OF_K))
    return World(
        np.array([k for _, _, k in configurations]),
        np.array([splitting * 5 + retriever for splitting, retriever, _ in configurations]),
        np.array([RECALL_OF_K[k] + GAINS_OF_SPLITTINGS[s] + GAINS_OF_RETRIEVERS[r] for s, r, k in configurations]),
        np.array([READING_OF_K[k] + reading_gains[s] for s, _, k in configurations]),
    )


def screen(world: World, hits: Floats, keep: int = KEEP) -> NDArray[np.bool_]:
    """Which configurations the screen keeps."""
    return choose_by_recall(hits.mean(axis=0).tolist(), world.ks.tolist(), keep)


def race(right: Floats, mode: RaceMode) -> tuple[NDArray[np.bool_], float]:
    """Which of the configurations survive a race over these answers, and the share of the answers that it asks for."""
    running = Race(right.shape[1], population=len(right), mode=mode, error=0.05)
    for answers in right:
        running.add_step(answers, answers)
    asked = [running.asked_when_dropped.get(number, running.step_count) for number in range(right.shape[1])]
    return running.is_live, sum(asked) / right.size


def simulate_screen(repetitions: int, questions: tuple[int, ...] = (100, 200, 400)) -> None:
    """Print a table: for each world and number of questions, how often the best configuration is kept and what is lost;
    then for races of those kept, how often all of the best of these are dropped.
    """
    print(
        "| world | questions | best kept, % | mean loss, points | `questions`: best lost, % | answers asked, % of all |"
    )
    print("| --- | --: | --: | --: | --: | --: |")
    for name, reading_gains in WORLDS.items():
        world = make_world(reading_gains)
        for count in questions:
            rng = np.random.default_rng(count)
            kept_best, losses, lost_in_race, asked = 0, [], 0, []
            for _ in range(repetitions):
                hits, right = world.draw(rng, count)
                kept = screen(world, hits)
                kept_best += bool(kept[world.right.argmax()])
                losses.append(float(world.right.max() - world.right[kept].max()))
                answers = right[:, kept]
                is_live, share = race(answers, "questions")
                lost_in_race += not is_live[answers.mean(axis=0) >= answers.mean(axis=0).max() - 1e-12].any()
                asked.append(share * kept.mean())
            cells = (
                f"{100 * kept_best / repetitions:.1f}",
                f"{100 * np.mean(losses):.2f}",
                f"{100 * lost_in_race / repetitions:.1f}",
                f"{100 * np.mean(asked):.0f}",
            )
            print(f"| {name} | {count} | {' | '.join(cells)} |", flush=True)
