"""`quorum trace`: a run that `quorum ask --save-trace` kept, printed as the tree that `--trace` prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.evaluation.trace import Step


def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What --save-trace wrote.", show_default=False)],
) -> None:
    """Print a run that was kept with: quorum ask --save-trace FILE."""
    from quorum.cli.trace import print_trace

    print_trace(load(file), to_stderr=False)


def check_writable(file: Path) -> None:
    """SetupError unless the file can be written."""
    try:
        with file.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise SetupError(
            f"The trace cannot be written to {file} ({error.strerror}); give --save-trace another file."
        ) from None


def save(file: Path, root: "Step", question: str, method: str) -> None:
    """Write a run as JSON: {"format", "question", "method", "steps"}, a step with the steps inside it."""
    from json import dumps

    from quorum.evaluation.trace import FORMAT, plain

    kept = {"format": FORMAT, "question": question, "method": method, "steps": [plain(step) for step in root.steps]}
    file.write_text(dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def load(file: Path) -> "Step":
    """The run in a file; a file that holds none is a `SetupError`."""
    from json import loads

    from quorum.core.files import read_regular
    from quorum.evaluation.trace import FORMAT, Step, step_of

    try:
        kept = loads(read_regular(file))
        if kept["format"] != FORMAT:
            raise ValueError(f"it says {kept['format']!r} where {FORMAT!r} is known")
        return Step("run", "run", steps=[step_of(one) for one in kept["steps"]])
    except OSError as error:
        raise SetupError(
            f"The trace {file} cannot be read ({error.strerror}); give the file of --save-trace."
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"{file} holds no trace ({error}); make one with: quorum ask QUESTION --save-trace {file}"
        ) from None
