"""Withholds answers that are not sure enough: `--abstain-below` and `--calibration` of `quorum ask`."""

from typing import TYPE_CHECKING

import typer

from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.core.state import Result
    from quorum.graphs import Graph


def check_abstain_below(method: str, graph: "Graph", context: "Context", below: float) -> None:
    """Raise a `SetupError`, before asking, for a bound out of range or a method that never states a confidence."""
    from quorum.evaluation.metrics.uncertainty import check_confidence
    from quorum.graphs.composed import get_composed_cascade

    if not 0 <= below <= 1:
        raise SetupError(f"--abstain-below {below:g} does not fit; give a confidence from 0 to 1.")
    check_confidence(method, context, get_composed_cascade(graph))


def withhold_unsure_answer(result: "Result", method: str, below: float) -> "Result":
    """The result, with the answer unknown if its confidence is below the bound.

    A message on stderr shows the withheld answer, or says that the answer has no confidence.
    """
    from quorum.evaluation.metrics.uncertainty import abstain_below

    confidence, new_result = result.get("confidence"), abstain_below(result, below)
    if confidence is None and not result["unknown"]:
        typer.echo(f"quorum: {method} stated no confidence in this answer, so it is not withheld.", err=True)
    elif new_result is not result:
        message = f"the answer {result['answer']!r} was withheld: confidence {confidence:.2f} is below {below:g}."
        typer.echo(f"quorum: {message}", err=True)
    return new_result


def check_calibration_fits(graph: "Graph", context: "Context", abstain_below: float | None) -> None:
    """Raise a `SetupError`, before asking, for a calibration of another method or other settings.

    Raise it also if --abstain-below is given. graph: the graph of the method that will be asked.
    """
    from quorum.nodes.abstain import check_calibration, read_calibration

    if abstain_below is not None:
        raise SetupError(
            "Both --abstain-below and a calibration are given, and each sets a lowest confidence; give one of them."
        )
    check_calibration(read_calibration(str(context.calibration)), graph.get_name(), context)


def print_withheld_answer(result: "Result") -> None:
    """Print on stderr the answer that a calibration withheld."""
    withheld = result["withheld"]
    if withheld is not None:
        confidence_text = (
            "no confidence" if withheld["confidence"] is None else f"confidence {withheld['confidence']:.2f}"
        )
        limit_text = f"the lowest accepted is {withheld['lowest_confidence']:g}"
        message = f"the answer {withheld['answer']!r} was withheld: {confidence_text}, {limit_text}."
        typer.echo(f"quorum: {message}", err=True)
