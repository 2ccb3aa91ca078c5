"""Evaluations of what is retrieved (`--retrieval-only`): every column is a search with its settings, and no model is
asked.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from quorum.core.bracketed_settings import METHOD_ITEM
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.passages import TASKS_WITHOUT_SPANS
from quorum.evaluation.run.tasks import FOUND_ANSWER, FOUND_GOLD, get_stated_task, guess_task, list_gold_articles
from quorum.models.rerankers import is_server_reranker

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.datasets.records import Record
    from quorum.evaluation.run.dataset import DataSet
    from quorum.graphs import Graph

SEARCH = "search"  # the name of every column, before its settings
ASKING_RERANKERS = ("rationale", "summary", "listwise")  # these ask the chat model


def get_search_graphs(methods: str) -> "dict[str, Graph]":
    """{"search": its graph}. Raises `SetupError` if the methods of an evaluation of retrieval name anything else."""
    from quorum.graphs.parts.search_only import search_only

    for item in METHOD_ITEM.finditer(methods):
        if item["method"] != SEARCH:
            raise SetupError(
                f"--retrieval-only asks no method, but {item['method']!r} is named; leave --methods out, or name "
                "searches with their settings: 'search[retriever=bm25],search[collection=other]'."
            )
    return {SEARCH: search_only}


def make_search_context(context: "Context") -> "Context":
    """The context without models: nothing is answered or filtered. Raises `SetupError` for a reranker that asks the
    chat model.
    """
    check_asks_no_model(context)
    return replace(context, model="embedded", verifier=None, context_filter=None, calibration=None)


def check_asks_no_model(context: "Context") -> None:
    """Raise `SetupError` for a reranker that asks the chat model, or a model on a server."""
    if context.reranker in ASKING_RERANKERS or is_server_reranker(context.reranker):
        raise SetupError(
            f"--retrieval-only asks no model, but reranker={context.reranker} would; leave it out, or choose one that "
            "asks none, such as question."
        )


def choose_retrieval_task(dataset: "DataSet", *, has_indexes: bool = False) -> str:
    """By what retrieval is measured: by the gold passages that the data name, or, if they name none, by whether an
    accepted answer was found.

    has_indexes: whether the collections were split in different ways (`--index`): the ids under `gold` are those of one
    of them, so that only answers can be looked for in all. Raises `SetupError` if neither can be measured.
    """
    records = list(dataset.read_records())
    if not has_indexes and any(record["gold"] or list_gold_articles(record) for record in records):
        return FOUND_GOLD
    if any(may_stand_in_passages(record) for record in records):
        return FOUND_ANSWER
    raise SetupError(
        f"Retrieval cannot be measured with {dataset.path}: no question names its gold passages ('gold'), and no "
        "answer is a span of a passage; add 'gold' (docs/data.md)."
    )


def may_stand_in_passages(record: "Record") -> bool:
    """Whether the question has accepted answers that are spans of passages."""
    task = get_stated_task(record) or (guess_task(record["answers"]) if record["answers"] else "short")
    return bool(record["answers"]) and task not in TASKS_WITHOUT_SPANS
