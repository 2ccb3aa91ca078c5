"""`quorum demo`: three questions over the sample, and a comparison of methods that recommends one, offline."""

import os
import sys
from pathlib import Path
from shlex import quote
from shutil import which
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
    """Three questions with their evidence, then six methods compared and one recommended, on the sample (offline)."""
    from quorum.cli.ask import ask
    from quorum.cli.compare import compare
    from quorum.datasets.sample import find_sample_folder
    from quorum.retrievers.collection_names import SAMPLE

    store = None if folder is None else str(folder)
    store_option = "" if store is None else f" --store {quote(store)}"
    out = None if folder is None else folder / "results"
    out_option = "" if out is None else f" --out {quote(str(out))}"
    for method, question in QUESTION_OF_METHOD.items():
        print_command(f'quorum ask "{question}" --method {method}{store_option}')
        ask([question], method, collection=SAMPLE, store=store)
    sample = find_sample_folder()
    corpus, questions = sample / "corpus", sample / "questions.jsonl"
    print_command(
        f"quorum compare {quote(str(corpus))} {quote(str(questions))} --methods {COMPARED_METHODS} --k 3"
        + store_option
        + out_option
    )
    compare(str(corpus), questions, COMPARED_METHODS, k="3", store=store, out=out)
    command = find_own_command()
    typer.echo(f'\nNow your own documents:\n  {command} index FOLDER\n  {command} ask "..."')


def find_own_command() -> str:
    """How to call this command from the shell: by its name, or by its path if its folder is not among the shell's."""
    installed = Path(sys.executable).parent / "quorum"
    return "quorum" if which("quorum") or not installed.is_file() else quote(os.path.relpath(installed))


def print_command(command: str) -> None:
    """Print the command line whose output comes next."""
    typer.echo(f"\n$ {command}")
