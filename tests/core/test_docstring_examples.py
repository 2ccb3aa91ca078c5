"""The examples in docstrings run and give what they show."""

import doctest
from importlib import import_module

import pytest

MODULES = ["context", "sentences", "text", "thinking", "unknown"]


@pytest.mark.parametrize("name", [f"core.{module}" for module in MODULES] + ["algorithms.copied_sentences"])
def test_examples_in_docstrings_run(name: str) -> None:
    found = doctest.testmod(import_module(f"quorum.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
