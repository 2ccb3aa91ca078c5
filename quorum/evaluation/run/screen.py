"""The screen before a race (`--screen N`): within each k, only the N retrieval settings with the best recall are raced.

It searches, and asks no model.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quorum.algorithms.screen import choose_by_recall
from quorum.core.errors import SetupError
from quorum.core.where import format_where
from quorum.evaluation.metrics.statistics import Interval
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column, make_column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.retrieval_only import (
    ASKING_RERANKERS,
    SEARCH,
    choose_retrieval_task,
    get_search_graphs,
    make_search_context,
)
from quorum.evaluation.run.screening import ScreenedSearch, Screening
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import ProgressCallback, ignore_progress
from quorum.evaluation.run.spending import Spending
from quorum.evaluation.run.tasks import list_deciding_measures
from quorum.evaluation.run.workers import run_workers
from quorum.graphs.choose_method import reads_passages
from quorum.models.rerankers import is_server_reranker

SEARCH_SETTINGS = (
    *("retriever", "collection", "store", "embeddings", "title_key", "language", "k", "reranker", "rerank_from"),
)


async def screen(
    columns: Sequence[Column],
    keep: int,
    dataset: DataSet,
    *,
    has_indexes: bool = False,
    baseline: str | None = None,
    concurrency: int = 8,
    progress: ProgressCallback = ignore_progress,
) -> Screening:
    """Search every question with every search of the columns, whose collections must be filled, and choose the `keep`
    best of each k. Columns that read no passages stay. has_indexes: whether the collections were split in different
    ways; baseline: a column that must stay.

    Raises `SetupError` for questions by which retrieval cannot be measured, and if the baseline is dropped.
    """
    task = await asyncio.to_thread(choose_retrieval_task, dataset, has_indexes=has_indexes)
    groups = group_by_search(columns)
    scores = await measure_searches([group[0] for group in groups], dataset, task, concurrency, progress)
    measure = list_deciding_measures([task])[0]
    intervals = [item.compute_interval(measure) or Interval(0.0, 0.0, 1.0) for item in scores]
    ks = [group[0].context.k for group in groups]
    kept = choose_by_recall([interval.mean for interval in intervals], ks, keep)
    searches = [
        ScreenedSearch(tuple(column.name for column in group), k, *interval, bool(is_kept))
        for group, k, interval, is_kept in zip(groups, ks, intervals, kept, strict=True)
    ]
    screening = Screening(keep, measure, len(columns), tuple(searches))
    if baseline in screening.dropped_methods:
        raise SetupError(
            f"The screen drops the baseline {baseline}, whose search is not among the {keep} best of its k; name "
            "another baseline, or keep more with --screen."
        )
    return screening


def group_by_search(columns: Sequence[Column]) -> list[list[Column]]:
    """The columns that find the same passages for a question, together, in the order of the first ones. Columns that
    read no passages, and those of a user's own system, are left out.
    """
    groups: dict[tuple[Any, ...], list[Column]] = {}
    for column in columns:
        if hasattr(column.own_graph, "pricing_model") or (
            column.own_graph is None and not reads_passages(column.graph)
        ):
            continue
        values = (getattr(column.context, name, None) for name in SEARCH_SETTINGS)
        key = tuple(value if isinstance(value, str | int | None) else id(value) for value in values)
        groups.setdefault((format_where(column.context.where), *key), []).append(column)
    return list(groups.values())


async def measure_searches(
    columns: Sequence[Column], dataset: DataSet, task: str, concurrency: int, progress: ProgressCallback
) -> list[ColumnScores]:
    """What each column finds for every question, measured. A reranker that asks a model elsewhere is left out
    here, and a question for which a search fails has no measure.
    """
    searches = share_retrieval([make_search(column, number) for number, column in enumerate(columns)])
    scores = [ColumnScores() for _ in searches]
    questioner, spending = Questioner(uses_given_passages=False, task=task), Spending()
    records, total = dataset.read_records(), dataset.count * len(searches)

    async def work() -> None:
        for record in records:
            for search, found in zip(searches, scores, strict=True):
                found.add(await questioner.ask(record, search, spending, None))
                progress("screen", sum(len(item.ids) for item in scores), total)

    await run_workers(concurrency, work)
    return scores


def make_search(column: Column, number: int) -> Column:
    """The column that only searches, as `column` does."""
    context = column.context
    if context.reranker in ASKING_RERANKERS or is_server_reranker(context.reranker):
        context = replace(context, reranker=None)
    search = make_column(get_search_graphs("")[SEARCH], {}, make_search_context(context))
    return replace(search, name=f"{SEARCH} {number}")
