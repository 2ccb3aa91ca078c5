"""`quorum.extend`: its names can be imported and are in the docs; the example and the notebook need nothing else."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quorum
from quorum import extend

ROOT = Path(quorum.__file__).resolve().parent.parent


def read_notebook_code(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def list_imported_modules(code: str) -> set[str]:
    """The modules of Quorum that a program imports from."""
    nodes = list(ast.walk(compile(code, "code", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)))
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {module for module in modules if module.partition(".")[0] == "quorum"}


def test_every_name_can_be_imported() -> None:
    assert [name for name in extend.__all__ if not hasattr(extend, name)] == []
    assert dir(extend) == sorted(extend.__all__)
    with pytest.raises(AttributeError, match=r"module 'quorum\.extend' has no attribute 'retrive'"):
        extend.retrive  # type: ignore[attr-defined]  # noqa: B018


def test_the_docs_say_what_every_name_is_for() -> None:
    text = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    table = text.partition("| name | what it is for |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(first_cells))) == sorted(extend.__all__)


def test_the_example_and_the_notebook_import_nothing_else() -> None:
    example = (ROOT / "examples" / "plugin" / "quorum_example.py").read_text(encoding="utf-8")
    notebook = read_notebook_code(ROOT / "notebooks" / "04_write_a_method.ipynb")
    assert list_imported_modules(example) == list_imported_modules(notebook) == {"quorum", "quorum.extend"}


def test_a_reader_of_files_imports_no_graph() -> None:
    code = "import sys; from quorum.extend import Block, Document; print('langgraph' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout == "False\n"
