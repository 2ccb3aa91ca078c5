"""Installs a plugin for a test as an installer would: a module and its metadata in a folder on the path."""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from quorum.core.plugins import forget_plugins

EXAMPLE_PACKAGE = Path(__file__).parents[1] / "examples" / "plugin"


def install_plugin(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, entry_points: Mapping[str, Mapping[str, str]]
) -> None:
    """Write package `name` into `folder`, and put the folder on the path until the test ends.

    code: the text of the package's only module, whose name is the package's name with underscores; entry_points: for
    each group, such as "quorum.methods", a mapping from the entry point's name to "module:object".
    """
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    dist_info = folder / f"{module}-1.0.dist-info"
    dist_info.mkdir()
    (dist_info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    sections = (
        f"[{group}]\n" + "".join(f"{point_name} = {target}\n" for point_name, target in points.items())
        for group, points in entry_points.items()
    )
    (dist_info / "entry_points.txt").write_text("\n".join(sections), encoding="utf-8")
    if str(folder) not in sys.path:
        monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, module, raising=False)
    forget_plugins()


@pytest.fixture
def example_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the package of examples/plugin into a folder on the path until the test ends, without a network."""
    project = tomllib.loads((EXAMPLE_PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (site := tmp_path / "site").mkdir()
    code = (EXAMPLE_PACKAGE / "quorum_example.py").read_text(encoding="utf-8")
    install_plugin(site, monkeypatch, project["name"], code, project["entry-points"])
    yield
    forget_plugins()
