"""Every module, function or class of Quorum whose full name stands in a docstring, a comment or the documentation must
exist.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRY_POINT_GROUPS = {f"quorum.{group}" for group in ("methods", "retrievers", "metrics", "readers")}
# Names in instructions: the user puts the name of a method in place of NAME.
PLACEHOLDERS = {"quorum.graphs.NAME.graph"}
SPAN_ATTRIBUTES = {"quorum.client", "quorum.passages", "quorum.reused"}  # of OpenTelemetry
# A full name between single backticks, such as `quorum.stream`.
FULL_NAME = re.compile(r"(?<![`\w])`((?:quorum|benchmarks)\.[\w.]+\w)(?:\(\))?`")
FILE_ENDINGS = (".md", ".py", ".toml", ".json", ".jsonl", ".csv", ".txt", ".yaml", ".html")


def find_module(parts: list[str]) -> Path | None:
    """The file of the module or package whose full name has these parts; None if there is none."""
    folder = ROOT.joinpath(*parts)
    return next((path for path in (folder.with_suffix(".py"), folder / "__init__.py") if path.is_file()), None)


def list_defined_names(path: Path) -> set[str]:
    """The functions and classes that a module defines, the names that it assigns, and what it imports.

    String constants count as well, because a package may import names lazily, from a table of strings.
    """
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.add(node.value)
    return names


def is_defined(name: str) -> bool:
    """Whether a full name is that of a module, or of something that its module defines."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module = find_module(parts[:length])
        if module is not None:
            return length == len(parts) or parts[length] in list_defined_names(module)
    return False


def list_unknown_names(text: str) -> list[str]:
    """The full names in a text that are neither defined nor names of files."""
    names = sorted(set(FULL_NAME.findall(text)) - ENTRY_POINT_GROUPS - PLACEHOLDERS - SPAN_ATTRIBUTES)
    return [name for name in names if not name.endswith(FILE_ENDINGS) and not is_defined(name)]


def test_a_name_is_found_only_where_it_is_defined() -> None:
    names = [
        "quorum.models.call",
        "quorum.models.call.Reply",
        "quorum.stream",
        "quorum.models.call.NoSuchName",
        "quorum.models.call.len",  # the module uses `len` and does not define it
        "quorum.none",
    ]
    assert [is_defined(name) for name in names] == [True, True, True, False, False, False]


def test_the_name_of_a_file_ends_with_a_dot_and_its_type() -> None:
    # `quorum.json` is a file. `to_json` ends with "json", too, but without a dot before it, so it must be a name in the
    # code, and there is no such name.
    names = ["quorum.json", "quorum.models.call.to_json", "quorum.models.call.Reply"]
    assert list_unknown_names(" ".join(f"`{name}`" for name in names)) == ["quorum.models.call.to_json"]


def test_every_name_of_quorum_in_prose_exists() -> None:
    folders = ("quorum", "graphs", "nodes", "retrievers", "benchmarks", "tests", "docs")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".py", ".md")]
    unknown_names = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for name in list_unknown_names(path.read_text(encoding="utf-8"))
    ]
    assert unknown_names == []
