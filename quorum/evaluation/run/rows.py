"""Makes a line of results.jsonl: a method's answer to a question, and the answer's measures."""

from collections.abc import Sequence
from typing import Any, cast

from quorum.core.citation_marks import strip_marks
from quorum.core.state import Result
from quorum.core.text import AnswerMeasure
from quorum.datasets.records import Record
from quorum.evaluation.metrics.answers import Reference
from quorum.evaluation.metrics.registry import (
    ANSWER_IN_PASSAGES_MEASURES,
    METRICS,
    PASSAGE_MEASURES,
    list_metrics,
    list_plugin_metrics,
    score_result,
)
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.retrieval_only import may_stand_in_passages
from quorum.evaluation.run.tasks import (
    FOUND_ANSWER,
    FOUND_GOLD,
    RETRIEVAL_TASKS,
    list_gold_articles,
    list_short_answers_of_parts,
    read_document_group,
)
from quorum.nodes.citations import CITING_TYPES


def make_answered_row(
    record: Record,
    method: str,
    task: str,
    result: Result,
    *,
    all_votes_known: bool,
    seconds: float,
    answer_measure: AnswerMeasure = "exact_match",
    reused_calls: int = 0,
    extra_keys: Sequence[str] = (),
) -> Row:
    """The line for a question that was answered. method: the name of the column.

    answer_measure: how answers are compared (`Context.answer_measure`). all_votes_known: whether the result holds every
    vote, so that measures of the vote can be computed. reused_calls: how many calls needed no request, because the
    journal or another method's equal call already had the reply. extra_keys: keys of the result to add to the line;
    keys that `Row` does not have are left out. No measure sees the marks of cited passages in a long
    answer, also where a graph of the user's own left them in it.
    """
    if task in CITING_TYPES and result.get("citations") is None:
        result = {**result, "answer": strip_marks(result["answer"])}
    reference = Reference(
        answers=record["answers"],
        gold=record["gold"],
        groups=list_short_answers_of_parts(record),
        task=task,
        answer_measure=answer_measure,
    )
    if articles := list_gold_articles(record):
        reference["articles"] = articles
    scores = score_result(result, reference)
    for measure in ("right_answer_outvoted", "right_answer_among_votes"):
        scores[measure] = bool(scores[measure]) if all_votes_known else None
    if not all_votes_known and result.get("candidates") is None:
        scores["oracle"] = scores["oracle_f1"] = None
    if task in RETRIEVAL_TASKS:
        scores |= dict.fromkeys(list_unmeasured(record, task))
    usage = list((result.get("usage") or {}).values())
    row: dict[str, Any] = {
        "id": record["id"],
        "method": method,
        "question": record["question"],
        "task": task,
        "answer_measure": answer_measure,
        "answer": None if task in RETRIEVAL_TASKS else result["answer"],
        "answer_text": result.get("answer_text"),
        "gold": record["answers"],
        **scores,
        "confidence": result.get("confidence"),
        "candidates": result.get("candidates"),
        "evidence": [item["passage"] for item in result.get("evidence") or []],
        "voters_without_evidence": result.get("voters_without_evidence"),
        "passages": [passage["id"] for passage in result.get("passages") or []],
        "retrieved": result.get("retrieved"),
        "calls": sum(counts["calls"] for counts in usage),
        "input_tokens": sum(counts["input_tokens"] for counts in usage),
        "output_tokens": sum(counts["output_tokens"] for counts in usage),
        "malformed": sum(replies["count"] for replies in (result.get("malformed") or {}).values()),
        "wordy_answers": sum(replies["count"] for replies in (result.get("wordy_answers") or {}).values()),
        "temperature_refused": bool(result.get("temperature_refused")),
        "dropped": result.get("dropped") or 0,
        "seconds": round(seconds, 4),
        "reused_calls": reused_calls,
        "error": None,
        **describe_group(record),
    }
    return order_keys(row | {key: result.get(key) for key in extra_keys})


def list_unmeasured(record: Record, task: str) -> list[str]:
    """The measures that a question does not have where nothing is answered. task: one of RETRIEVAL_TASKS."""
    measured: Sequence[str] = PASSAGE_MEASURES if task == FOUND_GOLD else ANSWER_IN_PASSAGES_MEASURES
    if task == FOUND_ANSWER and not may_stand_in_passages(record):
        measured = ("context_tokens",)
    return [name for name in METRICS if name not in measured]


def make_failed_row(
    record: Record,
    method: str,
    task: str,
    error: str,
    *,
    seconds: float,
    answer_measure: AnswerMeasure = "exact_match",
) -> Row:
    """The line for a question whose calls failed. It has no measures, so that it is never counted as a wrong answer."""
    empty_keys = (
        "answer",
        "answer_text",
        *list_metrics(),
        "confidence",
        "candidates",
        "retrieved",
        "calls",
        "input_tokens",
        "output_tokens",
    )
    row: dict[str, Any] = {
        "id": record["id"],
        "method": method,
        "question": record["question"],
        "task": task,
        "answer_measure": answer_measure,
        **dict.fromkeys((*empty_keys, "malformed", "wordy_answers", "temperature_refused", "dropped")),
        "gold": record["answers"],
        "evidence": [],
        "voters_without_evidence": None,
        "passages": [],
        "seconds": round(seconds, 4),
        "reused_calls": None,
        "error": error,
        **describe_group(record),
    }
    return order_keys(row)


def describe_group(record: Record) -> dict[str, str]:
    """{"group": the document or conversation that the question belongs to}; {} if the data name none."""
    name = read_document_group(record)
    return {} if name is None else {"group": name}


def order_keys(values: dict[str, Any]) -> Row:
    """The values in the order of the keys of `Row`, then the metrics of installed packages. Other keys are left out."""
    return cast(Row, {key: values[key] for key in (*Row.__annotations__, *list_plugin_metrics()) if key in values})
