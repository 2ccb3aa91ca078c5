"""`quorum calibrate`: the lowest confidence at which a method may answer, so that few answers are wrong."""

from pathlib import Path
from typing import Annotated

import typer

from quorum.cli.options import AsJson


def calibrate(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder that quorum eval or compare wrote.", show_default=False)
    ],
    wrong_at_most: Annotated[
        str,
        typer.Option(
            "--wrong-at-most",
            metavar="SHARE",
            help="Largest share of wrong answers among the answers that are not withheld, such as 5% or 0.05.",
            show_default=False,
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method to calibrate. By default all are calibrated, and the file of --out is for the one that may "
            "answer the most questions.",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="Probability with which --wrong-at-most holds.")
    ] = 0.95,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="Measure that decides which answers are wrong: em, accuracy or judged. By default judged if RESULTS "
            "holds a judge's verdicts, else the measure of the questions' task.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to write; by default calibration.json in RESULTS."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Find how sure a method must be to answer, so that few of its answers are wrong.

    Looks only at the answers in RESULTS, asks no model, and writes the lowest confidence to a file. With this file,
    quorum ask --calibration FILE answers unknown below it, and quorum serve --watch FILE checks whether the share of
    wrong answers stays as low.
    """
    from quorum.cli.show import print_missing_answers
    from quorum.evaluation.decisions.calibrate import (
        calibrate_methods,
        describe_no_threshold,
        describe_promise,
        make_calibration_content,
        write_calibration,
    )
    from quorum.evaluation.decisions.recorded_results import compute_failure_probability, read_results, read_share

    largest_wrong_share, failure_probability = (
        read_share(wrong_at_most, "--wrong-at-most"),
        compute_failure_probability(confidence),
    )
    recorded_results = read_results(results, measure, prefer_verdicts=True)
    print_missing_answers(recorded_results)
    calibrations = calibrate_methods(recorded_results, largest_wrong_share, failure_probability, method)
    path = out or results / "calibration.json"
    calibration_content = make_calibration_content(
        recorded_results, calibrations[0], largest_wrong_share, failure_probability
    )
    write_calibration(path, calibration_content)
    if json:
        from json import dumps

        typer.echo(dumps(calibration_content, ensure_ascii=False, indent=2))
        return
    typer.echo(describe_promise(calibrations[0], largest_wrong_share, confidence))
    for calibration in calibrations[1:]:
        if calibration.threshold is None:
            typer.echo(describe_no_threshold(calibration, largest_wrong_share, len(recorded_results.ids)))
        else:
            typer.echo(describe_promise(calibration, largest_wrong_share, confidence))
    method = calibrations[0].method
    typer.echo(
        f"quorum: wrote {path}; with it, answers below this confidence become unknown: "
        f"quorum ask QUESTION --method '{method}' --calibration {path}",
        err=True,
    )
