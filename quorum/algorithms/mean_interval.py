"""A 95% interval for a mean of bounded values that is valid on few questions and at the ends of the scale.

For values that are low or high and nothing in between it is the interval of Clopper and Pearson (1934). For all others
it is Gaffke's bound (2005; Learned-Miller and Thomas 2019, arXiv 1905.06208): one more observation is added, as bad as
can be for the lower end and as good as can be for the upper end, and the observations get random weights (Dirichlet,
all parameters 1). For values of 0 and 1 the two agree. That Gaffke's bound covers the mean as often as it says is a
conjecture; no counterexample is known. So it is shown, and nothing is certified by it.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms.binomial import clopper_pearson_upper

DRAWS = 10_000
NUMBERS_AT_ONCE = 1_000_000  # how many random numbers are drawn at once, so that they fit into memory
COMPARED_DIGITS = 9  # decimals to which values are rounded before it is decided whether they are equal

Floats = NDArray[np.float64]


def compute_bounded_mean_interval(
    values: ArrayLike,
    units: ArrayLike | None = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """The interval of the mean of at least one value in [low, high].

    units: the document or conversation of each value; None: each value stands for itself. The values of one unit are
    drawn together, and the added unit has the mean size.

    >>> [round(end, 2) for end in compute_bounded_mean_interval([1] * 30)]
    [0.88, 1.0]
    """
    rounded = np.round(np.asarray(values, dtype=np.float64), COMPARED_DIGITS)
    if units is None and np.isin(rounded, (low, high)).all() and low < high:
        ends = compute_share_interval(int((rounded == high).sum()), len(rounded), level=level)
        return low + (high - low) * ends[0], low + (high - low) * ends[1]
    places = np.arange(len(rounded)) if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    places = places.astype(np.int64)
    sums = np.bincount(places, weights=rounded).astype(np.float64)
    sizes = np.bincount(places).astype(np.float64)
    return compute_gaffke_interval(sums, sizes, low, high, level=level, draws=draws, seed=seed)


def compute_share_interval(successes: int, count: int, *, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson 1934) after `successes` of `count`.

    >>> [round(end, 3) for end in compute_share_interval(8, 8)]
    [0.631, 1.0]
    """
    error = (1 - level) / 2
    return (
        1 - clopper_pearson_upper(count - successes, count, error),
        clopper_pearson_upper(successes, count, error),
    )


def compute_gaffke_interval(
    sums: Floats, sizes: Floats, low: float, high: float, *, level: float, draws: int, seed: int
) -> tuple[float, float]:
    """Gaffke's interval of the mean of all values. sums, sizes: the sum and the number of the values of each unit.

    Units that are equal are drawn together: the sum of their weights has a gamma distribution.
    """
    pairs, counts = np.unique(np.column_stack([np.round(sums, COMPARED_DIGITS), sizes]), axis=0, return_counts=True)
    extra = float(sizes.mean())
    lows, highs = [], []
    for weights, extra_weight in draw_weights(counts, draws, np.random.default_rng(seed)):
        own, total = weights @ pairs[:, 0], weights @ pairs[:, 1] + extra * extra_weight
        lows.append((own + extra * low * extra_weight) / total)
        highs.append((own + extra * high * extra_weight) / total)
    error = (1 - level) / 2
    return float(np.quantile(np.concatenate(lows), error)), float(np.quantile(np.concatenate(highs), 1 - error))


def draw_weights(
    counts: NDArray[np.int64], draws: int, generator: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Weights in blocks of draws: for each distinct unit the sum of the weights of all units equal to it, and the
    weight of the added unit. They need no scaling, because only their ratios count.
    """
    at_once = max(1, NUMBERS_AT_ONCE // (len(counts) + 1))
    shapes = counts.astype(np.float32)
    for start in range(0, draws, at_once):
        size = (min(at_once, draws - start), len(counts))
        weights = (
            generator.standard_exponential(size, dtype=np.float32)
            if counts.max() == 1
            else generator.standard_gamma(shapes, size, dtype=np.float32)
        )
        yield weights.astype(np.float64), generator.standard_exponential(size[0])
