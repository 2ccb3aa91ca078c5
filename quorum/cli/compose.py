"""`quorum compose`: a cheaper cascade from what was compared, with a promise."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from quorum.cli.options import AsJson, Prices, WrongCost


def compose(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder that quorum eval or compare wrote.", show_default=False)
    ],
    lose_at_most: Annotated[
        float, typer.Option("--lose-at-most", metavar="X", help="To the best single method: 0.03 is three points.")
    ] = 0.03,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="P", help="How sure the promise is to be kept.")
    ] = 0.9,
    cost: Annotated[
        str, typer.Option("--cost", metavar="tokens|calls|dollars", help="What is to be saved.")
    ] = "tokens",
    wrong_cost: WrongCost = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Splits the questions; choose it beforehand.")] = 0,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="NAME", help="What decides; by default what the questions call for."),
    ] = None,
    prices: Prices = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="By default composed.json in the folder.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Design a cascade of the compared methods, certify it, and write it as a method of its own."""
    from quorum.evaluation.decisions.compose import (
        Guarantee,
        compose,
        describe_composed,
        make_composed_file,
        write_composed,
    )
    from quorum.evaluation.decisions.recorded_results import check_confidence_level, check_wrong_cost, read_results

    error = check_confidence_level(confidence)
    terms = Guarantee(lose_at_most, error, cast(Any, cost), check_wrong_cost(wrong_cost), seed)
    table = read_results(results, measure)
    composition = compose(table, terms, prices)
    path, written = out or results / "composed.json", make_composed_file(table, composition, terms)
    write_composed(path, written)
    if json:
        from json import dumps

        typer.echo(dumps(written, ensure_ascii=False, indent=2))
    else:
        for sentence in describe_composed(composition, terms):
            typer.echo(sentence)
    typer.echo(f"quorum: ask it with: quorum ask QUESTION --method {path}", err=True)
