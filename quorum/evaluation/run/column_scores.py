"""A row of results.jsonl, and the scores of one column (a method with all its settings) in arrays."""

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from quorum.evaluation.metrics.registry import WORTH_MEASURE, list_measures_with_intervals, list_metrics
from quorum.evaluation.metrics.statistics import (
    Floats,
    Interval,
    compute_interval_of_known,
    compute_quantile,
    number_units,
)

COST_KEYS = ("calls", "input_tokens", "output_tokens")


class Row(TypedDict, total=False):
    """One line of results.jsonl. All measures are null if the question has an `error`.

    The measures have the names of `METRICS` in `quorum.evaluation.metrics.registry`; the function of each metric
    explains it. Extra keys of an experiment follow at the end, then the metrics of installed packages.
    """

    id: str
    """The question's id in the data."""
    method: str
    """The column: a method with its own settings in brackets."""
    question: str
    """The question as it was asked."""
    task: str
    """short, yes_no, label, dialogue or long."""
    answer_measure: str
    """How answers were compared with accepted ones (`Context.answer_measure`); in rows of older versions, without it,
    by SQuAD's rules.
    """
    answer: str | None
    """What the method answered, as it is measured; "unknown" for none; null after an error."""
    answer_text: str | None
    """The answer as the model wrote it; rows of older versions lack it."""
    gold: list[str]
    """The accepted answers."""
    em: float | None
    """Exact match, 0 or 1."""
    f1: float | None
    """Token F1 with the best accepted answer, 0..1."""
    contains: float | None
    """Whether `answer_text` contains an accepted answer, 0 or 1."""
    squad_exact_match: float | None
    """Exact match as SQuAD publishes it, whatever the answer measure."""
    squad_f1: float | None
    """Token F1 as SQuAD publishes it, whatever the answer measure."""
    accuracy: float | None
    """Whether a yes/no answer or a label is right, 0 or 1; null for other tasks."""
    rouge_l: float | None
    """ROUGE-L of a long answer, 0..1; null for other tasks."""
    str_em: float | None
    """The share of the parts of a long answer that it contains, 0..1; null without such parts."""
    unknown: bool | None
    """Whether the method gave no answer."""
    right_answer_outvoted: bool | None
    """Whether a right answer was among the votes and lost; null without a vote."""
    right_answer_among_votes: bool | None
    """Whether a right answer was among the votes; null without a vote."""
    oracle: bool | None
    """Whether any candidate, or else any vote, is right."""
    oracle_f1: float | None
    """The highest F1 of a candidate, or else of a vote, 0..1."""
    overlap_own_summary: float | None
    """TF-IDF cosine of a candidate and its own summary, the mean over candidates, 0..1."""
    overlap_other_summaries: float | None
    """TF-IDF cosine of a candidate and another's summary, the mean over all pairs, 0..1."""
    recall: float | None
    """The share of the gold passages that are among the final ones."""
    precision: float | None
    """The share of the final passages that are gold."""
    s_precision: float | None
    """1 if the final passages are exactly the gold ones, else 0."""
    recall_before_filter: float | None
    """Recall of the retrieved passages, before a filter."""
    precision_before_filter: float | None
    """Precision of the retrieved passages, before a filter."""
    s_precision_before_filter: float | None
    """S-Precision of the retrieved passages, before a filter."""
    hit: float | None
    """1 if a retrieved passage is gold, else 0."""
    hit_at_1: float | None
    """1 if the first retrieved passage is gold, else 0."""
    mrr: float | None
    """1 divided by the rank of the first gold passage, 0 if there is none."""
    answer_in_passages: bool | None
    """Whether a final passage contains an accepted answer."""
    answer_on_top: bool | None
    """Whether the first final passage supports an accepted answer."""
    supported: bool | None
    """Whether a final passage supports an accepted answer."""
    context_tokens: int | None
    """Tokens of the final passages, at three bytes a token."""
    context_precision: float | None
    """The share of the final passages' words that also occur in an accepted answer."""
    confidence: float | None
    """How sure the method is, 0..1; null if it does not say."""
    candidates: list[str] | None
    """The candidate answers; null in a method without them."""
    evidence: list[str]
    """The ids of the passages that support the answer."""
    voters_without_evidence: list[str] | None
    """The ids of the passages that voted for the answer and do not contain it."""
    passages: list[str]
    """The ids of the passages after a filter, best first."""
    retrieved: list[str] | None
    """The ids of the passages before a filter; null in a method without one."""
    calls: int | None
    """Model calls, counted as if the method had run alone."""
    input_tokens: int | None
    """Tokens of the prompts of these calls."""
    output_tokens: int | None
    """Tokens of the replies to these calls."""
    malformed: int | None
    """How many replies lack the form that their prompt asks for."""
    wordy_answers: int | None
    """How many answers have too many words where the prompt asks for a short one."""
    temperature_refused: bool | None
    """Whether a model refused temperature 0, so that the answer may differ the next time."""
    dropped: int | None
    """How many passages were left out of prompts to fit the model's window."""
    seconds: float
    """The wall time of the answer in this run. If the run writes details.jsonl (`Options.writes_details`), a stored
    reply and a cached search count with their original time, as if no other method ran.
    """
    reused_calls: int | None
    """How many of the answer's calls needed no request, because the reply came from the journal or from an identical
    call of another method.
    """
    error: str | None
    """Why the question has no answer, in one sentence; null if it has one."""
    group: str
    """The document or conversation that the question belongs to, if the data name one."""
    rationale: str | None
    """In experiments: the method's reasons."""
    gold_rank: int | None
    """In experiments: the rank that the gold passage was put at, from 0."""


def list_measure_names() -> list[str]:
    """The names of each row's measures: the metrics, then the costs."""
    return [*list_metrics(), *COST_KEYS]


class ColumnScores:
    """The measures of one column, question by question, as arrays of numbers, which take little memory.

    ids: the answered questions, in order of arrival; values: by measure, one number for each of `ids`, NaN if the
    question does not have the measure; group_of_id: the document or conversation of each question that has one;
    unanswerable_ids: the questions to which the data have no answer, so that "unknown" is right; error_messages: by id,
    for questions whose calls failed.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.values = {name: array("d") for name in (*list_measure_names(), "confidence", "seconds")}
        # for each answer: whether one of its replies came from the journal or from another method's call
        self.has_reused_call: list[bool] = []
        self.group_of_id: dict[str, str] = {}
        self.unanswerable_ids: set[str] = set()
        self.tasks: set[str] = set()
        self.malformed = self.wordy_answers = self.temperature_refused = 0
        self.error_messages: dict[str, str] = {}
        self.judge_counts: dict[str, float | int | None] = {}
        self.wrong_cost = 0.0

    def add(self, row: Row) -> None:
        """Add a row of results.jsonl.

        A row with an error adds only its error message. A later row that answers the question removes the message.
        """
        if row["error"] is not None:
            self.error_messages[row["id"]] = row["error"]
            return
        self.error_messages.pop(row["id"], None)
        self.ids.append(row["id"])
        if row.get("group"):
            self.group_of_id[row["id"]] = row["group"]
        if row.get("gold") == []:
            self.unanswerable_ids.add(row["id"])
        self.tasks.add(row.get("task") or "short")
        self.malformed += row["malformed"] or 0
        self.wordy_answers += row.get("wordy_answers") or 0  # not in rows of an older Quorum
        self.temperature_refused += bool(row.get("temperature_refused"))
        self.has_reused_call.append(bool(row.get("reused_calls")))
        for name, values in self.values.items():
            value: Any = row.get(name)
            values.append(math.nan if value is None else value)

    def get_values(self, name: str, ids: Sequence[str]) -> Floats:
        """The values of a measure for these questions, in the order of `ids`; all of them must have been answered."""
        index_of_id = {id_: index for index, id_ in enumerate(self.ids)}
        values: Floats = np.array(self.values[name])
        return values[[index_of_id[id_] for id_ in ids]] if ids else np.empty(0)

    def get_units(self, ids: Sequence[str]) -> NDArray[np.int64] | None:
        """The unit of each question: a number that questions of one document or conversation share. None if each
        question is a unit of its own.
        """
        return number_units(ids, self.group_of_id)

    def compute_interval(self, measure: str, ids: Sequence[str] | None = None) -> Interval | None:
        """The mean of a measure with its interval, over the questions `ids` (by default all) that have it; None if no
        question has it.

        For a metric with `counts_missing_as_zero`, the questions without a value count as 0, unless no question has
        one.
        """
        chosen_ids = self.ids if ids is None else ids
        values = self.get_values(measure, chosen_ids)
        metric = list_metrics().get(measure)
        if metric is not None and metric.counts_missing_as_zero and not np.isnan(values).all():
            values = np.nan_to_num(values)
        low = -self.wrong_cost if measure == WORTH_MEASURE else 0.0
        return compute_interval_of_known(values, self.get_units(chosen_ids), low)

    def add_verdicts(self, verdicts: Mapping[str, float | None], counts: Mapping[str, float | int | None]) -> None:
        """Add a judge's verdicts on the answers, by question id: 1 right, 0 wrong, None unscored.

        An answer is unscored if the judge gave no verdict that can be read. counts: how many answers are unscored, how
        many of the judge's calls failed, and the judge's mean calls and tokens for each answer; `summarize` adds these
        counts to the summary.
        """
        verdict_values = (verdicts.get(id_) for id_ in self.ids)
        self.values["judged"] = array("d", (math.nan if verdict is None else verdict for verdict in verdict_values))
        self.judge_counts = dict(counts)

    def add_worth(self, measure: str, wrong_cost: float) -> None:
        """Add the worth of each answer: its measure s less wrong_cost * (1 - s); saying unknown costs nothing."""
        score, unknown = np.array(self.values[measure]), np.array(self.values["unknown"]) == 1
        worth = np.where(unknown, score, score - wrong_cost * (1 - score))
        self.wrong_cost, self.values[WORTH_MEASURE] = wrong_cost, array("d", worth.tolist())

    def get_known_values(self, name: str) -> Floats:
        """The values of a measure, for the questions that have it."""
        values: Floats = np.array(self.values[name])
        known_values: Floats = values[~np.isnan(values)]
        return known_values

    def get_seconds_without_reused_calls(self) -> Floats:
        """The seconds of the answers without reused calls.

        The seconds of an answer with a reused call are too short or, if the run writes details.jsonl, an estimate from
        the original times of its calls.
        """
        seconds, has_reused_call = np.array(self.values["seconds"]), np.array(self.has_reused_call, dtype=np.bool_)
        own_seconds: Floats = seconds[~has_reused_call & ~np.isnan(seconds)]
        return own_seconds

    def summarize(self) -> dict[str, float | int | None]:
        """The column's entry in summary.json: means and counts, with intervals for those that answers and
        passages are judged by (`list_measures_with_intervals`).

        A mean is taken over the questions that have the measure, and is null if no question has it. Its interval is
        null, too, if a value lies outside 0..1, as a package's metric may have. For a metric with
        `counts_missing_as_zero`, the other answered questions count as 0, unless no question has the measure. Answers
        with a reused call do not count for the seconds; `answers_not_timed` is their number. The seconds are null if
        every answer has a reused call.
        """
        summary: dict[str, float | int | None] = {"n": len(self.ids) + len(self.error_messages)}
        metrics, measures_with_intervals = list_metrics(), list_measures_with_intervals()
        for name in (*list_measure_names(), *(["judged"] if "judged" in self.values else [])):
            known_values = self.get_known_values(name)
            if name in metrics and metrics[name].counts_missing_as_zero and len(known_values):
                known_values = np.nan_to_num(np.array(self.values[name]))
            summary[name] = round(math.fsum(known_values) / len(known_values), 6) if len(known_values) else None
            if name in measures_with_intervals:
                interval = self.compute_interval(name)
                ends = zip(("low", "high"), (math.nan, math.nan) if interval is None else interval[1:], strict=True)
                summary |= {f"{name}_{end}": None if math.isnan(value) else round(value, 6) for end, value in ends}
        seconds = self.get_seconds_without_reused_calls()
        for percentile, share in (("p50", 0.5), ("p95", 0.95)):
            summary[f"seconds_{percentile}"] = round(compute_quantile(seconds, share), 4) if len(seconds) else None
        summary["answers_not_timed"] = sum(self.has_reused_call)
        reply_counts = {
            "malformed": self.malformed,
            "wordy_answers": self.wordy_answers,
            "temperature_refused": self.temperature_refused,
        }
        return summary | {"errors": len(self.error_messages)} | reply_counts | self.judge_counts
