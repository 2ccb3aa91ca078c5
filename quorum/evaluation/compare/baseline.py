"""Methods against a baseline, question by question: differences, intervals, tests."""

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import TypedDict

from quorum.algorithms.paired import paired_interval
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.registry import is_binary, list_compared_measures
from quorum.evaluation.metrics.statistics import Floats, Interval, bootstrap, holm, mcnemar, questions_needed, sign_flip
from quorum.evaluation.run.results import ColumnScores

DIGITS = 6
FEW_QUESTIONS = 100


class Difference(TypedDict):
    """A method's mean minus the baseline's, over the same questions, with its 95% interval.

    test: "mcnemar" for a measure that is right or wrong, else "sign flip"; p_holm: p adjusted for the number of methods
    compared; questions_needed: how many questions would separate the two at power 0.8 and alpha 0.05, null if the means
    are equal.
    """

    difference: float
    low: float
    high: float
    test: str
    p: float
    p_holm: float
    questions_needed: int | None


class Comparison(TypedDict):
    """Methods against the baseline over the `n` questions that all of them answered.

    left_out: questions that only some methods answered; methods: by name, the difference in each measure, over the
    questions that have the measure.
    """

    baseline: str
    n: int
    left_out: int
    methods: dict[str, dict[str, Difference]]


def compare(scores: Mapping[str, ColumnScores], names: Sequence[str], baseline: str) -> Comparison:
    """Compare the methods `names` with `baseline`, which is one of them."""
    sets = [set(scores[name].ids) for name in names]
    common = sorted(set.intersection(*sets))
    others = [name for name in names if name != baseline]
    compared: dict[str, dict[str, Difference]] = {name: {} for name in others}
    for measure in (one for one in list_compared_measures() if all(one in scores[name].values for name in names)):
        values = {name: scores[name].of(measure, common) for name in names}
        defined = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
        if not others or not defined.any():
            continue
        base = values[baseline][defined]
        found = differences([values[name][defined] for name in others], base, exact=is_binary(measure))
        for name, one in zip(others, found, strict=True):
            compared[name][measure] = one
    return Comparison(baseline=baseline, n=len(common), left_out=len(set.union(*sets)) - len(common), methods=compared)


def differences(methods: Sequence[Floats], base: Floats, *, exact: bool) -> list[Difference]:
    """The difference of each method from the baseline in one measure; the p-values are adjusted together."""
    p_values = [mcnemar(values, base) if exact else sign_flip(values - base) for values in methods]
    test = "mcnemar" if exact else "sign flip"
    return [
        difference(values - base, test, p, adjusted)
        for values, p, adjusted in zip(methods, p_values, holm(p_values), strict=True)
    ]


def interval_of(found: Floats) -> Interval:
    """The mean difference and its interval. On few questions the bootstrap is too narrow: the interval is exact."""
    if len(found) >= FEW_QUESTIONS:
        return bootstrap(found)
    return Interval(float(found.mean()), *paired_interval(found))


def difference(found: Floats, test: str, p: float, p_holm: float) -> Difference:
    mean, low, high = (round(value, DIGITS) for value in interval_of(found))
    return Difference(
        difference=mean,
        low=low,
        high=high,
        test=test,
        p=round(p, DIGITS),
        p_holm=round(p_holm, DIGITS),
        questions_needed=questions_needed(found),
    )


def check_baseline(groups: Sequence[Sequence[str]], baseline: str | None) -> None:
    """Raises `SetupError` if the baseline is not one of the methods."""
    names = [name for group in groups for name in group]
    if baseline is not None and baseline not in names:
        raise SetupError(f"The baseline {baseline!r} is none of the methods; name one of: {', '.join(names)}.")


def compare_groups(
    scores: Mapping[str, ColumnScores], groups: Sequence[Sequence[str]], baseline: str | None = None
) -> list[Comparison]:
    """Compare each group of two or more methods with its first method, or with `baseline` if the group contains it."""
    return [
        compare(scores, group, baseline if baseline is not None and baseline in group else group[0])
        for group in groups
        if len(group) > 1
    ]
