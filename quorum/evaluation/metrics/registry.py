"""The metrics of one answer, by their names in results.jsonl and summary.json: ours, those of installed packages
(docs/plugins.md), and the functions that a caller gives to one evaluation.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType

from quorum.core import plugins
from quorum.core.state import Result
from quorum.evaluation.metrics import answers, passages
from quorum.evaluation.metrics.answers import Reference

Scorer = Callable[[Result, Reference], float | bool | None]

LOG = logging.getLogger("quorum")
WARNED_METRICS: set[tuple[str, str]] = set()
WARNING_LOCK = Lock()
JUDGED_MEASURE = "judged"  # the judge's verdict; it comes from a model, not from a function
WORTH_MEASURE = "worth"  # the deciding measure minus the cost of wrong answers (--wrong-cost); decide.py computes it


@dataclass(frozen=True)
class Metric:
    """How an answer is measured. score: (result, reference) -> a number or a truth value, None if there is nothing to
    measure.

    compared: methods are compared by this metric, with intervals and tests; has_interval: its mean is shown with an
    interval, as that of a compared metric is; binary: values are 0 or 1, so the test is
    McNemar's; counts_missing_as_zero: whether a question without a value counts as 0.
    """

    score: Scorer
    compared: bool = False
    has_interval: bool = False
    binary: bool = False
    counts_missing_as_zero: bool = False


METRICS: dict[str, Metric] = {
    "em": Metric(answers.em, compared=True, binary=True),
    "f1": Metric(answers.f1, compared=True),
    "contains": Metric(answers.contains),
    "squad_exact_match": Metric(answers.squad_exact_match, binary=True),
    "squad_f1": Metric(answers.squad_f1),
    "accuracy": Metric(answers.accuracy, compared=True, binary=True),
    "rouge_l": Metric(answers.rouge_l, compared=True),
    "str_em": Metric(answers.str_em, compared=True),
    "unknown": Metric(answers.unknown),
    # In these two, a question without a vote counts as 0.
    "right_answer_outvoted": Metric(answers.right_answer_outvoted, counts_missing_as_zero=True),
    "right_answer_among_votes": Metric(answers.right_answer_among_votes, counts_missing_as_zero=True),
    "oracle": Metric(answers.oracle),
    "oracle_f1": Metric(answers.oracle_f1),
    "overlap_own_summary": Metric(answers.overlap_own_summary),
    "overlap_other_summaries": Metric(answers.overlap_other_summaries),
    "recall": Metric(passages.recall, compared=True),
    "precision": Metric(passages.precision, has_interval=True),
    # s_precision: 1 if the passages are exactly the gold ones, else 0.
    "s_precision": Metric(passages.s_precision, has_interval=True),
    "recall_before_filter": Metric(passages.recall_before_filter, has_interval=True),
    "precision_before_filter": Metric(passages.precision_before_filter, has_interval=True),
    "s_precision_before_filter": Metric(passages.s_precision_before_filter, has_interval=True),
    "hit": Metric(passages.hit, compared=True, binary=True),
    "hit_at_1": Metric(passages.hit_at_1, has_interval=True),
    "mrr": Metric(passages.reciprocal_rank, compared=True),
    "answer_in_passages": Metric(passages.answer_in_passages, has_interval=True, binary=True),
    "answer_on_top": Metric(passages.answer_on_top, has_interval=True),
    "supported": Metric(passages.supported, has_interval=True),
    "context_tokens": Metric(passages.context_tokens),
    # The share of the words of the passages that occur in an accepted answer.
    "context_precision": Metric(passages.context_precision, has_interval=True),
}


# What is measured where nothing is answered: what was found, and of this what needs no ids of gold passages.
PASSAGE_MEASURES = tuple(name for name, metric in METRICS.items() if metric.score.__module__ == passages.__name__)
RETRIEVAL_MEASURES = ("recall", "hit", "mrr", "answer_in_passages")  # these decide where nothing is answered
ANSWER_IN_PASSAGES_MEASURES = ("answer_in_passages", "context_tokens", "context_precision")
NO_METRICS: Mapping[str, Metric] = MappingProxyType({})
# The metrics of the caller of the running evaluation; in a context variable, as several evaluations may run at once.
GIVEN_METRICS: ContextVar[Mapping[str, Metric]] = ContextVar("GIVEN_METRICS", default=NO_METRICS)


@contextmanager
def use_metrics(scorers: Mapping[str, Scorer]) -> Iterator[None]:
    """Within the `with` block, answers are also measured by these functions, which `list_metrics` then lists."""
    token = GIVEN_METRICS.set({name: Metric(scorer) for name, scorer in scorers.items()})
    try:
        yield
    finally:
        GIVEN_METRICS.reset(token)


def list_metrics() -> dict[str, Metric]:
    """Our metrics, then those of installed packages, then those that the caller of the evaluation gave."""
    return {**plugins.add_plugins(plugins.METRIC_GROUP, METRICS, read_metric), **GIVEN_METRICS.get()}


def read_metric(name: str, value: object) -> Metric:
    """The metric that a package registers as `value`: a function of a result and its reference, or a `Metric`."""
    if isinstance(value, Metric):
        return value
    if not callable(value):
        raise TypeError(f"expected a function of a result and a reference, found {value!r}")
    return Metric(value)


def list_plugin_metrics() -> list[str]:
    """The names of the metrics that are not ours: of installed packages, and of the caller."""
    return [name for name in list_metrics() if name not in METRICS]


def list_used_plugin_metrics(summary: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Those of them for which some method has a value. summary: method -> row of summary.json."""
    return [name for name in list_plugin_metrics() if any(row.get(name) is not None for row in summary.values())]


def list_compared_measures() -> list[str]:
    """The measures that have intervals and tests: the compared metrics, the judge's verdict, and the worth."""
    return [*(name for name, metric in list_metrics().items() if metric.compared), JUDGED_MEASURE, WORTH_MEASURE]


def list_measures_with_intervals() -> list[str]:
    """The measures whose means are shown with intervals: those that methods are compared by, and those of passages."""
    return [
        *(name for name, metric in list_metrics().items() if metric.compared or metric.has_interval),
        *(JUDGED_MEASURE, WORTH_MEASURE),
    ]


def is_binary(measure: str) -> bool:
    """Whether a measure is 0 or 1 for each question."""
    return measure == JUDGED_MEASURE or (measure in (metrics := list_metrics()) and metrics[measure].binary)


def score_result(result: Result, reference: Reference) -> dict[str, float | bool | None]:
    """{name of a metric: its value} for one result; a value is None if there is nothing to measure."""
    return {
        name: round_number(compute_metric(name, metric, result, reference)) for name, metric in list_metrics().items()
    }


def compute_metric(name: str, metric: Metric, result: Result, reference: Reference) -> float | bool | None:
    """Compute one metric. If a package's metric fails, we warn once and the answer has no value."""
    if name in METRICS:
        return metric.score(result, reference)
    try:
        value = metric.score(result, reference)
    except Exception as error:  # noqa: BLE001  the answer is paid for; a metric must not lose it
        warn_once(name, f"{type(error).__name__}: {error}")
        return None
    if value is None or isinstance(value, int | float):
        return value
    warn_once(name, f"it returned {type(value).__name__}, where a number, True, False or None is expected")
    return None


def warn_once(name: str, reason: str) -> None:
    """Warn once for each metric and reason. The lock is needed because answers are scored on several threads."""
    with WARNING_LOCK:
        if (name, reason) in WARNED_METRICS:
            return
        WARNED_METRICS.add((name, reason))
    LOG.warning(
        "The metric %r %s failed on an answer (%s). This answer gets no value for the metric.",
        name,
        "that you gave" if name in GIVEN_METRICS.get() else "of an installed package",
        reason,
    )


def round_number(value: float | bool | None) -> float | bool | None:
    return round(value, 9) if isinstance(value, float) else value
