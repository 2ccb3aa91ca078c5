"""Holm's correction agrees with its reference; quantiles, units, and means of values that may be missing."""

import gc
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.evaluation.metrics.statistics import (
    adjust_p_values,
    compute_interval_of_known,
    compute_mean_interval,
    compute_quantile,
    number_units,
)


@pytest.fixture(scope="module")
def multipletests() -> Iterator[Callable[..., Any]]:
    """The reference. It collects garbage in every call: a second where many tests have left their objects."""
    from statsmodels.stats.multitest import multipletests

    gc.freeze()
    yield multipletests
    gc.unfreeze()


@given(p_values=st.lists(st.floats(0, 1), max_size=8))
@pytest.mark.long
def test_holm_is_that_of_statsmodels(multipletests: Callable[..., Any], p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1] if p_values else []
    assert adjust_p_values(p_values) == pytest.approx(list(expected))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_quantiles_are_in_order(values: list[float]) -> None:
    assert compute_quantile(values, 0) <= compute_quantile(values, 0.5) <= compute_quantile(values, 1)


def test_missing_values_do_not_count_for_an_interval() -> None:
    values, groups = np.array([1.0, np.nan, 0.0, 1.0]), np.array([0, 0, 1, 2])
    assert compute_interval_of_known(values) == compute_mean_interval([1.0, 0.0, 1.0])
    assert compute_interval_of_known(values, groups) == compute_mean_interval([1.0, 0.0, 1.0], [0, 1, 2])
    assert compute_interval_of_known(values * np.nan) is None


def test_a_mean_of_values_outside_the_scale_has_no_interval() -> None:
    interval = compute_interval_of_known([0.5, 7.0])
    assert interval is not None
    assert interval.mean == 3.75
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_questions_of_one_document_are_a_unit_and_all_others_stand_alone() -> None:
    units = number_units(["a", "b", "c", "d"], {"a": "x", "c": "x", "d": "a"})
    assert units is not None
    assert units.tolist() == [0, 1, 0, 2]  # the document "a" is not the question "a"
    assert number_units(["a", "b"], {"a": "x"}) is None
