"""The examples in docstrings run and give what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import quorum

ROOT = Path(quorum.__file__).parent
FOLDERS = ("algorithms", "core", "documents", "parsing")
MODULES = [
    *(
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if ">>>" in path.read_text(encoding="utf-8")
    ),
    "evaluation.compare.call_bounds",
    "evaluation.compare.wrong_cost",
    "evaluation.run.columns",
    "evaluation.run.options",
    "retrievers.registry",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    results = doctest.testmod(import_module(f"quorum.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
