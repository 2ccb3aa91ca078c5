"""`quorum data`: converts data sets of other formats to Quorum's JSON lines."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from quorum.datasets.records import Record

MAX_SHOWN_REASONS = 5
data = typer.Typer(name="data", help="Convert data sets.", no_args_is_help=True, rich_markup_mode=None)


@data.callback()
def describe_group() -> None:
    """Convert data sets. Every command that takes a DATA file reads the same formats directly."""


@data.command()
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="SQuAD, NQ-open, TriviaQA, HotpotQA, 2WikiMultihopQA, StrategyQA, WebQuestions, FEVER, ASQA, KILT, "
            "DPR results, FlashRAG, CSV, or Quorum's JSON lines; also gzip.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="OUT.jsonl", help="File to write; .jsonl.gz compresses it.", show_default=False),
    ],
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="NAME", help="Convert only this part of a file with several parts (ASQA)."),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out broken records and count them.")] = False,
) -> None:
    """Write the questions of a data set as JSON lines of id, question, answers, passages and gold ids."""
    from quorum.core.context import Context
    from quorum.core.errors import SetupError
    from quorum.core.text import format_count
    from quorum.datasets.questions import read_questions, write_questions
    from quorum.evaluation.run.langsmith_questions import find_question_file

    source = find_question_file(source, Context().store)
    if out.exists() and source.exists() and out.samefile(source):
        raise SetupError(f"--out {out} is the file to convert; give another name.")
    broken_records: list[str] = []
    left_out_questions: list[str] = []
    records = select_split(
        read_questions(source, problems=broken_records if skip_bad else None, left_out=left_out_questions),
        split,
        source,
        (broken_records, left_out_questions),
    )
    count = write_questions(out, records)
    for problem in broken_records[:MAX_SHOWN_REASONS]:
        typer.echo(f"quorum: skipped {problem}", err=True)
    if len(broken_records) > MAX_SHOWN_REASONS:
        typer.echo(f"quorum: skipped {len(broken_records) - MAX_SHOWN_REASONS:,} more", err=True)
    if left_out_questions:
        typer.echo(
            f'quorum: left out {format_count(len(left_out_questions), "question")} whose line says "keep": false',
            err=True,
        )
    typer.echo(f"{out}: {format_count(count, 'question')}, {len(broken_records):,} skipped.")
    if not count:
        raise typer.Exit(1)


def select_split(
    records: "Iterable[Record]", split: str | None, source: Path, omitted_records: Sequence[list[str]]
) -> "Iterator[Record]":
    """The records of a split; all records if `split` is None.

    Raises `SetupError` at the end if the file `source` has records, but none of this split. If records were omitted,
    nothing is raised, because they may belong to the split. omitted_records: lists to which the reading of `records`
    appends.
    """
    from quorum.core.errors import SetupError

    other_names: dict[str, None] = {}
    is_empty, is_there = True, split is None
    for record in records:
        is_empty, value = False, record.get("meta", {}).get("split")
        name = str(value) if isinstance(value, str | int) else None
        if split is None or name == split:
            is_there = True
            yield record
        elif name is not None:
            other_names[name] = None
    if not (is_there or is_empty or any(omitted_records)):
        advice = f"it has {', '.join(other_names)}" if other_names else "leave out --split, because it has no parts"
        raise SetupError(f"{source} has no part {split!r}; {advice}.")
