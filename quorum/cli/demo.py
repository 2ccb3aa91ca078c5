"""`quorum demo`: three questions and a comparison of methods over the sample collection, offline."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

QUESTION_OF_METHOD = {
    "concat_pf": "How tall is the Eiffel Tower?",
    "post_fusion": "Who led the first expedition to reach the South Pole?",
    "pf_concat": "Who wrote the Zen of Python?",
}
COMPARED_METHODS = "concat,post_fusion,concat_pf,pf_concat,sure,filco"


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Put the store in FOLDER and the results in FOLDER/results; if omitted, the store is .quorum, "
            "and the results go to a folder under results.",
        ),
    ] = None,
) -> None:
    """Three questions with their evidence, then six methods compared, on the sample (offline)."""
    from quorum.cli.ask import ask
    from quorum.cli.evaluate import evaluate
    from quorum.datasets.sample import find_sample_folder
    from quorum.retrievers.collection_names import SAMPLE

    store = None if folder is None else str(folder)
    store_option = "" if store is None else f" --store {quote(store)}"
    out = None if folder is None else folder / "results"
    out_option = "" if out is None else f" --out {quote(str(out))}"
    for method, question in QUESTION_OF_METHOD.items():
        print_command(f'quorum ask "{question}" --method {method}{store_option}')
        ask(question, method, collection=SAMPLE, store=store)
    questions = find_sample_folder() / "questions.jsonl"
    eval_command = f"quorum eval {quote(str(questions))} --methods {COMPARED_METHODS} --collection {SAMPLE} --k 3"
    print_command(eval_command + store_option + out_option)
    evaluate(questions, COMPARED_METHODS, collection=SAMPLE, k=3, store=store, out=out)


def print_command(command: str) -> None:
    """Print the command line whose output comes next."""
    typer.echo(f"\n$ {command}")
