"""Evaluations and comparisons from Python: for a script, and for a notebook, where an event loop runs already."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError
from quorum.core.sync import run_sync

if TYPE_CHECKING:
    from quorum.api.results import Comparison, Evaluation
    from quorum.core.context import Context
    from quorum.evaluation.run.source import Progress
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
    skip_bad: bool = False,
    concurrency: int = 8,
    progress: "Progress | None" = None,
) -> "Evaluation":
    """`evaluate` for asynchronous code: the same parameters, result and errors.

    >>> import asyncio, quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn."}]
    >>> record = {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages}
    >>> asyncio.run(quorum.evaluate_async([record], "concat", out="async-results")).table[0]["em"]
    1.0
    """
    from quorum.api.results import evaluation_of
    from quorum.core.context import Context
    from quorum.evaluation.run.evaluate import evaluate
    from quorum.evaluation.run.options import Options
    from quorum.evaluation.run.source import ignore_progress

    names, graphs = split_methods(methods)
    with as_file(data) as path:
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
            skip_bad=skip_bad,
        )
        return evaluation_of(await evaluate(options, progress=progress or ignore_progress))


def evaluate(
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
    skip_bad: bool = False,
    concurrency: int = 8,
    progress: "Progress | None" = None,
) -> "Evaluation":
    """Ask every question of a data set by several methods, and measure their answers. The same call again continues.

    data: a file of questions (docs/data.md), or records {"question", "answers"} with "id" and "passages" where you have
    them; empty `answers` say that "unknown" is right. methods: names as for `quorum eval --methods`, such as
    "concat,concat[k=10]", a list of them, compiled graphs of your own, or both. context: settings of all. limit: the
    first questions only. out: the folder of the results; without it one under results/, named by the configuration.
    corpus: a folder or file to retrieve from, or "pool", the passages of all questions; collection: an indexed one;
    without both, each question's own passages are read. baseline: the method to compare with, else the first. judge: a
    chat model that says whether an answer that is no exact match is right. skip_bad: pass over broken records.
    concurrency: questions at once. progress: called with stage, steps done, steps in all.

    Works in a script and inside a running event loop, where it blocks; there, `await evaluate_async(...)` does not.

    Returns an `Evaluation`. A question whose calls failed counts in its method's `errors`; the next call asks it again.
    Raises SetupError for data, methods or settings that do not fit, and for a folder of another configuration.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}]
    >>> records = [
    ...     {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages},
    ...     {"question": "When was it built?", "answers": ["1874"], "passages": passages},
    ... ]
    >>> found = quorum.evaluate(records, "concat,post_fusion", out="results")
    >>> [(row["method"], row["em"], row["calls"]) for row in found.table]
    [('concat', 1.0, 1.0), ('post_fusion', 1.0, 1.0)]
    >>> found.rows[0]["answer"]
    'Ada Korn'
    """
    return run_sync(
        evaluate_async(
            data,
            methods,
            context=context,
            limit=limit,
            out=out,
            corpus=corpus,
            collection=collection,
            baseline=baseline,
            judge=judge,
            skip_bad=skip_bad,
            concurrency=concurrency,
            progress=progress,
        )
    )


async def compare_async(
    corpus: str | Path,
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
    max_cost: float | None = None,
    prices: str | Path | None = None,
    judge: str | None = None,
    skip_bad: bool = False,
    concurrency: int = 8,
    progress: "Progress | None" = None,
) -> "Comparison":
    """`compare` for asynchronous code: the same parameters, result and errors.

    >>> import asyncio, quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn."}]
    >>> record = {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages}
    >>> asyncio.run(quorum.compare_async("given", [record], methods="concat,sure", out="async-comparison")).best
    'concat'
    """
    from quorum.api.results import comparison_of
    from quorum.core.context import Context
    from quorum.evaluation.compare.compare import USUAL_METHODS, compare, plan_comparison
    from quorum.evaluation.compare.recommend import read_budget
    from quorum.evaluation.run.options import Options, split_list
    from quorum.evaluation.run.source import ignore_progress

    names, graphs = split_methods(USUAL_METHODS if methods is None else methods)
    tell = progress or ignore_progress
    with as_file(data) as path:
        options = Options(
            data=path,
            methods=names,
            graphs=graphs,
            models=split_list(",".join(models)),
            retrievers=split_list(",".join(retrievers)),
            k=split_list(",".join(map(str, k))),
            context=context or Context(),
            corpus=str(corpus),
            out=None if out is None else Path(out),
            limit=limit,
            concurrency=concurrency,
            baseline=baseline,
            judge=judge,
            skip_bad=skip_bad,
            budget=read_budget(budget),
            max_cost=max_cost,
            prices=None if prices is None else Path(prices),
        )
        return comparison_of(await compare(await plan_comparison(options, progress=tell), progress=tell))


def compare(
    corpus: str | Path,
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
    max_cost: float | None = None,
    prices: str | Path | None = None,
    judge: str | None = None,
    skip_bad: bool = False,
    concurrency: int = 8,
    progress: "Progress | None" = None,
) -> "Comparison":
    """Say which method is worth its cost on your questions: estimate, ask, compare, recommend, and write a report.

    corpus: a folder of documents or a file of passages; "given": each question's own passages; "pool": the passages of
    all questions. data, context, limit, out, baseline, judge, skip_bad, concurrency, progress: as for `evaluate`.
    methods: as for `evaluate`; without them, five that are usual. models, retrievers, k: each value is tried with each
    method. budget: the most for a question, such as "calls=3" or "cost=0.01". max_cost: dollars that this run may
    spend; prices: a file of prices of your own (docs/compare.md).

    Works in a script and inside a running event loop, where it blocks; there, `await compare_async(...)` does not.

    Returns a `Comparison`. Raises SetupError as `evaluate` does, and where the estimate is beyond `max_cost`.

    >>> import quorum
    >>> passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}]
    >>> records = [
    ...     {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": passages},
    ...     {"question": "When was it built?", "answers": ["1874"], "passages": passages},
    ... ]
    >>> found = quorum.compare("given", records, methods=["concat", "sure"], out="comparison")
    >>> found.best, found.report.name
    ('concat', 'report.html')
    """
    return run_sync(
        compare_async(
            corpus,
            data,
            methods=methods,
            models=models,
            retrievers=retrievers,
            k=k,
            context=context,
            limit=limit,
            out=out,
            baseline=baseline,
            budget=budget,
            max_cost=max_cost,
            prices=prices,
            judge=judge,
            skip_bad=skip_bad,
            concurrency=concurrency,
            progress=progress,
        )
    )


def split_methods(methods: "str | Graph | Sequence[str | Graph]") -> tuple[str, list["Graph"]]:
    """(the names, with commas between; the graphs)."""
    if isinstance(methods, str):
        return methods, []
    if not isinstance(methods, Sequence):
        return "", [methods]
    names = [one for one in methods if isinstance(one, str)]
    return ",".join(names), [one for one in methods if not isinstance(one, str)]


@contextmanager
def as_file(data: "str | Path | Iterable[Mapping[str, Any]]") -> Iterator[Path]:
    """The path of a data set; records are written to a file, which is there as long as it is needed."""
    if isinstance(data, str | Path):
        yield Path(data)
        return
    try:
        lines = [json.dumps(record) for record in data]
    except (TypeError, ValueError) as error:
        raise SetupError(
            f'The records cannot be written as JSON ({error}); give dicts {{"question", "answers"}} of texts and lists.'
        ) from None
    with tempfile.TemporaryDirectory(prefix="quorum-") as folder:
        path = Path(folder) / "questions.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        yield path
