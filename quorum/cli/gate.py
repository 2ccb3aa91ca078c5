"""`quorum gate`: may a new system replace the one in use? The exit code says yes, no or cannot tell."""

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
            metavar="BASELINE", help="Results of the system in use: FOLDER or FOLDER:METHOD.", show_default=False
        ),
    ],
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW",
            help="Results of the system that would replace it: FOLDER or FOLDER:METHOD.",
            show_default=False,
        ),
    ],
    margin: Annotated[
        float,
        typer.Option(
            "--margin", metavar="X", help="The loss that would matter: 0.03 is three points of 100.", show_default=False
        ),
    ],
    wrong_cost: WrongCost = 0.0,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="NAME", help="Deciding measure; by default that of the questions' task."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Decide whether NEW may replace BASELINE.

    Exit code: 0 if the loss from BASELINE to NEW is surely below --margin; else 1 if NEW is surely worse; else 3
    (cannot tell). 2 means that the input is wrong.
    """
    from quorum.cli.show import print_missing_answers
    from quorum.evaluation.decisions.gate import EXIT_CODES, decide_gate, describe_gate
    from quorum.evaluation.decisions.recorded_results import check_wrong_cost

    (baseline_results, baseline_method), (new_results, new_method) = (
        read_method_results(baseline, measure),
        read_method_results(new, measure),
    )
    print_missing_answers(baseline_results)
    decision = decide_gate(
        baseline_results,
        new_results,
        margin,
        methods=(baseline_method, new_method),
        wrong_cost=check_wrong_cost(wrong_cost),
    )
    if json:
        from json import dumps

        typer.echo(dumps(decision.to_json(), ensure_ascii=False, indent=2))
    else:
        typer.echo(describe_gate(decision))
    raise typer.Exit(EXIT_CODES[decision.verdict])


def read_method_results(argument: str, measure: str | None) -> "tuple[RecordedResults, str | None]":
    """The results in the folder that the argument names, and its method (None if the argument is only FOLDER)."""
    from quorum.evaluation.decisions.recorded_results import read_results

    if Path(argument).is_dir():
        return read_results(Path(argument), measure), None
    folder, colon, method = argument.partition(":")
    return read_results(Path(folder), measure), (method or None) if colon else None
