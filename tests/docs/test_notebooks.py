"""The notebooks as they are committed hold no outputs, and their code can be compiled. `make notebooks` runs them."""

import ast
import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
OPTIONAL_MODULES = {"IPython", "matplotlib"}  # of the extra [notebooks]


def join_source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def read_cells(path: Path, cell_type: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == cell_type]


def parse_code(path: Path) -> ast.Module:
    """All code of a notebook as one program, which may use `await` outside functions. Raises `SyntaxError`."""
    code = "\n".join(map(join_source, read_cells(path, "code")))
    compile(code, path.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return ast.parse(code)


def test_there_are_five_notebooks() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestNotebook:
    def test_its_cells_hold_no_outputs_and_no_metadata(self, path: Path) -> None:
        assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in read_cells(path, "code"))
        assert all(cell["metadata"] == {} for cell in [*read_cells(path, "code"), *read_cells(path, "markdown")])

    def test_it_holds_no_local_paths_no_key_and_no_metadata_but_its_kernel_and_language(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(home|root|Users|work|tmp)/|[A-Z]:\\\\|sk-[A-Za-z0-9]{8}", text)
        metadata = json.loads(text)["metadata"]
        assert metadata["kernelspec"]["name"] == "python3"
        assert set(metadata) == {"kernelspec", "language_info"}

    def test_it_begins_with_prose_and_has_short_cells(self, path: Path) -> None:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert join_source(cells[0]).startswith("# ")
        assert max(join_source(cell).count("\n") for cell in read_cells(path, "code")) < 50
        assert max(len(line) for cell in read_cells(path, "code") for line in join_source(cell).splitlines()) <= 120

    def test_its_imports_are_installed(self, path: Path) -> None:
        for node in ast.walk(parse_code(path)):
            if isinstance(node, ast.Import):
                assert all(
                    alias.name.split(".")[0] in OPTIONAL_MODULES or importlib.import_module(alias.name)
                    for alias in node.names
                )
            elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] not in OPTIONAL_MODULES:
                module = importlib.import_module(str(node.module))
                assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)

    def test_the_files_it_mentions_exist(self, path: Path) -> None:
        for cell in read_cells(path, "markdown"):
            for mentioned_path in re.findall(r"`((?:docs|notebooks)/[\w./]+)`", join_source(cell)):
                assert (ROOT / mentioned_path).exists(), mentioned_path
