"""Runs the notebooks from top to bottom, each in an empty folder: docs/notebooks.py [--save] [--strip] [NAME ...]

A cell that fails ends the run. --save keeps the outputs in the files for a person to read; --strip removes them again,
because committed notebooks hold none.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SECONDS_A_CELL = 600  # far more than any cell takes; a cell that hangs is stopped


def run_notebook(path: Path, save: bool) -> float:
    """Execute one notebook in an empty folder, because it must not depend on other files. Returns its seconds."""
    book: Any = nbformat.read(path, as_version=4)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            book,
            timeout=SECONDS_A_CELL,
            startup_timeout=SECONDS_A_CELL,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": folder}},
        ).execute()
    if save:
        nbformat.write(book, path)
    return time.perf_counter() - started


def strip_outputs(path: Path) -> None:
    """Remove outputs, and what execution leaves in the cells."""
    book: Any = nbformat.read(path, as_version=4)
    for cell in book.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    book.metadata = {name: book.metadata[name] for name in ("kernelspec", "language_info")}
    book.metadata.language_info = {"name": "python"}
    nbformat.write(book, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks, such as 04; without any, all")
    parser.add_argument("--save", action="store_true", help="keep the outputs in the files")
    parser.add_argument("--strip", action="store_true", help="take the outputs out, run nothing")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("QUORUM_", "LANGSMITH_", "LANGCHAIN_"))]:
        del os.environ[name]  # a notebook runs as in a fresh clone: offline, on the embedded model
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if options.names and not path.name.startswith(tuple(options.names)):
            continue
        if options.strip:
            strip_outputs(path)
            continue
        try:
            print(f"{path.name}: {run_notebook(path, options.save):.0f} s", flush=True)
        except CellExecutionError as error:
            sys.exit(f"{path.name} failed:\n{error}")


if __name__ == "__main__":
    main()
