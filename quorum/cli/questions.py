"""`quorum questions`: questions with answers and gold passages, written from a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import (
    Collection,
    Concurrency,
    DryRun,
    Embeddings,
    K,
    MaxCost,
    Model,
    Prices,
    Retriever,
    Settings,
    Store,
)

if TYPE_CHECKING:
    from quorum.evaluation.questions.estimate import Estimate
    from quorum.evaluation.questions.write import Made

ENDED = {"corpus": "the corpus has no more passages for them", "tries": "four drafts were written for each"}


def questions(
    corpus: Annotated[
        str | None,
        typer.Argument(metavar="[CORPUS]", help="Folder of documents, or JSON lines of passages.", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Questions wanted in the file.")] = 100,
    mix: Annotated[
        str, typer.Option("--mix", metavar="KIND=SHARE,...", help="Kinds: single, two (passages), unanswerable.")
    ] = "single=70,two=15,unanswerable=15",
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write and to continue.")] = Path(
        "questions.jsonl"
    ),
    model: Model = None,
    verifier: Annotated[
        str | None, typer.Option("--verifier", metavar="SPEC", help="Model that checks; by default the same.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the passages drawn.")] = None,
    min_words: Annotated[int, typer.Option("--min-words", metavar="N", help="Skip shorter passages.")] = 20,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="F1", help="Token F1 from which an answer counts as right.")
    ] = 0.6,
    every: Annotated[bool, typer.Option("--all", help="Write rejected questions, too, with keep: false.")] = False,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    prices: Prices = None,
    concurrency: Concurrency = 8,
    k: K = None,
    collection: Collection = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
) -> None:
    """Write questions about your documents, each kept only if it is answered from its passage and not without it."""
    import asyncio

    from quorum.cli.progress import progress_bar
    from quorum.cli.settings import made_context
    from quorum.evaluation.questions.draw import read_mix
    from quorum.evaluation.questions.write import Options, make_questions, plan

    options = Options(
        n=n,
        mix=read_mix(mix),
        words=min_words,
        threshold=threshold,
        every=every,
        concurrency=concurrency,
        max_cost=max_cost,
        prices=prices,
    )
    context = made_context(
        settings,
        model=model,
        verifier=verifier,
        seed=seed,
        k=k,
        retriever=retriever,
        store=store,
        embeddings=embeddings,
    )

    async def work() -> "Made | None":
        with progress_bar() as progress:
            planned = await plan(corpus, collection, context, options, out, progress=progress)
        if dry_run or planned.estimate.questions:
            typer.echo(estimate_words(planned.estimate), err=not dry_run)
        if dry_run:
            return None
        with progress_bar() as progress:
            return await make_questions(planned, progress=progress)

    try:
        made = asyncio.run(work())
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; the same command again goes on from here.", err=True)
        raise
    if made is not None:
        print_made(made)


def estimate_words(made: "Estimate") -> str:
    """'To write 100 questions: about 330 calls, ...', each kept at the first try; drafts that are not cost more."""
    from quorum.core.text import format_count
    from quorum.evaluation.compare.recommend import dollars

    cost = "no price known" if made.cost is None else dollars(made.cost)
    minutes = f"{made.seconds / 60:,.0f} minutes" if made.seconds >= 90 else f"{made.seconds:,.0f} seconds"
    return (
        f"To write {format_count(made.questions, 'question')}: {made.calls:,} calls, about {made.tokens:,.0f} tokens, "
        f"{cost}, {minutes} if every draft is kept; {made.most:,} calls at the most."
    )


def print_made(made: "Made") -> None:
    """What was written, kept and rejected on stdout; where, what was spent and what failed on stderr."""
    from quorum.core.text import format_count
    from quorum.evaluation.questions.check import FAULTS

    kept = sum(made.kept.values())
    rejected = [f"{made.faults[name]:,} {FAULTS[name]}" for name in FAULTS if made.faults[name]]
    reasons = f": {', '.join(rejected)}" if rejected else ""
    if made.written:
        typer.echo(
            f"{format_count(made.written, 'draft')} written, {made.written - made.faults.total():,} kept{reasons}."
        )
    kinds = ", ".join(f"{made.kept[kind]:,} {kind}" for kind in made.wanted if made.wanted[kind] or made.kept[kind])
    before = f", {made.before:,} of them there before" if made.before else ""
    typer.echo(f"{made.path}: {format_count(kept, 'question')} to keep ({kinds}){before}.")
    for kind, why in made.ended.items():
        typer.echo(f"{made.kept[kind]:,} of {made.wanted[kind]:,} {kind}: {ENDED[why]}.")
    spent = made.spent
    tokens = f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out"
    review = f"; review {made.path}" if kept else ""
    typer.echo(f"quorum: made {format_count(spent.calls, 'call')} now ({tokens}){review}", err=True)
    if failed := made.faults["failed"]:
        typer.echo(
            f"quorum: {format_count(failed, 'draft')} failed ({made.error}); the same command again asks only those.",
            err=True,
        )
    if failed or not kept:
        raise typer.Exit(1)
