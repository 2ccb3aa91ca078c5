"""Docstrings, comments and pages that name a module, function or class of Quorum name one that exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRY_POINT_GROUPS = {f"quorum.{group}" for group in ("methods", "retrievers", "metrics", "readers")}
PLACEHOLDERS = {"quorum.graphs.NAME.graph"}
NAMES = re.compile(r"(?<![`\w])`((?:quorum|benchmarks)\.[\w.]+\w)(?:\(\))?`")
FILE_ENDINGS = ("md", "py", "toml", "json", "jsonl", "csv", "txt", "yaml", "html")


def find_module(parts: list[str]) -> Path | None:
    """The file of the module or package with these names."""
    folder = ROOT.joinpath(*parts)
    return next((path for path in (folder.with_suffix(".py"), folder / "__init__.py") if path.is_file()), None)


def list_defined_names(path: Path) -> set[str]:
    """What a module defines or imports. Texts count as well: a package may import names lazily, from a table."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.add(node.value)
    return names


def exists(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = find_module(parts[:length])
        if module is not None:
            return length == len(parts) or parts[length] in list_defined_names(module)
    return False


def test_a_name_is_found_only_where_it_is_defined() -> None:
    names = [
        "quorum.models.call",
        "quorum.models.call.Reply",
        "quorum.stream",
        "quorum.models.call.NoSuchName",
        "quorum.none",
    ]
    assert [exists(name) for name in names] == [True, True, True, False, False]


def test_every_name_of_quorum_in_prose_exists() -> None:
    folders = ("quorum", "graphs", "nodes", "retrievers", "benchmarks", "tests", "docs")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".py", ".md")]
    unknown_names = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for name in sorted(set(NAMES.findall(path.read_text(encoding="utf-8"))))
        if name not in ENTRY_POINT_GROUPS | PLACEHOLDERS and not name.endswith(FILE_ENDINGS) and not exists(name)
    ]
    assert unknown_names == []
