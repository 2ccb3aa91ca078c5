"""`import quorum` imports no heavy package, offers the names that docs/api.md lists, and says what to do in a checkout
without symbolic links.
"""

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import quorum

ROOT = Path(quorum.__file__).resolve().parent.parent
HEAVY_PACKAGES = {
    "pydantic",
    "numpy",
    "langgraph",
    "langchain",
    "langchain_core",
    "chromadb",
    "rich",
    "typer",
    "onnxruntime",
}
LINKED_FOLDERS = ("graphs", "nodes", "retrievers")


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


def test_the_api_page_lists_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed_names = re.findall(r"^### `(\w+)`$", page, re.MULTILINE)
    assert sorted(listed_names) == sorted(quorum.__all__)


def test_every_public_name_can_be_imported() -> None:
    assert [name for name in quorum.__all__ if not hasattr(quorum, name)] == []
    assert dir(quorum) == sorted(quorum.__all__)
    assert quorum.__version__ == metadata.version("quorum-rag")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'quorum' has no attribute 'anwser'"):
        quorum.anwser  # type: ignore[attr-defined]  # noqa: B018


def test_importing_quorum_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, quorum; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    imported_packages = set(run_python(code, tmp_path).stdout.split())
    assert "quorum" in imported_packages
    assert imported_packages & HEAVY_PACKAGES == set()


@pytest.mark.parametrize("name", ["METHODS", "SetupError", "is_unknown", "__version__"])
def test_light_names_import_no_heavy_package(name: str, tmp_path: Path) -> None:
    code = f"import sys, quorum; quorum.{name}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    assert set(run_python(code, tmp_path).stdout.split()) & HEAVY_PACKAGES == set()


def test_a_star_import_gives_every_public_name() -> None:
    names: dict[str, Any] = {}
    exec("from quorum import *", names)
    assert set(names) - {"__builtins__"} == set(quorum.__all__)
    assert (names["answer"].__name__, names["Context"](k=3).k, type(names["METHODS"])) == ("answer", 3, dict)


@pytest.mark.parametrize("name", LINKED_FOLDERS)
def test_a_folder_in_the_root_is_linked_into_the_package(name: str) -> None:
    link = ROOT / "quorum" / name
    assert link.is_symlink()
    assert link.readlink() == Path("..") / name
    assert (link / "__init__.py").is_file()


@pytest.mark.parametrize("folder_without_link", LINKED_FOLDERS)
def test_a_checkout_without_links_says_how_to_get_them(folder_without_link: str, tmp_path: Path) -> None:
    package = tmp_path / "quorum"
    package.mkdir()
    shutil.copy(ROOT / "quorum" / "__init__.py", package)
    shutil.copytree(ROOT / "quorum" / "core", package / "core")
    for name in LINKED_FOLDERS:
        (package / name).mkdir()
    assert run_python("import quorum", tmp_path).returncode == 0
    # Without symbolic links, git writes a text file that holds the link's target.
    (package / folder_without_link).rmdir()
    (package / folder_without_link).write_text(f"../{folder_without_link}", encoding="utf-8")
    process = run_python("import quorum", tmp_path)
    message = process.stderr.strip().splitlines()[-1]
    assert message.startswith(f"ImportError: quorum/{folder_without_link} is a text file")
    assert "git config core.symlinks true" in message
    assert "git checkout -- quorum" in message
