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

from quorum.cli.garbage import delay_garbage_collection
from quorum.cli.help import WHICH_ONE, Commands, RootCommands
from quorum.cli.terminal import escape_streams
from quorum.core.errors import QuorumError, SetupError

app = typer.Typer(
    name="quorum",
    help="Answer questions over your documents by the method you choose, and measure which is worth its cost.",
    epilog=WHICH_ONE,
    cls=RootCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    """The Click command that Typer makes from `app`. The modules of its commands are imported when they are called."""
    group: Any = typer.main.get_command(app)
    group.commands = Commands()
    command: Callable[..., Any] = group
    return command


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
    except OSError as error:
        from quorum.core.files import explain_os_error

        exit_with_message(explain_os_error(error), 2)


def exit_with_message(error: Exception, code: int) -> None:
    """Print the error on one line of stderr and exit with the code."""
    print("quorum:", " ".join(str(error).split()), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
