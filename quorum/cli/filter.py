"""`quorum filter`: finds training data for context filters, and trains filters on them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from quorum.cli.finetune import check_finetuning_file, export_silver, train_filter
from quorum.cli.options import Collection, Embeddings, K, Retriever, Settings, Store

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.training.silver import Statistics

MIN_SHARE_WITH_SILVER = 0.5  # warn if silver sentences were found for a smaller share of the questions
app = typer.Typer(name="filter", help="Make context filters (FILCO) from your own questions.", no_args_is_help=True)
app.command("train")(train_filter)
app.command("export")(export_silver)
app.command("check")(check_finetuning_file)


@app.command()
def silver(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Questions with answers and passages (also gzip).", show_default=False),
    ],
    measure: Annotated[
        Literal["auto", "strinc", "lexical", "cxmi"],
        typer.Option(
            "--measure",
            help="Choose sentences that contain the answer (strinc), share words with it (lexical) or make it more "
            "likely (cxmi); auto: by the answer type.",
        ),
    ] = "auto",
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write (.jsonl): questions with their silver, the sentences that the measure chose.",
        ),
    ],
    tokens: Annotated[
        Literal["words", "characters"],
        typer.Option(
            "--tokens",
            help="What the measure lexical counts: words, as in the paper, or characters, as in its authors' code.",
        ),
    ] = "words",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", metavar="X", help="Choose only what scores higher than X, for example 0.3 for lexical."
        ),
    ] = None,
    top: Annotated[
        Literal["one", "per_passage"],
        typer.Option("--top", help="Choose the best unit of all passages, or of each passage."),
    ] = "one",
    unit: Annotated[
        Literal["sentence", "passage"], typer.Option("--unit", help="What is chosen: sentences or whole passages.")
    ] = "sentence",
    k: K = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            "--scorer",
            metavar="SPEC",
            help="Model that gives log-probabilities, for cxmi: transformers:PATH or completions:MODEL.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N questions.")] = None,
    collection: Collection = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
) -> None:
    """Find the sentences that answers are based on, to train a filter. Repeat a stopped command to continue it."""
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.progress import show_progress_bar
    from quorum.cli.settings import find_stated_task, read_context
    from quorum.core.errors import SetupError
    from quorum.evaluation.run.langsmith_questions import find_question_file
    from quorum.models.logprobs import make_scorer
    from quorum.training.silver import Recipe, make_silver

    if measure != "auto" and (measure == "cxmi") != (scorer is not None):
        raise SetupError(
            "--measure cxmi needs a model that gives log-probabilities; add --scorer transformers:PATH or "
            "--scorer completions:MODEL."
            if scorer is None
            else f"--scorer {scorer} is for --measure cxmi, but {measure} asks no model; remove --scorer."
        )
    context = read_context(
        settings, k=k, collection=collection, retriever=retriever, store=store, embeddings=embeddings
    )
    if tokens != "words" and measure not in ("lexical", "auto"):  # auto chooses lexical if the answer type is dialogue
        raise SetupError(
            f"--tokens {tokens} is for --measure lexical, but {measure} counts no tokens; remove --tokens."
        )
    data = find_question_file(data, context.store)
    if collection is None:
        collection = find_collection_to_search(data, context)
    recipe = Recipe(
        measure=measure,
        unit=unit,
        top=top,
        k=context.k,
        scorer=scorer,
        limit=limit,
        collection=collection,
        tokens=tokens,
        threshold=threshold,
        answer_type=find_stated_task(context, settings),
        answer_measure=context.answer_measure,
    )
    with show_progress_bar() as progress:
        statistics = run_interruptible(
            make_silver(
                data,
                out,
                recipe,
                scorer=None if scorer is None else make_scorer(scorer, context),
                context=context,
                progress=lambda done: progress("silver", done, limit),
            )
        )
    print_statistics(statistics, out)


def find_collection_to_search(data: Path, context: "Context") -> str | None:
    """The collection that the context asks if the first question brings no passages, else None."""
    from quorum.datasets.questions import read_questions
    from quorum.retrievers.choose_collection import locate_collection

    first_record = next(iter(read_questions(data)), None) if data.is_file() else None
    return None if first_record is None or first_record["passages"] else locate_collection(context).collection


def print_statistics(statistics: "Statistics", out: Path) -> None:
    """Print the statistics on stdout; on stderr, a warning if too few questions have silver, and the path `out`."""
    from quorum.core.text import format_count

    share = statistics.with_silver / statistics.questions
    typer.echo(
        f"{format_count(statistics.questions, 'question')}, silver for {statistics.with_silver} ({share:.0%}), "
        f"nothing for {statistics.questions - statistics.with_silver}.\n"
        f"Words per question: {statistics.words_before:.1f} in the passages, "
        f"{statistics.words_after:.1f} in the silver."
    )
    if statistics.precision_before is not None:
        typer.echo(
            f"Unigram precision against the answers: passages {statistics.precision_before:.1%}, "
            f"silver {statistics.precision_after:.1%} (0 for an empty silver)."
        )
    if share < MIN_SHARE_WITH_SILVER:
        typer.echo(
            f"quorum: {1 - share:.0%} of the questions have no silver, so that a filter would mostly learn to "
            "keep nothing; lower --threshold, or choose another --measure.",
            err=True,
        )
    typer.echo(f"quorum: silver lines in {out}", err=True)
