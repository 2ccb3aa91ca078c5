"""The examples in docstrings run and give what they show. `tests/api/test_api_page.py` does this for public names."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import quorum

ROOT = Path(quorum.__file__).parent
FOLDERS = sorted(path for path in ROOT.iterdir() if path.is_dir() and path.name != "api")  # also the symbolic links
MODULES_WITH_EXAMPLES = [
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for folder in FOLDERS
    for path in sorted(folder.rglob("*.py"))
    if path != ROOT / "graphs/__init__.py"  # this file defines public names
    and ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module_name", MODULES_WITH_EXAMPLES)
def test_examples_in_docstrings_run(module_name: str) -> None:
    results = doctest.testmod(import_module(f"quorum.{module_name}"))
    assert results.attempted > 0
    assert results.failed == 0
