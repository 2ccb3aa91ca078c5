"""Saves a run as a file (`quorum ask --save-trace FILE`) and prints a saved run as `--trace` does (`quorum trace`)."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.core.errors import SetupError
from quorum.core.private_files import open_private_text

if TYPE_CHECKING:
    from quorum.evaluation.shown.trace import Step


def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that --save-trace wrote.", show_default=False)],
) -> None:
    """Print a run that was saved with: quorum ask --save-trace FILE."""
    from quorum.cli.trace import print_trace

    print_trace(read_trace(file), to_stderr=False)


def check_writable(file: Path) -> None:
    """Raise a `SetupError` unless the file can be written. A missing file is created, empty."""
    try:
        with open_private_text(file, "a"):
            pass
    except OSError as error:
        raise SetupError(
            f"The trace cannot be written to {file} ({error.strerror}); give --save-trace another file."
        ) from None


def save_trace(file: Path, root: "Step", question: str, method: str) -> bool:
    """Write a run as JSON: {"format", "question", "method", "steps"}, and return whether it was written.

    root: the whole run; its steps are written, each with the steps inside it. If the file cannot be written, for
    example because the disk is full, a message on stderr says so. This raises no error, because the caller must still
    print the answer, which the user has paid for.
    """
    from json import dumps

    from quorum.evaluation.shown.trace import FORMAT_NAME, step_to_json

    saved_trace = {
        "format": FORMAT_NAME,
        "question": question,
        "method": method,
        "steps": [step_to_json(step) for step in root.steps],
    }
    try:
        replace_file(file.resolve(), dumps(saved_trace, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        typer.echo(f"quorum: The trace was not written to {file} ({error.strerror}).", err=True)
        return False
    return True


def replace_file(file: Path, text: str) -> None:
    """Replace the file in one step, so that no reader sees it half-written. The file keeps its permissions.

    A file that is not regular (such as /dev/stdout), or whose folder is not writable, is written directly.
    """
    if not file.is_file() or not os.access(file.parent, os.W_OK):
        with open_private_text(file) as target:
            target.write(text)
        return
    draft = file.with_name(f"{file.name}.part")
    try:
        with open_private_text(draft) as draft_file:
            draft_file.write(text)
        draft.chmod(stat.S_IMODE(file.stat().st_mode))
        os.replace(draft, file)
    except OSError:
        draft.unlink(missing_ok=True)
        if not file.stat().st_size:
            file.unlink()  # `check_writable` created it empty
        raise


def read_trace(file: Path) -> "Step":
    """Read a saved run, and return it as one step that holds the run's steps. Raises `SetupError` if the file cannot be
    read or holds no run.
    """
    from quorum.core.files import read_regular
    from quorum.evaluation.shown.saved_run import read_saved_run
    from quorum.evaluation.shown.trace import Step

    try:
        return Step("run", "run", steps=read_saved_run(read_regular(file))[1])
    except OSError as error:
        raise SetupError(
            f"The trace {file} cannot be read ({error.strerror}); give a file that --save-trace wrote."
        ) from None
    except ValueError as error:
        raise SetupError(f"{file} holds no trace ({error}); give a file that --save-trace wrote.") from None
