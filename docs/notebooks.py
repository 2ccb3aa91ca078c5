"""Runs the notebooks from top to bottom, each in an empty folder: docs/notebooks.py [--save] [--strip] [NAME ...]

A cell that fails ends the run. --save keeps the outputs in the files for a person to read; --strip removes them again,
because committed notebooks must not have outputs.
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
CELL_TIMEOUT_SECONDS = 600  # far more than any cell takes; it stops a cell that hangs


def run_notebook(path: Path, save: bool) -> float:
    """Execute one notebook in an empty folder, because it must not depend on other files. Returns its run time in
    seconds.
    """
    notebook: Any = nbformat.read(path, as_version=4)
    started_at = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT_SECONDS,
            startup_timeout=CELL_TIMEOUT_SECONDS,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": folder}},
        ).execute()
    if save:
        nbformat.write(notebook, path)
    return time.perf_counter() - started_at


def strip_outputs(path: Path) -> None:
    """Remove outputs, execution counts and the metadata that an execution adds."""
    notebook: Any = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = {name: notebook.metadata[name] for name in ("kernelspec", "language_info")}
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which notebooks, such as 04; by default all")
    parser.add_argument("--save", action="store_true", help="keep the outputs in the files")
    parser.add_argument("--strip", action="store_true", help="remove the outputs from the files; run nothing")
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
