"""`quorum gate`: may a new system replace the one in use? Three exit codes, for a pipeline to read."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import AsJson, WrongCost

if TYPE_CHECKING:
    from quorum.evaluation.decisions.recorded_results import RecordedResults


def gate(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE", help="Results of what is in use: FOLDER or FOLDER:METHOD.", show_default=False
        ),
    ],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="Results of what would replace it: FOLDER or FOLDER:METHOD.", show_default=False
        ),
    ],
    margin: Annotated[
        float,
        typer.Option(
            "--margin", metavar="X", help="The loss that would matter: 0.03 is three points.", show_default=False
        ),
    ],
    wrong_cost: WrongCost = 0.0,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="NAME", help="What decides; by default what the questions call for."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Pass (exit code 0), fail (1), bad input (2) or cannot tell (3): does NEW lose --margin or more to BASELINE?"""
    from quorum.evaluation.decisions.gate import EXIT_CODES, decide_gate, describe_gate
    from quorum.evaluation.decisions.recorded_results import check_wrong_cost

    (baseline_name, baseline_rows), (replacing, other) = (
        read_method_results(baseline, measure),
        read_method_results(new, measure),
    )
    decided = decide_gate(
        baseline_name, replacing, margin, methods=(baseline_rows, other), wrong_cost=check_wrong_cost(wrong_cost)
    )
    if json:
        from json import dumps

        typer.echo(dumps(decided.to_json(), ensure_ascii=False, indent=2))
    else:
        typer.echo(describe_gate(decided))
    raise typer.Exit(EXIT_CODES[decided.verdict])


def read_method_results(text: str, measure: str | None) -> "tuple[RecordedResults, str | None]":
    """The results in FOLDER, and the method where the text is FOLDER:METHOD."""
    from quorum.evaluation.decisions.recorded_results import read_results

    if Path(text).is_dir():
        return read_results(Path(text), measure), None
    folder, colon, method = text.partition(":")
    return read_results(Path(folder), measure), (method or None) if colon else None
