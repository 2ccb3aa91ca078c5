"""Confidence and correctness: the risk-coverage curve, its area, calibration, and answers that are withheld."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from composed_fixtures import write_cascade
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from quorum.cascades.composed_file import ComposedCascade, ComposedStage, read_composed_cascade
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.uncertainty import abstain_below, check_confidence, compute_calibration, has_confidence
from quorum.graphs import METHODS, answer

NAN = float("nan")


def test_a_risk_coverage_curve_computed_by_hand() -> None:
    calibration = compute_calibration([0.9, 0.8, 0.6, 0.4], [1, 0, 1, 0], question_count=5)
    assert calibration is not None
    assert (calibration.n, calibration.of) == (4, 5)
    assert calibration.coverage == [0.2, 0.4, 0.6, 0.8]
    assert calibration.risk == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert calibration.area == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert calibration.best == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)  # the area if both right answers came first
    assert calibration.chance == 0.5
    assert calibration.ece == pytest.approx((0.1 + 0.8 + 0.4 + 0.4) / 4)


def test_answers_of_equal_confidence_are_one_step_of_the_curve_with_their_mean_risk() -> None:
    calibration = compute_calibration([1, 1, 1, 1], [1, 0, 1, 0])
    assert calibration is not None
    assert (calibration.coverage, calibration.risk) == ([1], [0.5])
    assert calibration.area == calibration.chance == 0.5


def test_the_calibration_error_tells_calibrated_from_overconfident() -> None:
    good_calibration = compute_calibration([0.75] * 4 + [0.25] * 4, [1, 1, 1, 0, 1, 0, 0, 0])
    overconfident_calibration = compute_calibration([1.0] * 4, [0, 0, 1, 0])
    assert good_calibration is not None
    assert overconfident_calibration is not None
    assert good_calibration.ece == 0
    assert overconfident_calibration.ece == 0.75
    (only_bin,) = overconfident_calibration.bins
    assert (only_bin.count, only_bin.confidence, only_bin.right) == (4, 1.0, 0.25)


def test_answers_without_a_confidence_are_left_out() -> None:
    calibration = compute_calibration([NAN, 0.5, NAN], [0, 1, 1], question_count=3)
    assert calibration is not None
    assert (calibration.n, calibration.coverage, calibration.risk) == (1, [1 / 3], [0])
    assert compute_calibration([NAN, NAN], [1, 0]) is None
    assert compute_calibration([], []) is None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_the_area_lies_between_the_best_and_the_worst_order(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    confidences = data.draw(arrays.arrays(float, n, elements=st.sampled_from([0, 0.1, 0.3, 0.5, 0.9, 1])))
    right = data.draw(arrays.arrays(float, n, elements=st.sampled_from([0, 0.5, 1])))  # the score of each answer
    calibration = compute_calibration(confidences, right)
    worst_calibration = compute_calibration(1 - right, right)  # surest where wrong
    assert calibration is not None
    assert worst_calibration is not None
    assert calibration.best - 1e-9 <= calibration.area <= worst_calibration.area + 1e-9
    assert calibration.coverage[-1] == 1
    assert calibration.risk[-1] == pytest.approx(calibration.chance)
    assert 0 <= calibration.ece <= 1
    assert sum(item.count for item in calibration.bins) == n
    # The area of tied answers is the mean over their orders; 50 random orders estimate it.
    risk_curves = [np.cumsum(wrong) / np.arange(1, n + 1) for wrong in sort_with_shuffled_ties(confidences, 1 - right)]
    assert calibration.area == pytest.approx(np.mean(risk_curves), abs=0.2)


def sort_with_shuffled_ties(confidences: Any, wrong: Any) -> list[Any]:
    """`wrong` in the order of falling confidence, 50 times; answers of equal confidence are shuffled each time."""
    rng = np.random.default_rng(0)
    return [wrong[np.lexsort((rng.random(len(confidences)), -confidences))] for _ in range(50)]


def test_an_answer_below_the_bound_is_unknown() -> None:
    result: Any = {"answer": "1889", "unknown": False, "confidence": 0.4, "evidence": [{"passage": "a"}]}
    withheld_result = abstain_below(result, 0.5)
    assert withheld_result["answer"] == "unknown"
    assert (withheld_result["unknown"], withheld_result["evidence"]) == (True, [])
    assert withheld_result["confidence"] == 0.4
    assert abstain_below(result, 0.4) is result
    assert abstain_below({**result, "confidence": None}, 0.9)["answer"] == "1889"


PASSAGES: Any = [
    {"id": "a", "title": "Tower", "text": "The tower was finished in 1889 by the company of Gustave Eiffel."},
    {"id": "b", "title": "Bridge", "text": "The bridge was finished in 1883 by Emily Roebling and her men."},
]


@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("method", METHODS)
async def test_only_methods_that_state_a_confidence_may_abstain_by_it(method: str, samples: int) -> None:
    context = Context(samples=samples, temperature=0.0, max_steps=1, k=2)
    result = await answer("When was the tower finished?", method, context, given=PASSAGES)
    if has_confidence(method, context):
        check_confidence(method, context)
        return  # a method that can state a confidence need not have one for this question
    assert result["confidence"] is None
    with pytest.raises(SetupError, match="states no confidence"):
        check_confidence(method, context)


@pytest.mark.parametrize("method", ["post_fusion", "concat_pf", "rerank", "replug"])
def test_a_staged_vote_states_no_confidence(method: str) -> None:
    assert has_confidence(method, Context())
    with pytest.raises(SetupError, match=r"set vote=all, or .*choose one of these methods: sure, self_verification\.$"):
        check_confidence(method, Context(vote="staged"))


def test_a_cascade_states_a_confidence_if_one_of_its_stages_does(tmp_path: Path) -> None:
    def check_cascade(last_method: str, stage_settings: dict[str, Any], context: Context) -> str:
        file = write_cascade(tmp_path, ("concat", {"test": "known"}, {}), (last_method, None, stage_settings))
        check_confidence(file, context, read_composed_cascade(file))
        return file

    inner_file = Path(check_cascade("post_fusion", {}, Context())).rename(tmp_path / "inner.json")
    check_cascade("post_fusion", {"vote": "all"}, Context(vote="staged"))  # the stage keeps what was recorded for it
    check_cascade(str(inner_file), {}, Context())
    no_confidence = "No stage of the cascade .* states a confidence"
    for last_method, stage_settings in (("concat", {}), ("post_fusion", {"vote": "staged"})):
        with pytest.raises(SetupError, match=no_confidence):
            check_cascade(last_method, stage_settings, Context())


def test_a_stages_unrecorded_settings_are_those_of_the_context(tmp_path: Path) -> None:
    stages = tuple(
        ComposedStage(name=name, method=name, accept=None, settings={}) for name in ("concat", "post_fusion")
    )
    cascade = ComposedCascade(file="composed.json", hash="0" * 64, stages=stages, certificate=None)
    check_confidence("composed.json", Context(), cascade)
    check_confidence("composed.json", Context(vote="staged", samples=5, temperature=0.7), cascade)
    with pytest.raises(SetupError, match="No stage of the cascade"):
        check_confidence("composed.json", Context(vote="staged"), cascade)
