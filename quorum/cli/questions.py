"""`quorum questions`: writes questions with answers and gold passages about a corpus."""

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
    Where,
)

if TYPE_CHECKING:
    from quorum.evaluation.questions.estimate import Estimate
    from quorum.evaluation.questions.write import WrittenQuestions

# why the file holds fewer questions of a kind than the user wants: reason in `WrittenQuestions.end_reasons` -> text
END_REASONS = {
    "corpus": "the corpus has no more passages for such questions",
    "tries": "four drafts for each wanted question were written",
}


def questions(
    corpus: Annotated[
        str | None,
        typer.Argument(metavar="[CORPUS]", help="Folder of documents, or JSON lines of passages.", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("--n", metavar="N", help="Questions wanted in the file.")] = 100,
    mix: Annotated[
        str,
        typer.Option(
            "--mix",
            metavar="KIND=SHARE,...",
            help="Share of each kind: single (from one passage), two (from two passages), unanswerable.",
        ),
    ] = "single=70,two=15,unanswerable=15",
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="File to write; a file of an earlier run is continued.")
    ] = Path("questions.jsonl"),
    model: Model = None,
    verifier: Annotated[
        str | None,
        typer.Option("--verifier", metavar="SPEC", help="Model that checks the questions; by default --model."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed for drawing the passages.")] = None,
    min_words: Annotated[int, typer.Option("--min-words", metavar="N", help="Skip shorter passages.")] = 20,
    threshold: Annotated[
        float,
        typer.Option("--threshold", metavar="F1", help="Token F1 from which the verifier's answer counts as right."),
    ] = 0.6,
    from_log: Annotated[
        str | None,
        typer.Option(
            "--from-log",
            metavar="PROMISE",
            help="Write no new ones: take those that people asked a server, from the sample of a watched promise.",
        ),
    ] = None,
    writes_rejected: Annotated[
        bool, typer.Option("--all", help="Write rejected questions, too, with keep: false.")
    ] = False,
    dry_run: DryRun = False,
    max_cost: MaxCost = None,
    prices: Prices = None,
    concurrency: Concurrency = 8,
    k: K = None,
    collection: Collection = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    where: Where = None,
    settings: Settings = None,
) -> None:
    """Write questions about your documents, or (--from-log) take those that people asked a server.

    A question is kept if the verifier answers it right from the passages that it was written from, and not without
    them. An unanswerable question is kept if neither the passage that it was written from nor retrieved passages answer
    it.
    """
    if from_log is not None:
        take_from_log(from_log, corpus, out, store)
        return
    from quorum.cli.embeddings import print_embeddings
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.progress import explain_resuming, show_progress_bar
    from quorum.cli.settings import read_context
    from quorum.evaluation.questions.draw import read_mix
    from quorum.evaluation.questions.write import Options, make_questions, plan_questions

    options = Options(
        n=n,
        mix=read_mix(mix),
        min_words=min_words,
        threshold=threshold,
        writes_rejected=writes_rejected,
        concurrency=concurrency,
        max_cost=max_cost,
        prices=prices,
    )
    context = read_context(
        settings,
        where=where or None,
        model=model,
        verifier=verifier,
        seed=seed,
        k=k,
        retriever=retriever,
        store=store,
        embeddings=embeddings,
    )

    async def plan_and_write() -> "WrittenQuestions | None":
        with show_progress_bar() as progress:
            question_plan = await plan_questions(corpus, collection, context, options, out, progress=progress)
        if dry_run:
            print_embeddings(question_plan.spending.embeddings.usage, question_plan.spending.prices)
        if dry_run or question_plan.estimate.questions:
            typer.echo(describe_writing_estimate(question_plan.estimate), err=not dry_run)
        if dry_run:
            return None
        with show_progress_bar() as progress:
            return await make_questions(question_plan, progress=progress)

    with explain_resuming():
        written_questions = run_interruptible(plan_and_write())
    if written_questions is not None:
        print_written_questions(written_questions)


def take_from_log(promise: str, corpus: str | None, out: Path, store: str | None) -> None:
    """Write the sampled questions of a watched promise into a file to label."""
    from quorum.cli.collections import get_store
    from quorum.core.errors import SetupError
    from quorum.core.text import format_count
    from quorum.evaluation.questions.from_log import write_log_questions
    from quorum.evaluation.watch.folder import find_folder

    if corpus is not None:
        raise SetupError(f"--from-log takes questions that people asked, not from {corpus}; leave CORPUS out.")
    written = write_log_questions(find_folder(promise, get_store(store)), out)
    typer.echo(
        f"{out}: {format_count(written.added, 'question')} added, of "
        f"{format_count(written.conversations, 'conversation')}; it holds {written.total:,}."
    )
    if written.updated:
        typer.echo(f"{format_count(written.updated, 'earlier question')} changed by a newer label.")
    if not written.open:
        typer.echo(
            f"{written.labelled:,} of them have the answer that a person called right, and all have answers: they are "
            "kept."
        )
        return
    typer.echo(
        f"{written.labelled:,} of them have the answer that a person called right, {written.open:,} have none. NONE OF "
        'THE FORMER IS KEPT YET ("keep": false): on these alone, the method that was served would always be right. '
        'Give the others "answers" and "keep": true (without answers, "unknown" is right), then run this command again.'
    )


def describe_writing_estimate(estimate: "Estimate") -> str:
    """A sentence such as "To write 100 questions: 330 calls, ... if every draft is kept; 1,200 calls at the most."."""
    from quorum.core.text import format_count
    from quorum.evaluation.compare.format_figures import describe_bill

    calls = f"{estimate.calls:,} calls, about {estimate.tokens:,.0f} tokens"
    return (
        f"To write {format_count(estimate.questions, 'question')}: {calls}, "
        f"{describe_bill(estimate.cost, estimate.seconds)} if every draft is kept; "
        f"{estimate.most_calls:,} calls at the most."
    )


def print_written_questions(outcome: "WrittenQuestions") -> None:
    """Print the counts of written, kept and rejected questions on stdout, and calls, tokens and failures on stderr.

    Ends the command with exit code 1 if a draft failed or the file holds no kept question.
    """
    from quorum.cli.embeddings import print_embeddings
    from quorum.core.text import format_count
    from quorum.evaluation.questions.check import FAULT_DESCRIPTIONS
    from quorum.evaluation.questions.write import count_missing

    kept_count = sum(outcome.kept_counts.values())
    rejection_counts = [
        f"{outcome.faults[name]:,} {FAULT_DESCRIPTIONS[name]}" for name in FAULT_DESCRIPTIONS if outcome.faults[name]
    ]
    rejected_count = outcome.faults.total()
    reasons = f", {rejected_count:,} rejected: {', '.join(rejection_counts)}" if rejection_counts else ""
    if outcome.draft_count:
        accepted_count = outcome.draft_count - rejected_count
        typer.echo(f"{format_count(outcome.draft_count, 'draft')} written, {accepted_count:,} kept{reasons}.")
    kinds = ", ".join(
        f"{outcome.kept_counts[kind]:,} {kind}"
        for kind in outcome.wanted_counts
        if outcome.wanted_counts[kind] or outcome.kept_counts[kind]
    )
    earlier_text = f", {outcome.count_before:,} of them from earlier runs" if outcome.count_before else ""
    typer.echo(f"{outcome.path}: {format_count(kept_count, 'question')} to keep ({kinds}){earlier_text}.")
    for kind, end_reason in outcome.end_reasons.items():
        typer.echo(
            f"Only {outcome.kept_counts[kind]:,} of {format_count(outcome.wanted_counts[kind], 'question')} "
            f"of the kind {kind} were kept: {END_REASONS[end_reason]}."
        )
    spending = outcome.spending
    tokens = f"{spending.input_tokens:,} tokens in, {spending.output_tokens:,} out"
    review = f"; review {outcome.path}" if kept_count else ""
    typer.echo(f"quorum: made {format_count(spending.calls, 'call')} now ({tokens}){review}", err=True)
    print_embeddings(spending.embeddings.usage, spending.prices)
    if failure_count := outcome.faults["failed"]:
        failure = f"{format_count(failure_count, 'draft')} failed ({outcome.error})"
        is_complete = not count_missing(outcome.wanted_counts, outcome.kept_counts)
        consequence = (
            "other drafts took their place"
            if is_complete
            else "run the same command again to ask for the questions that are still missing"
        )
        typer.echo(f"quorum: {failure}; {consequence}.", err=True)
    if failure_count or not kept_count:
        raise typer.Exit(1)
