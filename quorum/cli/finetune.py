"""`quorum filter train`, `export`, `check` and `quorum generator train`: train FILCO's models on silver data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from quorum.core.errors import SetupError
from quorum.core.extras import describe_install

if TYPE_CHECKING:
    from quorum.training.finetune import Report, Settings
    from quorum.training.pairs import TrainingTask

SilverFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="SILVER", help="File that `quorum filter silver` wrote.", show_default=False)
]
Out: TypeAlias = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the trained model.")]
Base: TypeAlias = Annotated[
    str,
    typer.Option(
        "--base",
        metavar="PATH",
        help="Model to start from, in the format of transformers; for a filter also: embedded.",
    ),
]
Rate: TypeAlias = Annotated[float, typer.Option("--rate", metavar="R", help="Learning rate.")]
Epochs: TypeAlias = Annotated[int, typer.Option("--epochs", metavar="N", help="Passes through the data.")]
Batch: TypeAlias = Annotated[int, typer.Option("--batch", metavar="N", help="Examples per training step.")]
ExamplesAtOnce: TypeAlias = Annotated[
    int, typer.Option("--at-once", metavar="N", help="Examples in memory at once; changes results only by rounding.")
]
Length: TypeAlias = Annotated[int, typer.Option("--length", metavar="N", help="Largest number of tokens in a prompt.")]
Output: TypeAlias = Annotated[int, typer.Option("--output", metavar="N", help="Largest number of tokens in a reply.")]
Lora: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--lora/--no-lora",
        help="Train low-rank adapters, or all weights; default: adapters for causal models, all weights for others.",
        show_default=False,
    ),
]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N questions.")]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of the order of the examples and of dropout.")
]
Mode: TypeAlias = Annotated[
    Literal["filco", "psg"],
    typer.Option("--mode", help="filco: learn to copy sentences; psg: learn to name whole passages."),
]
GeneratorContext: TypeAlias = Annotated[
    Literal["silver", "full"],
    typer.Option("--context", help="silver: learn to answer from the silver sentences; full: from the whole passages."),
]

generator_training = typer.Typer(
    name="generator", help="Make answering models from silver data (FILCO).", no_args_is_help=True
)


def train_filter(
    silver: SilverFile,
    out: Out,
    base: Base,
    mode: Mode = "filco",
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="R", help="Learning rate [default: 5e-5; with --base embedded: 5e-4]."),
    ] = None,
    epochs: Epochs = 3,
    batch: Batch = 32,
    at_once: ExamplesAtOnce = 4,
    length: Length = 1024,
    output: Output = 512,
    lora: Lora = None,
    limit: Limit = None,
    seed: Seed = 0,
) -> None:
    """Train a filter. Use it as --set context_filter=transformers:DIR. To continue an interrupted training, run the
    command again.

    Needs the extra: pip install 'quorum-rag[train]' (in a checkout: pip install -e '.[train]'). It brings PyTorch,
    transformers, peft, onnx and safetensors: about 1 GB with PyTorch's CPU build, more with its GPU build. A GPU is
    used if there is one; --base embedded needs none.

    --base embedded trains a sentence filter on the embedded model; use it as --set context_filter=embedded:DIR. With
    --base embedded, no checkpoints are written, so an interrupted training begins anew; --limit N takes N questions at
    random, not the first N; and --mode, --at-once, --length, --output and --lora have no effect.
    """
    if base == "embedded":
        train_embedded_filter(silver, out, epochs, 5e-4 if rate is None else rate, batch, limit, seed)
        return
    from quorum.training.finetune import Settings
    from quorum.training.pairs import TrainingTask

    settings = Settings(
        rate=5e-5 if rate is None else rate,
        epochs=epochs,
        batch=batch,
        at_once=at_once,
        length=length,
        output=output,
        lora=lora,
        seed=seed,
    )
    report = train_with_progress(TrainingTask("filter", mode=mode), silver, base, out, settings, limit)
    print_report(report, out, f"--method filco --set context_filter=transformers:{out}")


def train_embedded_filter(
    silver: Path, out: Path, epochs: int, rate: float, batch: int, limit: int | None, seed: int
) -> None:
    """Train the sentence filter on the embedded model and print its scores."""
    try:
        from quorum.training.sentence_filter import train_sentence_filter
    except ModuleNotFoundError as missing:
        raise SetupError(
            f"Training a filter needs the package {missing.name}; run: {describe_install('train')}"
        ) from None
    scores = train_sentence_filter(
        [silver],
        out,
        epochs=epochs,
        rate=rate,
        batch=batch,
        limit=limit,
        seed=seed,
        report=lambda line: typer.echo(f"quorum: {line}", err=True),
    )
    typer.echo(
        f"The kept sentences, compared with the silver ones of {scores['questions']:.0f} held-out questions: "
        f"F1 {scores['f1']:.3f}, precision {scores['precision']:.3f}, recall {scores['recall']:.3f}."
    )
    typer.echo(
        f"quorum: the filter is in {out}; use it with --method filco --set context_filter=embedded:{out}", err=True
    )


@generator_training.command("train")
def train_generator(
    silver: SilverFile,
    out: Out,
    base: Base,
    context: GeneratorContext = "silver",
    rate: Rate = 5e-5,
    epochs: Epochs = 3,
    batch: Batch = 32,
    at_once: ExamplesAtOnce = 4,
    length: Length = 1024,
    output: Output = 128,
    lora: Lora = None,
    limit: Limit = None,
    seed: Seed = 0,
) -> None:
    """Train a model that answers from filtered context.

    Use it as --model transformers:DIR. To continue an interrupted training, run the command again.
    """
    from quorum.training.finetune import Settings
    from quorum.training.pairs import TrainingTask

    settings = Settings(
        rate=rate, epochs=epochs, batch=batch, at_once=at_once, length=length, output=output, lora=lora, seed=seed
    )
    report = train_with_progress(TrainingTask("generator", context=context), silver, base, out, settings, limit)
    print_report(report, out, f"--model transformers:{out} --method " + ("filco" if context == "silver" else "concat"))


@generator_training.callback()
def describe_generator_group() -> None:
    """Make answering models from silver data (FILCO)."""


def train_with_progress(
    task: "TrainingTask", silver: Path, base: str, out: Path, settings: "Settings", limit: int | None
) -> "Report":
    """Train the model with a progress bar on stderr. limit: how many questions of the silver file to use; None: all."""
    from quorum.cli.progress import show_progress_bar
    from quorum.training.finetune import finetune_model
    from quorum.training.pairs import read_lines

    lines = read_lines(silver, task.kind, limit)
    try:
        with show_progress_bar() as progress:
            return finetune_model(task, lines, silver, base, out, settings, progress)
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; to continue from the last checkpoint, run the same command again.", err=True)
        raise


def print_report(report: "Report", out: Path, usage_options: str) -> None:
    """Print the report on stdout; print on stderr how to use the model."""
    from quorum.core.text import format_count

    losses = ", ".join(f"{loss:.3f}" for loss in report.losses)
    typer.echo(f"{format_count(report.examples, 'example')}; training loss by epoch, nats per token: {losses}.")
    if report.left_out or report.shortened:
        typer.echo(f"Too long: {report.left_out} examples left out; {report.shortened} lost their last passages.")
    typer.echo(f"quorum: the model is in {out}; use it with {usage_options}", err=True)


def export_silver(
    silver: SilverFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Chat fine-tuning file to write (.jsonl).")],
    role: Annotated[
        Literal["filter", "generator"], typer.Option("--for", help="What the examples teach: to filter or to answer.")
    ] = "filter",
    mode: Mode = "filco",
    context: GeneratorContext = "silver",
    limit: Limit = None,
) -> None:
    """Write silver data in the format of a fine-tuning service.

    Use the model that the service trains as --set context_filter=llm:openai:NAME, or, with --for generator, as
    --model openai:NAME.
    """
    from quorum.core.text import format_count
    from quorum.training.finetune_jsonl import export_examples
    from quorum.training.pairs import TrainingTask, read_lines

    count = export_examples(TrainingTask(role, mode=mode, context=context), read_lines(silver, role, limit), out)
    typer.echo(f"{format_count(count, 'example')} for a {role} in {out}; check it with: quorum filter check {out}")


def check_finetuning_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Chat fine-tuning file (.jsonl).", show_default=False)],
    window: Annotated[
        int, typer.Option("--window", metavar="N", help="Largest number of tokens in an example.")
    ] = 16384,
) -> None:
    """Report the problems of a file: what a fine-tuning service would refuse, and what a model would learn wrongly.

    Exits with 1 if there are any.
    """
    from quorum.core.text import format_count
    from quorum.training.finetune_jsonl import MAX_LISTED_PROBLEMS, check_file
    from quorum.training.pairs import NO_PIECES

    file_report = check_file(file, window)
    for problem in file_report.problems[:MAX_LISTED_PROBLEMS]:
        typer.echo(f"quorum: {problem}", err=True)
    if len(file_report.problems) > MAX_LISTED_PROBLEMS:
        typer.echo(f"quorum: and {len(file_report.problems) - MAX_LISTED_PROBLEMS} more.", err=True)
    for note in file_report.notes:
        typer.echo(f"quorum: {note}", err=True)
    typer.echo(
        f"{format_count(file_report.examples, 'example')}, about {file_report.tokens:,} tokens (the longest "
        f"{file_report.longest:,}), "
        f"{file_report.none_replies} with the reply {NO_PIECES}; {format_count(len(file_report.problems), 'problem')}."
    )
    if file_report.problems:
        raise typer.Exit(1)
