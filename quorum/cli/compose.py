"""`quorum compose`: designs a cheaper cascade of the compared methods, and certifies how much quality it may lose."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from quorum.cli.options import AsJson, Margin, Prices, WrongCost


def compose(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder that quorum eval or compare wrote.", show_default=False)
    ],
    lose_at_most: Annotated[
        float,
        typer.Option(
            "--lose-at-most", metavar="X", help="Largest loss against the best single method: 0.03 is three points."
        ),
    ] = 0.03,
    confidence: Annotated[
        float,
        typer.Option("--confidence", metavar="P", help="Probability that the loss is no larger than --lose-at-most."),
    ] = 0.9,
    cost: Annotated[
        str, typer.Option("--cost", metavar="tokens|calls|dollars", help="Cost that the cascade should save.")
    ] = "tokens",
    wrong_cost: WrongCost = 0.0,
    margin: Margin = 0.02,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            help="Seed of the random choice of the questions for the design; the others are for the certificate. "
            "Choose the seed before you see a result.",
        ),
    ] = 0,
    measure: Annotated[
        str | None,
        typer.Option("--measure", metavar="NAME", help="Deciding measure; by default that of the questions' task."),
    ] = None,
    prices: Prices = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File for the cascade; by default composed.json in RESULTS."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Design a cascade of the compared methods, certify it, and write it as a method of its own."""
    from quorum.cli.show import print_missing_answers
    from quorum.evaluation.decisions.compose import Guarantee, compose
    from quorum.evaluation.decisions.describe_composition import describe_composition
    from quorum.evaluation.decisions.recorded_results import check_wrong_cost, compute_failure_probability, read_results
    from quorum.evaluation.decisions.write_composed import make_composed_content, write_composed

    failure_probability = compute_failure_probability(confidence)
    guarantee = Guarantee(
        lose_at_most, failure_probability, cast(Any, cost), check_wrong_cost(wrong_cost), seed, margin
    )
    recorded_results = read_results(results, measure)
    print_missing_answers(recorded_results)
    composition = compose(recorded_results, guarantee, prices)
    path = out or results / "composed.json"
    composed_content = make_composed_content(recorded_results, composition, guarantee)
    write_composed(path, composed_content)
    if json:
        from json import dumps

        typer.echo(dumps(composed_content, ensure_ascii=False, indent=2))
    else:
        for sentence in describe_composition(composition, guarantee):
            typer.echo(sentence)
    asked = "the cascade" if len(composition.cascade) > 1 else "it"
    typer.echo(f"quorum: ask {asked} with: quorum ask QUESTION --method {path}", err=True)
