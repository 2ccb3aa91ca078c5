"""`quorum experiment`: the papers' experiments on a data set of your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.cli.options import (
    Collection,
    Concurrency,
    Embeddings,
    K,
    LangSmith,
    Limit,
    Model,
    Out,
    Retriever,
    Settings,
    SkipBad,
    Store,
)
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.evaluation.experiments.analyses import Panel
    from quorum.evaluation.experiments.catalogue import Experiment
    from quorum.evaluation.run.score import Scores

Name: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Experiment; without it, the list.", show_default=False)
]
Data: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="[DATA]", help="Questions, as for eval.", show_default=False)
]
Methods: TypeAlias = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Other methods than the experiment's.")
]
PreferenceJudge: TypeAlias = Annotated[
    str | None, typer.Option("--judge", metavar="SPEC", help="preference: the judging model.")
]
Verifier: TypeAlias = Annotated[
    str | None, typer.Option("--verifier", metavar="SPEC", help="verifier: the model that verifies.")
]
Examples: TypeAlias = Annotated[
    Path | None, typer.Option("--examples", metavar="FILE", help="few_shot: what demonstrations are drawn from.")
]
Filters: TypeAlias = Annotated[
    str | None, typer.Option("--filters", metavar="A,B", help="measures: context filters to compare.")
]
DropKnown: TypeAlias = Annotated[
    bool, typer.Option("--drop-known", help="Ask only what the model does not know without a context.")
]
GoldFrom: TypeAlias = Annotated[
    Path | None, typer.Option("--gold-from", metavar="FILE", help="gold_*: passages, gold ones among them.")
]
Corpus: TypeAlias = Annotated[
    str | None,
    typer.Option("--corpus", metavar="FILE|pool", help="Retrieve from this file, or from all questions' passages."),
]


def experiment(
    name: Name = None,
    data: Data = None,
    methods: Methods = None,
    judge: PreferenceJudge = None,
    verifier: Verifier = None,
    examples: Examples = None,
    filters: Filters = None,
    out: Out = None,
    drop_known: DropKnown = False,
    gold_from: GoldFrom = None,
    limit: Limit = None,
    skip_bad: SkipBad = False,
    concurrency: Concurrency = 8,
    corpus: Corpus = None,
    collection: Collection = None,
    model: Model = None,
    k: K = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    langsmith: LangSmith = None,
    settings: Settings = None,
) -> None:
    """List the experiments, or run one; the same command again continues."""
    if name is None:
        print_experiments()
        return
    import asyncio

    from quorum.cli.evaluate import mention_retriever
    from quorum.cli.progress import explain_resuming, progress_bar
    from quorum.cli.settings import is_stated, read_context
    from quorum.cli.upload import check_langsmith, upload_after
    from quorum.evaluation.experiments.run_experiment import Choices, run_experiment
    from quorum.evaluation.run.options import Options, split_list

    chosen = find_experiment(name, data)
    context = read_context(
        settings, model=model, k=k, collection=collection, retriever=retriever, store=store, embeddings=embeddings
    )
    options = Options(
        data=data or Path(),
        limit=limit,
        skip_bad=skip_bad,
        task=context.answer_type if is_stated("answer_type", settings) else None,
        methods=methods or "",
        context=context,
        corpus=corpus,
        collection=collection,
        concurrency=concurrency,
        out=out,
        gold_from=gold_from,
    )
    choices = Choices(judge, verifier, examples, tuple(split_list(filters)), drop_known)
    check_langsmith(langsmith)
    with explain_resuming(), progress_bar() as progress:
        scores, panels = asyncio.run(run_experiment(chosen, options, choices, progress=progress))
    mention_retriever(retriever, options)
    with upload_after(langsmith, scores.folder):
        print_experiment(chosen, scores, panels)


def find_experiment(name: str, data: Path | None) -> "Experiment":
    """The experiment with that name. Raises `SetupError` if its data are missing."""
    from quorum.evaluation.experiments.catalogue import experiment_of

    chosen = experiment_of(name)
    if data is None:
        raise SetupError(f"Experiment {name} needs data; write for example: quorum experiment {name} questions.jsonl.")
    return chosen


def print_experiments() -> None:
    """The name of each, what it shows, where it is from."""
    from rich.text import Text

    from quorum.cli.show import make_plain_table, stdout
    from quorum.evaluation.experiments.catalogue import EXPERIMENTS

    table = make_plain_table("experiment", "what it shows", "from")
    for one in EXPERIMENTS.values():
        table.add_row(Text(one.name, style="bold"), one.summary, one.source)
    stdout().print(table)


def print_experiment(chosen: "Experiment", scores: "Scores", panels: "list[Panel]") -> None:
    """The tables of an evaluation, and what the experiment worked out."""
    from rich.text import Text

    from quorum.cli.evaluate import print_spent, print_tables
    from quorum.cli.tables import make_panel_table, make_score_tables

    print_tables(
        [
            Text(f"{chosen.summary} ({chosen.source})", style="dim"),
            *make_score_tables(scores.summary, scores.comparisons, scores.measures, further=chosen.further),
            *(make_panel_table(panel["title"], panel["rows"]) for panel in panels),
        ]
    )
    print_spent(scores)
