"""`quorum results` lists runs; `quorum show` prints the tables of one, also for LaTeX and spreadsheets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import AsJson
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.evaluation.run.saved_runs import RunTables, SavedRun

Folder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", help="Where to look for runs, also in folders below.", show_default="results"),
]
Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="Folder that quorum eval or compare wrote.", show_default=False)
]


def results(folder: Folder = Path("results"), json: AsJson = False) -> None:
    """List the runs of quorum eval, compare and experiment: data, models, methods, date."""
    from quorum.evaluation.run.saved_runs import list_runs

    runs = list_runs(folder)
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps([asdict(run) for run in runs], ensure_ascii=False, indent=2))
        return
    if not runs:
        typer.echo(f"There are no runs in {folder} yet; make one with: quorum eval QUESTIONS --methods concat,sure")
        return
    from quorum.cli.show import make_plain_table, make_stdout_console

    table = make_plain_table("run", "data", "questions", "models", "methods", "date")
    table.columns[0].no_wrap = True  # a path in one piece can be copied
    for run in runs:
        table.add_row(*make_run_row(run))
    make_stdout_console().print(table)


def make_run_row(run: "SavedRun") -> list[str]:
    """The row of a run in the table of `results`."""
    from quorum.core.files import escape_name

    date = run.changed[:16].replace("T", " ")
    return [
        escape_name(run.folder),
        escape_name(run.data),
        f"{run.questions:,}",
        ", ".join(run.models),
        ", ".join(run.methods),
        date if run.finished else f"{date}, stopped",
    ]


def show(
    folder: Results,
    latex: Annotated[bool, typer.Option("--latex", help="Print a table for LaTeX (booktabs).")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print every measure of every method as CSV.")] = False,
    json: AsJson = False,
) -> None:
    """Print the tables of a run again, for the terminal, for LaTeX or as CSV."""
    from quorum.evaluation.run.saved_runs import read_tables

    if latex + csv + json > 1:
        raise SetupError("--latex, --csv and --json are given together; give one of them.")
    tables = read_tables(folder)
    if not tables.finished:
        typer.echo(
            "quorum: this run was stopped, so these are its answers so far; run the same command again to finish it.",
            err=True,
        )
    if json:
        from json import dumps

        typer.echo(dumps({"summary": tables.summary, "comparisons": tables.comparisons}, ensure_ascii=False, indent=2))
    elif csv:
        print_csv(tables)
    elif latex:
        print_latex(folder, tables)
    else:
        from quorum.cli.evaluate import print_tables
        from quorum.cli.tables import make_score_tables

        print_tables(make_score_tables(tables.summary, tables.comparisons, tables.measures, tables.metrics))


def print_csv(tables: "RunTables") -> None:
    """A line for each method, with every measure of summary.json that some method has."""
    import csv
    import sys

    from quorum.evaluation.report.csv_files import escape_formula

    names = dict.fromkeys(name for row in tables.summary.values() for name, value in row.items() if value is not None)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["method", *names])
    for method, row in tables.summary.items():
        writer.writerow([escape_formula(method), *(row.get(name) for name in names)])


def print_latex(folder: Path, tables: "RunTables") -> None:
    """The table of measures and costs, as Python's `Evaluation` shows it."""
    from quorum.api.results import make_measures_table
    from quorum.evaluation.run.saved_runs import write_latex

    rows = [{"method": name, **row} for name, row in tables.summary.items()]
    table = make_measures_table(rows, tables.measures, tables.metrics)
    note = f"quorum show {folder} --latex; measures in percent with 95% intervals, costs per question"
    typer.echo(write_latex(table.header, table.rows, note))
