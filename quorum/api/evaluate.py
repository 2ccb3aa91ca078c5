"""Evaluations from Python: `evaluate` for scripts and notebooks, `evaluate_async` for asynchronous code."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.api.arguments import open_data_path, split_methods
from quorum.core.same_parameters import takes_parameters_of
from quorum.core.sync import run_sync

if TYPE_CHECKING:
    from quorum.api.results import Evaluation
    from quorum.core.context import Context
    from quorum.evaluation.run.given_metrics import GivenMetrics
    from quorum.evaluation.run.source import ProgressCallback
    from quorum.graphs import Graph


async def evaluate_async(
    data: "str | Path | Iterable[Mapping[str, Any]]",
    methods: "str | Graph | Sequence[str | Graph]",
    *,
    context: "Context | None" = None,
    limit: int | None = None,
    out: str | Path | None = None,
    corpus: str | Path | None = None,
    collection: str | None = None,
    baseline: str | None = None,
    judge: str | None = None,
    metrics: "GivenMetrics" = (),
    skip_bad: bool = False,
    concurrency: int = 8,
    progress: "ProgressCallback | None" = None,
) -> "Evaluation":
    """`evaluate` for asynchronous code: the same parameters, result and errors.

    >>> import asyncio, quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn."}]
    >>> record = {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages}
    >>> asyncio.run(quorum.evaluate_async([record], "concat", out="async-results")).table[0]["em"]
    1.0
    """
    from quorum.api.results import make_evaluation
    from quorum.core.context import Context
    from quorum.evaluation.run.evaluate import evaluate
    from quorum.evaluation.run.given_metrics import name_metrics
    from quorum.evaluation.run.options import Options
    from quorum.evaluation.run.source import ignore_progress

    names, graphs = split_methods(methods)
    with open_data_path(data) as path:
        options = Options(
            data=path,
            methods=names,
            graphs=graphs,
            context=context or Context(),
            out=None if out is None else Path(out),
            limit=limit,
            concurrency=concurrency,
            corpus=None if corpus is None else str(corpus),
            collection=collection,
            baseline=baseline,
            judge=judge,
            metrics=name_metrics(metrics),
            skip_bad=skip_bad,
        )
        return make_evaluation(await evaluate(options, progress=progress or ignore_progress))


@takes_parameters_of(evaluate_async)
def evaluate(*args: Any, **options: Any) -> "Evaluation":
    """Ask every question of a data set by several methods, and measure their answers.

    The same call continues an interrupted evaluation.

    data: a file of questions (docs/data.md), or records with the keys "question" and "answers", and optionally "id" and
    "passages"; empty `answers` mean that "unknown" is the right answer. methods: names as for `quorum eval --methods`,
    such as "concat,concat[k=10]"; or a compiled graph of your own; or a list of names and graphs. context: the settings
    of all methods. limit: ask only the first `limit` questions. out: the folder of the results; by default a folder
    under results/, named after the configuration. corpus: a folder or file to retrieve from, or "pool", the passages of
    all questions, or "given", each question's own; collection: an indexed collection to retrieve from. Without corpus
    and collection, a retriever of yours in the context is asked (docs/recipes.md), else each question's own passages
    are read. baseline: the method to compare with, by default the first. judge: a chat model that decides
    whether an answer that is not an exact match is right. metrics: functions of your own, f(result, reference) -> a
    number, True, False or None for each answer, where result["answer"] is the answer and reference["answers"] are the
    accepted ones; a list, or a dictionary by name. Their values are in `rows`, their means in `table`. skip_bad: skip
    broken records. concurrency: how many questions are asked at the same time. progress: called with (stage, steps
    done, steps in total).

    Works in a script and inside a running event loop. It blocks the loop; `await evaluate_async(...)` does not.

    Returns an `Evaluation`. A question whose calls failed is counted under `errors` in its method's row of
    `table`; the next call asks it again.
    Raises SetupError for data, methods or settings that do not fit, and if `out` holds results of another
    configuration.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}]
    >>> records = [
    ...     {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages},
    ...     {"question": "When was it built?", "answers": ["1874"], "passages": passages},
    ... ]
    >>> evaluation = quorum.evaluate(records, "concat,post_fusion", out="results")
    >>> [(row["method"], row["em"], row["calls"]) for row in evaluation.table]
    [('concat', 1.0, 1.0), ('post_fusion', 1.0, 1.0)]
    >>> evaluation.rows[0]["answer"]
    'Ada Korn'
    >>> def words(result, reference):
    ...     return len(result["answer"].split())
    >>> quorum.evaluate(records, "concat", metrics=[words], out="results-words").table[0]["words"]
    1.5
    """
    return run_sync(evaluate_async(*args, **options))
