"""The examples in docstrings run and give what they show."""

import doctest
from importlib import import_module

import pytest

MODULES = [
    *(f"core.{module}" for module in ("context", "plugins", "sentences", "text", "thinking", "unknown")),
    "algorithms.copied_sentences",
    "evaluation.compare.call_bounds",
    "evaluation.run.columns",
    "evaluation.run.options",
    "retrievers.registry",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    found = doctest.testmod(import_module(f"quorum.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
