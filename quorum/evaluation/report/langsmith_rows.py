"""Converts rows of an evaluation to LangSmith's examples, runs and feedback.

The ids of examples, runs and feedback are computed from the data set, the experiment and the row. So whatever is sent
again gets the same id, and LangSmith stores it only once. The data set and the experiment get their ids from LangSmith.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

from langsmith.schemas import ExampleCreate

from quorum.evaluation.metrics.registry import list_metrics
from quorum.evaluation.run.column_scores import Row
from quorum.models.tracing import copy_without_secrets

# Older LangSmith packages drop the new name of an example's outputs without a word; newer ones warn of the old one.
OUTPUTS_KEY = "reference_outputs" if "reference_outputs" in ExampleCreate.model_fields else "outputs"
# Keys of a row that go to its run's metadata. dropped: how many passages did not fit into the model's window.
COUNTED_KEYS = ("calls", "malformed", "wordy_answers", "dropped")


@dataclass(frozen=True)
class ExperimentTarget:
    """The LangSmith experiment that receives the rows of one method.

    dataset, experiment: the ids that LangSmith gave to the data set and to the experiment; project: the experiment's
    name, because LangSmith stores an experiment as a project; method: the method's name in our results; model: as in
    the settings ("openai:gpt-4o"); started_at: when the experiment was created, used as the start time of its runs.
    keeps_ids: see `make_example_id`.
    """

    dataset: UUID
    experiment: UUID
    project: str
    method: str
    model: str
    started_at: datetime
    keeps_ids: bool = False


def make_example_id(dataset: UUID, row: Row, keeps_ids: bool = False) -> UUID:
    """The id of an example: the same question with the same answers has the same id in every evaluation.

    keeps_ids: the questions were read from this data set, so that their ids are those of its examples.
    """
    return UUID(row["id"]) if keeps_ids else uuid5(dataset, json.dumps([row["id"], row["question"], row["gold"]]))


def make_example(dataset: UUID, row: Row, hides_texts: bool) -> dict[str, Any]:
    """A question with its accepted answers, as a LangSmith example. Its metadata hold the question's id in our data.

    hides_texts: whether to hide answers that are long enough to quote a passage.
    """
    # Under the key "answer", short answers stay visible even if texts are hidden.
    clean_answers = copy_without_secrets({"answer": row["gold"]}, hides_texts)["answer"]
    return {
        "id": make_example_id(dataset, row),
        "inputs": copy_without_secrets({"question": row["question"]}, hides_texts),
        OUTPUTS_KEY: {"answers": clean_answers},
        "metadata": {"id": row["id"], "task": row.get("task") or "short"},
    }


def make_dated_id(created_at: datetime, *content: str) -> UUID:
    """A UUID of version 7, as LangSmith requires for runs: `created_at`, then bits derived from `content`."""
    digest = int.from_bytes(sha256(json.dumps(content).encode()).digest()[:10])
    value = int(created_at.timestamp() * 1000) << 80 | digest
    version, variant = 0xF << 76, 0x3 << 62
    return UUID(int=value & ~version & ~variant | 7 << 76 | 2 << 62)


def make_run_id(target: ExperimentTarget, row: Row) -> UUID:
    """The id of a run. A failed answer and its later replacement are two runs."""
    return make_dated_id(target.started_at, str(target.experiment), row["id"], "failed" if row["error"] else "answered")


def make_runs(target: ExperimentTarget, row: Row) -> Iterator[dict[str, Any]]:
    """The run of an answer, then one child run that stands for all its model calls, if it made any.

    LangSmith counts the tokens of the child run and prices them. The client that sends the runs removes secrets.
    """
    id_, started_at = make_run_id(target, row), target.started_at.astimezone(UTC)
    ended_at = started_at + timedelta(seconds=row["seconds"])
    dotted_order = f"{started_at:%Y%m%dT%H%M%S%fZ}{id_}"
    common = {"trace_id": id_, "project_name": target.project, "start_time": started_at, "end_time": ended_at}
    counts = {name: row.get(name) for name in COUNTED_KEYS}
    yield common | {
        "id": id_,
        "dotted_order": dotted_order,
        "name": target.method,
        "run_type": "chain",
        "inputs": {"question": row["question"]},
        "outputs": make_outputs(row) if row["error"] is None else None,
        "error": row["error"],
        "reference_example_id": make_example_id(target.dataset, row, target.keeps_ids),
        "extra": {"metadata": {"id": row["id"], "task": row.get("task") or "short", "method": target.method, **counts}},
    }
    if row.get("calls"):
        child_id = make_dated_id(target.started_at, str(id_), "calls")
        yield common | {
            "id": child_id,
            "parent_run_id": id_,
            "dotted_order": f"{dotted_order}.{started_at:%Y%m%dT%H%M%S%fZ}{child_id}",
            "name": "1 call" if row["calls"] == 1 else f"{row['calls']} calls",
            "run_type": "llm",
            "inputs": {},
            "outputs": {},
            "extra": {"metadata": describe_model(target.model) | {"usage_metadata": make_usage(row)}},
        }


def make_outputs(row: Row) -> dict[str, Any]:
    """The outputs of a run: the answer, the ids of its passages, and what the method reports about the run."""
    outputs: dict[str, Any] = {
        "answer": row["answer"],
        "unknown": row["unknown"],
        "confidence": row["confidence"],
        "candidates": row.get("candidates"),
        "rationale": row.get("rationale"),
        "evidence": [{"passage": id_} for id_ in row["evidence"]],
        "passages": [{"id": id_} for id_ in row["passages"]],
        "retrieved": row.get("retrieved"),
    }
    return {name: value for name, value in outputs.items() if value is not None}


def make_usage(row: Row) -> dict[str, int]:
    """The tokens of all calls of an answer, under the names that LangChain uses."""
    input_tokens, output_tokens = row["input_tokens"] or 0, row["output_tokens"] or 0
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": input_tokens + output_tokens}


def describe_model(model: str) -> dict[str, str]:
    """The metadata that name the model (such as "openai:gpt-4o") as LangSmith's table of prices does."""
    provider, colon, name = model.partition(":")
    return {"ls_model_type": "chat"} | ({"ls_provider": provider} if colon else {}) | {"ls_model_name": name or model}


def make_feedback(target: ExperimentTarget, row: Row) -> Iterator[dict[str, Any]]:
    """The measures of an answer, each as a score of its run."""
    id_ = make_run_id(target, row)
    for key in list_metrics():
        score: Any = row.get(key)
        if score is not None:
            yield {
                "feedback_id": uuid5(id_, key),
                "run_id": id_,
                "trace_id": id_,
                "session_id": target.experiment,
                "start_time": target.started_at,
                "key": key,
                "score": score,
            }
