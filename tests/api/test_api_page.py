"""docs/api.md: every example runs, offline and with the embedded model, and prints what the page says."""

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import quorum
from docs.api_page import (
    GROUPS,
    collect_examples,
    format_doctest,
    format_type,
    list_documented_names,
    read_field_docs,
)
from quorum.core.context import Context
from quorum.core.state import State
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.options import Options

EXAMPLES = collect_examples()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, copy_sample_vectors: Callable[[Path], None]) -> Path:
    """The working directory of all examples: they share it, so the sample collection is indexed only once."""
    folder = tmp_path_factory.mktemp("examples")
    copy_sample_vectors(folder / ".quorum")
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, None)
    report: list[str] = []
    results = doctest.DocTestRunner().run(example, out=report.append)
    assert results.attempted
    assert not results.failed, "".join(report)


def test_every_function_has_an_example() -> None:
    functions = [name for name in list_documented_names() if inspect.isfunction(getattr(quorum, name))]
    names_in_groups_with_example = {name for group in GROUPS if group.example for name in group.names}
    assert [name for name in functions if name not in EXAMPLES and name not in names_in_groups_with_example] == []


def test_every_group_has_an_example() -> None:
    assert [group.title for group in GROUPS if not group.example and not set(group.names) & set(EXAMPLES)] == []


def test_every_name_has_a_docstring_of_its_own() -> None:
    # `vars` of a class does not show a docstring that the class inherits. `vars` of a function never shows a docstring,
    # so the names without one must be exactly the functions.
    assert [name for name in list_documented_names() if not vars(getattr(quorum, name)).get("__doc__")] == [
        name for name in list_documented_names() if inspect.isfunction(getattr(quorum, name))
    ]
    assert [name for name in list_documented_names() if not getattr(quorum, name).__doc__] == []


@pytest.mark.parametrize("documented_class", [Context, Options, Row, State])
def test_every_field_has_a_docstring_below_it(documented_class: type) -> None:
    """Of the other public types, docs/api.md shows the docstrings of the fields, and cannot be written without them."""
    assert documented_class.__annotations__.keys() - read_field_docs(documented_class).keys() == set()


def test_an_example_becomes_code_with_its_output_as_comments() -> None:
    example = """
    >>> for one in (1, 2):
    ...     print(one)
    1
    2
    >>> quiet = 3
    """
    assert format_doctest(example) == "```python\nfor one in (1, 2):\n    print(one)\n# 1\n# 2\nquiet = 3\n```"


def test_types_are_written_without_their_modules() -> None:
    assert format_type("Sequence[Passage] | None") == "Sequence[Passage] | None"
    assert format_type(inspect.signature(quorum.is_unknown).return_annotation) == "bool"
    assert format_type(inspect.signature(quorum.read_reply).return_annotation) == "Parsed[Any]"
