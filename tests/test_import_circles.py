"""No two modules import each other, directly or through others.

`make check` tests only the order of the layers, so it misses a circle inside one layer.
"""

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def list_imports(package: str) -> dict[str, set[str]]:
    """{module: modules that it imports} of a package. Imports inside functions and under TYPE_CHECKING count, too."""
    graph = grimp.build_graph(package, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_modules_import_each_other() -> None:
    imports = list_imports("quorum")
    assert "quorum.graphs.sure" in imports  # the folders behind symbolic links are read, too
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"these modules import each other: {' <- '.join(error.args[1])}")
