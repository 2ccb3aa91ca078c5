"""`quorum experiment`: runs the papers' experiments on a data set of your own."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.cli.completion import complete_experiment
from quorum.cli.options import (
    AsJson,
    Collection,
    Concurrency,
    DryRun,
    Embeddings,
    K,
    LangSmith,
    Limit,
    Model,
    Out,
    Prices,
    Retriever,
    Settings,
    SkipBad,
    Store,
)
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.evaluation.experiments.experiment import Experiment
    from quorum.evaluation.experiments.experiment_options import ExperimentOptions
    from quorum.evaluation.experiments.run_experiment import Outcome
    from quorum.evaluation.run.options import Options

Name: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="Name of an experiment; without it, all are listed.",
        show_default=False,
        autocompletion=complete_experiment,
    ),
]
Data: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="[DATA]", help="Questions, as for eval.", show_default=False)
]
Methods: TypeAlias = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Methods to ask instead of the experiment's.")
]
PreferenceJudge: TypeAlias = Annotated[
    str | None, typer.Option("--judge", metavar="SPEC", help="The model that judges summaries or answers.")
]
Verifier: TypeAlias = Annotated[
    str | None,
    typer.Option("--verifier", metavar="SPEC", help="The model that checks SuRe's summaries (SuRe, table 10)."),
]
Examples: TypeAlias = Annotated[
    Path | None, typer.Option("--examples", metavar="FILE", help="File from which demonstrations are drawn.")
]
Filters: TypeAlias = Annotated[
    str | None, typer.Option("--filters", metavar="A,B", help="Context filters to compare (FILCO, table 4).")
]
Variants: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="NAME[SETTINGS]",
        help="Settings of the experiment's variant NAME, such as 'psg[filter=llm;model=embedded]', in which "
        "filter is short for context_filter. Each method runs once with the settings of each variant. A new NAME adds "
        "a variant.",
    ),
]
Quick: TypeAlias = Annotated[bool, typer.Option("--quick", help="A smaller run; it says what it leaves out.")]
PaperNumberWords: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--beside",
        metavar="WORDS",
        help="Words that choose which of the paper's numbers stand beside ours, such as 'NQ gpt-4'.",
    ),
]
DropKnown: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--drop-known", help="Ask only the questions that the model does not answer correctly without passages."
    ),
]
GoldFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--gold-from",
        metavar="FILE",
        help="File of passages to take gold passages from if a question brings none of its own.",
    ),
]
Corpus: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--corpus", metavar="FILE|pool", help="Retrieve from this file; 'pool': from the passages of all questions."
    ),
]


def experiment(
    name: Name = None,
    data: Data = None,
    methods: Methods = None,
    judge: PreferenceJudge = None,
    verifier: Verifier = None,
    examples: Examples = None,
    filters: Filters = None,
    variant: Variants = None,
    quick: Quick = False,
    paper_number_words: PaperNumberWords = None,
    out: Out = None,
    drop_known: DropKnown = False,
    gold_from: GoldFile = None,
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
    prices: Prices = None,
    langsmith: LangSmith = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    settings: Settings = None,
) -> None:
    """List the papers' tables and figures, or run one. Repeat a stopped command to continue it."""
    if name is None:
        print_experiments(as_json=as_json)
        return
    if data is None and as_json:
        print_description(name)
        return
    from quorum.cli.evaluate import warn_about_unused_retriever
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.progress import explain_resuming, show_progress_bar
    from quorum.cli.settings import find_stated_collection, find_stated_task, list_stated_settings, read_context
    from quorum.cli.upload import check_langsmith, upload_after_printing
    from quorum.evaluation.experiments.experiment_options import ExperimentOptions
    from quorum.evaluation.experiments.run_experiment import run_experiment
    from quorum.evaluation.run.options import Options, split_list

    chosen_experiment = find_experiment_with_data(name, data)
    context = read_context(
        settings, model=model, k=k, collection=collection, retriever=retriever, store=store, embeddings=embeddings
    )
    options = Options(
        data=data or Path(),
        limit=limit,
        skip_bad=skip_bad,
        task=find_stated_task(context, settings),
        methods=methods or "",
        context=context,
        corpus=corpus,
        collection=find_stated_collection(context, collection, settings),
        concurrency=concurrency,
        out=out,
        gold_from=gold_from,
        prices=prices,
    )
    options_over_paper_settings = {"k": k, "retriever": retriever, "embeddings": embeddings}
    choices = ExperimentOptions(
        judge=judge,
        verifier=verifier,
        examples=examples,
        filters=tuple(split_list(filters)),
        variants=tuple(variant or ()),
        drop_known=drop_known,
        quick=quick,
        stated_settings=list_stated_settings(settings)
        | {key for key, value in options_over_paper_settings.items() if value is not None},
        paper_number_words=paper_number_words,
    )
    if dry_run:
        print_experiment_estimate(chosen_experiment, options, choices, as_json=as_json)
        return
    check_langsmith(langsmith)
    with explain_resuming(), show_progress_bar() as progress:
        outcome = run_interruptible(run_experiment(chosen_experiment, options, choices, progress=progress))
    warn_about_unused_retriever(retriever, outcome.scores)
    with upload_after_printing(langsmith, outcome.scores.folder):
        print_experiment(chosen_experiment, outcome, as_json=as_json)


def find_experiment_with_data(name: str, data: Path | None) -> "Experiment":
    """The experiment with that name. Raises `SetupError` if the user gave no data file."""
    from quorum.evaluation.experiments.catalogue import find_experiment

    chosen_experiment = find_experiment(name)
    if data is None:
        options = "".join(f" --{option} ..." for option in chosen_experiment.needs)
        raise SetupError(
            f"Experiment {name} needs data ({', '.join(chosen_experiment.data)} in the paper; docs/data.md says where "
            f"they come from); write for example: quorum experiment {name} questions.jsonl{options}; with --dry-run it "
            "says first what it takes."
        )
    return chosen_experiment


def print_experiment_estimate(
    experiment: "Experiment", options: "Options", choices: "ExperimentOptions", *, as_json: bool
) -> None:
    """Print what the experiment would take, as `quorum compare --dry-run` does."""
    from quorum.cli.compare import print_estimate, print_left_out_methods
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.progress import show_progress_bar
    from quorum.evaluation.experiments.run_experiment import estimate_experiment

    with show_progress_bar() as progress:
        planned = run_interruptible(estimate_experiment(experiment, options, choices, progress=progress))
    print_left_out_methods(planned.left_out_reasons)
    if as_json:
        print_json(asdict(planned.estimate))
    else:
        print_estimate(planned.estimate, to_stderr=False)
    if choices.judge is not None:
        typer.echo("quorum: the calls of the judge are not included", err=True)


def print_experiments(*, as_json: bool = False) -> None:
    """Print the name of each experiment and what it shows, below its paper. With as_json, print all fields as JSON."""
    from quorum.evaluation.experiments.catalogue import EXPERIMENTS, PAPERS

    if as_json:
        print_json([describe_experiment(experiment) for experiment in EXPERIMENTS.values()])
        return
    from rich.text import Text

    from quorum.cli.show import make_plain_table, make_stdout_console
    from quorum.graphs.catalogue import BLENDFILTER, FILCO, POST_FUSION, SURE

    titles = dict(zip(PAPERS, (POST_FUSION, BLENDFILTER, SURE, FILCO), strict=True))
    console, width = make_stdout_console(), max(map(len, EXPERIMENTS))
    for paper, title in titles.items():
        table = make_plain_table("experiment".ljust(width), "what it shows")
        for experiment in EXPERIMENTS.values():
            if experiment.paper == paper:
                table.add_row(Text(experiment.name, style="bold"), experiment.summary)
        console.print(Text(title, style="bold"))
        console.print(table)
        console.print()


def print_description(name: str) -> None:
    """Print one experiment as JSON."""
    from quorum.evaluation.experiments.catalogue import find_experiment

    print_json(describe_experiment(find_experiment(name)))


def print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def describe_experiment(experiment: "Experiment") -> dict[str, object]:
    """An experiment as JSON: what it runs, and the paper's numbers in percent; null where the paper states none."""
    from quorum.evaluation.experiments.catalogue import ALIASES

    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "item": experiment.item,  # the table or figure of the paper, such as "table 4"
        "summary": experiment.summary,
        "methods": list(experiment.methods),
        "variants": list(experiment.variants),
        "settings": dict(experiment.settings),
        "data": list(experiment.data),
        "models": list(experiment.models),
        "questions": experiment.questions,  # how many the paper asks, in words: "500 of the development set"
        "measures": list(experiment.measures),
        "needs": list(experiment.needs),
        "paper_numbers": [asdict(block) for block in experiment.paper_numbers],
        "note": experiment.note,
        "aliases": sorted(alias for alias, target in ALIASES.items() if target.name == experiment.name),
    }


def print_experiment(experiment: "Experiment", outcome: "Outcome", *, as_json: bool = False) -> None:
    """Print the tables of the evaluation, the analyses, and the differences from the paper's experiment."""
    from rich.text import Text

    from quorum.cli.evaluate import print_spending_and_check_failures, print_tables
    from quorum.cli.tables import make_analysis_table, make_score_tables

    scores = outcome.scores
    if as_json:
        print_json(describe_outcome(experiment, outcome))
        print_spending_and_check_failures(scores)
        return
    user_measures = scores.plan.options.measures
    notes = [f"Not as in the paper: {'; '.join(outcome.changes)}."] if outcome.changes else []
    notes += [experiment.note] if experiment.note else []
    print_tables(
        [
            Text(f"{experiment.summary} ({experiment.source})", style="dim"),
            *(Text(note, style="dim") for note in notes),
            *make_score_tables(
                scores.summary,
                scores.comparisons,
                scores.measures,
                user_measures,
                separate_table_measures=experiment.shown_measures,
                wording_note=scores.wording_note,
            ),
            *(make_analysis_table(table["title"], table["rows"]) for table in outcome.analysis_tables),
        ]
    )
    print_spending_and_check_failures(scores)


def describe_outcome(experiment: "Experiment", outcome: "Outcome") -> dict[str, object]:
    """An outcome as JSON: the content of its files (summary, comparison, analysis), and what differs from the paper."""
    scores = outcome.scores
    return {
        "name": experiment.name,
        "source": experiment.source,
        "changes": outcome.changes,
        "note": experiment.note,
        "summary": scores.summary,
        "comparisons": scores.comparisons,
        "analysis": outcome.analysis_tables,
        "folder": str(scores.folder),
    }
