"""Comparisons from Python: `compare` for scripts and notebooks, `compare_async` for asynchronous code."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.api.arguments import open_data_path, split_methods
from quorum.core.same_parameters import takes_parameters_of
from quorum.core.sync import run_sync

if TYPE_CHECKING:
    from quorum.api.results import Comparison
    from quorum.core.context import Context
    from quorum.evaluation.run.given_metrics import GivenMetrics
    from quorum.evaluation.run.source import ProgressCallback
    from quorum.graphs import Graph


async def compare_async(
    corpus: str | Path | None,
    data: "str | Path | Iterable[Mapping[str, Any]]",
    *,
    methods: "str | Graph | Sequence[str | Graph] | None" = None,
    models: Sequence[str] = (),
    retrievers: Sequence[str] = (),
    k: Sequence[int] = (),
    context: "Context | None" = None,
    limit: int | None = None,
    out: str | Path | None = None,
    baseline: str | None = None,
    budget: str | None = None,
    wrong_cost: float = 0.0,
    margin: float = 0.02,
    max_cost: float | None = None,
    prices: str | Path | None = None,
    indexes: Sequence[str] = (),
    retrieval_only: bool = False,
    screen: int | None = None,
    race: str | None = None,
    judge: str | None = None,
    metrics: "GivenMetrics" = (),
    skip_bad: bool = False,
    concurrency: int = 8,
    engine: str = "local",
    progress: "ProgressCallback | None" = None,
) -> "Comparison":
    """`compare` for asynchronous code: the same parameters, result and errors.

    >>> import asyncio, quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn."}]
    >>> record = {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages}
    >>> asyncio.run(quorum.compare_async("given", [record], methods="concat,sure", out="async-comparison")).best
    'concat'
    """
    from quorum.api.results import make_comparison
    from quorum.core.context import Context
    from quorum.evaluation.compare.recommend import read_budget
    from quorum.evaluation.comparison import DEFAULT_METHODS, compare, plan_comparison
    from quorum.evaluation.run.given_metrics import name_metrics
    from quorum.evaluation.run.options import Options, split_list
    from quorum.evaluation.run.retrieval_only import SEARCH
    from quorum.evaluation.run.source import ignore_progress

    default_methods = SEARCH if retrieval_only else DEFAULT_METHODS
    names, graphs = split_methods(default_methods if methods is None else methods)
    report_progress = progress or ignore_progress
    with open_data_path(data) as path:
        options = Options(
            data=path,
            methods=names,
            graphs=graphs,
            models=split_list(",".join(models)),
            retrievers=split_list(",".join(retrievers)),
            k=split_list(",".join(map(str, k))),
            context=context or Context(),
            corpus=None if corpus is None else str(corpus),
            out=None if out is None else Path(out),
            limit=limit,
            concurrency=concurrency,
            baseline=baseline,
            judge=judge,
            metrics=name_metrics(metrics),
            skip_bad=skip_bad,
            budget=read_budget(budget),
            wrong_cost=wrong_cost,
            margin=margin,
            max_cost=max_cost,
            prices=None if prices is None else Path(prices),
            indexes=tuple(indexes),
            retrieval_only=retrieval_only,
            screen=screen,
            race=race,
            engine=engine,
        )
        planned_comparison = await plan_comparison(options, progress=report_progress)
        return make_comparison(await compare(planned_comparison, progress=report_progress))


@takes_parameters_of(compare_async)
def compare(*args: Any, **options: Any) -> "Comparison":
    """Find out which method is worth its cost on your questions: estimate, ask, compare, recommend, write a report.

    corpus: a folder of documents or a file of passages; "given": each question's own passages; "pool": the passages of
    all questions; None: what a retriever of yours in the context finds (docs/recipes.md), or as in `evaluate`. data,
    context, limit, out, baseline, judge, metrics, skip_bad, concurrency, progress: as for `evaluate`.
    methods: as for `evaluate`; by default five common ones. models, retrievers, k: every combination of a method, a
    model, a retriever and a k is compared. budget: the most that a method may use per question, such as "calls=3" or
    "cost=0.01"; it limits the mean of a method's calls, tokens or cost, and the 95th percentile of its seconds.
    wrong_cost: what a wrong answer costs, where a right one is worth 1; "unknown" costs nothing. margin: of the methods
    that may be the best, the cheapest within this margin of the highest mean is recommended (0.02 is two points of
    100). max_cost: the dollars that this call may spend; prices: a file with your own prices (docs/compare.md). race:
    stop asking methods that cannot win. "exact" drops a method that can no longer win on these questions; "questions",
    one that is unlikely to be the best on them; "future", one that is unlikely to be the best on new questions
    (docs/decisions.md). screen: before a race, search without a model, and race only the methods with this many best
    searches of each k. indexes: settings of indexes of the corpus, such as ["words=60", "words=200"]; each becomes a
    collection, in which every method searches. retrieval_only: ask no model, and compare only what is found: every
    column is a search, such as "search[retriever=bm25]", and recall (or whether an answer was found) decides. engine:
    "local", or "ray" for many processes (docs/scale.md).

    Works in a script and inside a running event loop. It blocks the loop; `await compare_async(...)` does not.

    Returns a `Comparison`. Raises SetupError as `evaluate` does, and also if the estimate exceeds `max_cost` or more
    than `max_cost` has been spent. A race raises no error in these two cases: it ends when `max_cost` is spent.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}]
    >>> records = [
    ...     {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages},
    ...     {"question": "When was it built?", "answers": ["1874"], "passages": passages},
    ... ]
    >>> comparison = quorum.compare("given", records, methods=["concat", "sure"], out="comparison")
    >>> comparison.best, comparison.report.name
    ('concat', 'report.html')
    """
    return run_sync(compare_async(*args, **options))
