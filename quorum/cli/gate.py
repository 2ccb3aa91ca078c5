"""`quorum gate`: may a new system replace the one in use? The exit code says yes, no or cannot tell."""

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
    by_labels: Annotated[
        bool,
        typer.Option("--labels", help="Decide by people's labels (quorum label BASELINE NEW) in place of the measure."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Decide whether NEW may replace BASELINE.

    Exit code: 0 if the loss from BASELINE to NEW is surely below --margin; else 1 if NEW is surely worse; else 3
    (cannot tell). 2 means that the input is wrong.
    """
    from quorum.evaluation.decisions.gate import EXIT_CODES, decide_gate, describe_gate
    from quorum.evaluation.decisions.recorded_results import check_wrong_cost

    (baseline_results, baseline_method), (new_results, new_method) = (
        read_method_results(baseline, measure),
        read_method_results(new, measure),
    )
    methods, cost = (baseline_method, new_method), check_wrong_cost(wrong_cost)
    said_of_labels = ""
    if by_labels:
        from quorum.evaluation.decisions.answer_labels import make_pair
        from quorum.evaluation.decisions.labelled_gate import decide_labelled_gate, describe_labels_of_gate

        decision = decide_labelled_gate(make_pair(baseline_results, new_results, methods), margin, wrong_cost=cost)
        said_of_labels = "" if decision.labels is None else describe_labels_of_gate(decision.labels)
    else:
        from quorum.cli.show import print_missing_answers

        print_missing_answers(baseline_results)
        decision = decide_gate(baseline_results, new_results, margin, methods=methods, wrong_cost=cost)
    if json:
        from json import dumps

        typer.echo(dumps(decision.to_json(), ensure_ascii=False, indent=2))
    else:
        typer.echo(f"{describe_gate(decision)}{said_of_labels}")
    raise typer.Exit(EXIT_CODES[decision.verdict])


def read_method_results(argument: str, measure: str | None) -> "tuple[RecordedResults, str | None]":
    """The results in the folder that the argument names, and its method (None if the argument is only FOLDER)."""
    from quorum.evaluation.decisions.answer_labels import split_method
    from quorum.evaluation.decisions.recorded_results import read_results

    folder, method = split_method(argument)
    return read_results(folder, measure), method
