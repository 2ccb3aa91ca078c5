"""The `quorum` command. Data go to stdout, messages to stderr.

Exit codes: 0, 1 (something failed), 2 (wrong input) and 130 (Ctrl-C); `quorum gate` also has 3 (the questions do
not decide whether the new system may replace the old one).
"""

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer

from quorum.cli.ask import ask
from quorum.cli.calibrate import calibrate
from quorum.cli.chat import chat
from quorum.cli.collections import app as collections
from quorum.cli.compare import compare
from quorum.cli.compose import compose
from quorum.cli.config import config
from quorum.cli.data import data
from quorum.cli.demo import demo
from quorum.cli.doctor import doctor
from quorum.cli.evaluate import evaluate
from quorum.cli.experiment import experiment
from quorum.cli.filter import app as filters
from quorum.cli.finetune import generator_training
from quorum.cli.garbage import delay_garbage_collection
from quorum.cli.gate import gate
from quorum.cli.help import ANSWER, DECIDE, DOCUMENTS, RESEARCH, SERVE, SETUP, WHICH_ONE, GroupedCommands
from quorum.cli.index import index
from quorum.cli.mcp import mcp
from quorum.cli.methods import methods
from quorum.cli.prompts import app as prompts
from quorum.cli.questions import questions
from quorum.cli.results import results, show
from quorum.cli.saved_trace import trace
from quorum.cli.serve import serve
from quorum.cli.terminal import escape_streams
from quorum.core.errors import QuorumError, SetupError

app = typer.Typer(
    name="quorum",
    help="Answer questions over your documents by the method you choose, and measure which is worth its cost.",
    epilog=WHICH_ONE,
    cls=GroupedCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# The commands in the order of the help, under its titles, each with the line that stands there.
for title, name, function, line in (
    (ANSWER, "ask", ask, "One answer, with the sentence that supports it."),
    (ANSWER, "chat", chat, "A conversation on the terminal; follow-ups are understood."),
    (ANSWER, "demo", demo, "Three questions and a comparison on the built-in sample."),
    (ANSWER, "methods", methods, "The methods, or the graph of one."),
    (ANSWER, "trace", trace, "A run that quorum ask --save-trace wrote, prompt by prompt."),
    (DOCUMENTS, "index", index, "Read files and folders into a collection."),
    (DECIDE, "questions", questions, "Write test questions about your documents."),
    (DECIDE, "eval", evaluate, "Ask methods the questions of a file, and score them."),
    (DECIDE, "compare", compare, "Score and price methods, and recommend one."),
    (DECIDE, "results", results, "The runs so far: data, models, methods, date."),
    (DECIDE, "show", show, "The tables of a run again, also for LaTeX and as CSV."),
    (DECIDE, "compose", compose, "Join compared methods into a cheaper cascade."),
    (DECIDE, "calibrate", calibrate, "Find how sure an answer must be, and withhold the rest."),
    (DECIDE, "gate", gate, "May this new run replace that old one? Yes, no, undecided."),
    (SERVE, "serve", serve, "The page, and a server that OpenAI's clients can ask."),
    (SERVE, "mcp", mcp, "Let agents ask and search, by the Model Context Protocol."),
    (SETUP, "doctor", doctor, "Is everything sound? Packages, settings, store, model."),
    (SETUP, "config", config, "Every setting, and where its value comes from."),
    (RESEARCH, "experiment", experiment, "A paper's table or figure, on your data."),
):
    app.command(name, short_help=line, rich_help_panel=title)(function)
for title, group, line in (
    (DOCUMENTS, collections, "List, show, rename, remove, export, import collections."),
    (RESEARCH, data, "Convert published data sets."),
    (RESEARCH, prompts, "The prompts, and how a reply to one is read."),
    (RESEARCH, filters, "Train context filters (FILCO) on your own questions."),
    (RESEARCH, generator_training, "Train answering models (FILCO)."),
):
    app.add_typer(group, name=group.info.name, cls=GroupedCommands, short_help=line, rich_help_panel=title)


def print_version(is_wanted: bool) -> None:
    """Print the version and exit, if --version is given."""
    if is_wanted:
        from quorum import __version__

        typer.echo(f"quorum {__version__}")
        raise typer.Exit


@app.callback()
def accept_global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Options that stand before the command."""


@cache
def get_command() -> Callable[..., Any]:
    """The Click command that Typer makes from `app`. Making it takes a hundredth of a second, so it is made once."""
    return typer.main.get_command(app)


def main(args: list[str] | None = None) -> None:
    """Run a command line and exit with its code."""
    if args is None:  # called as a command, not by Python code
        delay_garbage_collection()
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal without UTF-8 shows '?' instead of failing
    with escape_streams():
        run_command(args)


def run_command(args: list[str] | None) -> None:
    """Run a command line; see `main`."""
    try:
        get_command()(args, prog_name="quorum")
    except SetupError as error:
        exit_with_message(error, 2)
    except QuorumError as error:
        exit_with_message(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The program that read our output has ended: print nothing more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def exit_with_message(error: Exception, code: int) -> None:
    """Print the error on one line of stderr and exit with the code."""
    print("quorum:", " ".join(str(error).split()), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
