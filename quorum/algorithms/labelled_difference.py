"""The difference of two methods from labels on a random part of the questions on which their answers differ.

Where the answers are equal, the difference is 0 and needs no label. Of M questions, let the answers differ on a share
g, and let n of those be labelled, drawn at random, with differences D. The estimate is g mean(D), and its variance
g^2 var(D) / n + g (1 - g) mean(D)^2 / M: the first term for the labels, the second for the share.

If a model has judged all answers, its differences J on the labelled and the unlabelled questions make the first term
smaller: theta = mean(D) - w (mean(J labelled) - mean(J unlabelled)) with the best weight w in [0, 1].

Source: Angelopoulos, Duchi and Zrnic 2023, PPI++ (arXiv:2311.01453), section 4 and example 6.1 (a mean).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FEWEST_LABELS, FEWEST_DIFFERENCES = 50, 10  # with fewer the interval does not hold what it says
INTEGRATION_POINTS = 2001


@dataclass(frozen=True)
class LabelledDifference:
    """difference: the estimate; error: its standard error; degrees: of freedom of its t distribution; weight: how much
    the judge counts, from 0 to 1; worth: as how many labels the labels count with the judge.
    """

    difference: float
    error: float
    degrees: int
    weight: float
    worth: float

    def compute_interval(self, level: float = 0.95) -> tuple[float, float]:
        half = compute_t_quantile(1 - (1 - level) / 2, self.degrees) * self.error
        return self.difference - half, self.difference + half

    def compute_p_value(self, at_most: float) -> float:
        """The p-value of "the difference is at most `at_most`": approximate, by the t distribution."""
        if self.error == 0:
            return float(self.difference <= at_most)
        return 1 - compute_t_probability((self.difference - at_most) / self.error, self.degrees)


def are_enough_labels(differences: ArrayLike) -> bool:
    """Whether the approximation may be used."""
    values = np.asarray(differences, dtype=np.float64)
    return values.size >= FEWEST_LABELS and int((values != 0).sum()) >= FEWEST_DIFFERENCES


def estimate_difference(
    differences: ArrayLike,
    share: float,
    questions: int,
    judged: ArrayLike | None = None,
    judged_unlabelled: ArrayLike | None = None,
) -> LabelledDifference:
    """The difference over all questions.

    differences: of the n labelled questions on which the answers differ, each in [-1, 1]; share: g; questions: M.
    judged: the judge's differences on the labelled questions; judged_unlabelled: on the others that differ; both, or
    neither.

    >>> estimate = estimate_difference([1, 0, -1, 1] * 25, 0.25, 1000)
    >>> round(estimate.difference, 4), [round(end, 3) for end in estimate.compute_interval()]
    (0.0625, [0.021, 0.104])
    """
    values = np.asarray(differences, dtype=np.float64)
    n, weight, mean = values.size, 0.0, float(values.mean())
    variance = plain = float(values.var(ddof=1)) / n
    degrees = n - 1
    unlabelled = np.asarray([] if judged_unlabelled is None else judged_unlabelled, dtype=np.float64)
    if judged is not None and unlabelled.size > 1:
        said = np.asarray(judged, dtype=np.float64)
        spread = float(np.concatenate([said, unlabelled]).var(ddof=1))
        if spread > 0:
            weight = float(np.clip(np.cov(values, said)[0, 1] / ((1 + n / unlabelled.size) * spread), 0, 1))
            mean -= weight * float(said.mean() - unlabelled.mean())
            rest = values - weight * said
            degrees = n - 2
            variance = float(((rest - rest.mean()) ** 2).sum()) / degrees / n
            variance += weight**2 * float(unlabelled.var(ddof=1)) / unlabelled.size
    total = share**2 * variance + share * (1 - share) * mean**2 / questions
    return LabelledDifference(share * mean, math.sqrt(total), degrees, weight, n * plain / variance if variance else n)


def compute_t_probability(t: float, degrees: int) -> float:
    """P(T <= t) of Student's t distribution. With t = sqrt(degrees) tan(a) its density is that of cos(a)^(degrees - 1).

    >>> round(compute_t_probability(2.0, 10), 4)
    0.9633
    """
    angle = math.atan(t / math.sqrt(degrees))
    points = np.linspace(0.0, angle, INTEGRATION_POINTS)
    heights = np.cos(points) ** (degrees - 1)
    steps = np.ones(INTEGRATION_POINTS)
    steps[1:-1:2], steps[2:-1:2] = 4, 2  # Simpson's rule
    area = float((steps * heights).sum()) * angle / (INTEGRATION_POINTS - 1) / 3
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(math.pi)
    return min(1.0, max(0.0, 0.5 + scale * area))


@lru_cache(maxsize=256)
def compute_t_quantile(probability: float, degrees: int) -> float:
    """The t with P(T <= t) = probability.

    >>> round(compute_t_quantile(0.975, 99), 3)
    1.984
    """
    low, high = -1e3, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if compute_t_probability(middle, degrees) < probability else (low, middle)
    return low
