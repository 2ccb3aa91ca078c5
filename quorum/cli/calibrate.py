"""`quorum calibrate`: from which confidence on to answer, so that few answers are wrong."""

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
        typer.Option("--wrong-at-most", metavar="SHARE", help="Of the answers given: 5% or 0.05.", show_default=False),
    ],
    method: Annotated[
        str | None, typer.Option("--method", metavar="NAME", help="Only this one; else the one that answers most.")
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="How sure the promise is to be kept.")
    ] = 0.95,
    measure: Annotated[
        str | None, typer.Option("--measure", metavar="NAME", help="What says right or wrong: em, accuracy or judged.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="By default calibration.json in the folder.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Promise that few answers are wrong: write the file that --calibration takes."""
    from quorum.evaluation.decisions.calibrate import (
        calibrate_methods,
        describe_file,
        describe_no_threshold,
        describe_promise,
        write_calibration,
    )
    from quorum.evaluation.decisions.recorded_results import check_confidence_level, read_results, read_share

    share, error = read_share(wrong_at_most, "--wrong-at-most"), check_confidence_level(confidence)
    table = read_results(results, measure)
    calibrations = calibrate_methods(table, share, error, method)
    path = out or results / "calibration.json"
    written = describe_file(table, calibrations[0], share, error)
    write_calibration(path, written)
    if json:
        from json import dumps

        typer.echo(dumps(written, ensure_ascii=False, indent=2))
        return
    typer.echo(describe_promise(calibrations[0], share, confidence))
    for calibration in calibrations[1:]:
        if calibration.threshold is None:
            typer.echo(describe_no_threshold(calibration, share, len(table.ids)))
        else:
            typer.echo(describe_promise(calibration, share, confidence))
    typer.echo(
        f"quorum: use it with: quorum ask QUESTION --method '{calibrations[0].method}' --calibration {path}", err=True
    )
