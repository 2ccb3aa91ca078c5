"""What installed packages add is found by their entry points; a broken package causes one warning and nothing else."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugin_package import install_plugin

from quorum.core.plugins import add_plugins, forget_plugins, load_plugins

GROUP = "quorum.metrics"
BUILT_IN = {"taken_name": "built-in object"}


@pytest.fixture(autouse=True)
def forget_plugins_afterwards() -> Iterator[None]:
    yield
    forget_plugins()


def expect_text(name: str, value: object) -> str:
    """The argument `convert` of `add_plugins` in these tests: it accepts only texts."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def test_without_packages_a_group_is_empty() -> None:
    assert load_plugins("quorum.no_such_group") == {}


def test_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch, "plug-one", "thing = 'one'", {GROUP: {"first": "plug_one:thing"}})
    assert load_plugins(GROUP) == {"first": "one"}
    assert load_plugins("quorum.readers") == {}


def test_a_package_is_loaded_once_and_only_when_its_group_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os\nwith open(os.environ['PLUGIN_LOG'], 'a') as file:\n    file.write('loaded ')\nthing = 1"
    log = tmp_path / "log"
    monkeypatch.setenv("PLUGIN_LOG", str(log))
    install_plugin(tmp_path, monkeypatch, "plug-log", code, {GROUP: {"first": "plug_log:thing"}})
    load_plugins("quorum.readers")
    assert not log.exists()
    load_plugins(GROUP)
    load_plugins(GROUP)
    assert log.read_text() == "loaded "


@pytest.mark.parametrize(
    ("code", "target", "reason"),
    [
        ("raise RuntimeError('no luck')", "plug_bad:thing", "no luck"),
        ("import no_such_module_at_all", "plug_bad:thing", "no_such_module_at_all"),
        ("x = 1", "plug_bad:thing", "thing"),
        ("x = (", "plug_bad:x", "never closed"),
    ],
)
def test_a_broken_package_causes_one_warning_that_names_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: str,
    target: str,
    reason: str,
) -> None:
    install_plugin(tmp_path, monkeypatch, "plug-bad", code, {GROUP: {"first": target}})
    install_plugin(tmp_path, monkeypatch, "plug-good", "thing = 'one'", {GROUP: {"second": "plug_good:thing"}})
    with caplog.at_level(logging.WARNING, "quorum"):
        assert load_plugins(GROUP) == {"second": "one"}
        assert load_plugins(GROUP) == {"second": "one"}
    assert len(caplog.records) == 1
    assert "'plug-bad'" in caplog.text
    assert reason in caplog.text


def test_of_two_entry_points_with_one_name_that_of_the_alphabetically_first_package_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for package in ("plug-b", "plug-a"):
        module = package.replace("-", "_")
        code = f"thing = {package!r}"
        install_plugin(tmp_path, monkeypatch, package, code, {GROUP: {"first": f"{module}:thing"}})
    assert load_plugins(GROUP) == {"first": "plug-a"}
    assert len(caplog.records) == 1
    assert "'plug-b'" in caplog.text


def test_a_registry_lists_built_in_entries_before_installed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(tmp_path, monkeypatch, "plug-one", "thing = 'one'", {GROUP: {"first": "plug_one:thing"}})
    assert list(add_plugins(GROUP, BUILT_IN, expect_text).items()) == [*BUILT_IN.items(), ("first", "one")]


def test_a_plugin_with_a_taken_name_or_of_a_wrong_type_is_left_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entry_points = {GROUP: {"taken_name": "plug_one:thing", "number": "plug_one:number"}}
    install_plugin(tmp_path, monkeypatch, "plug-one", "thing = 'one'\nnumber = 1", entry_points)
    for _ in range(2):
        assert add_plugins(GROUP, BUILT_IN, expect_text) == BUILT_IN
    assert [("number is no text" in message, "of that name" in message) for message in caplog.messages] == [
        (True, False),
        (False, True),
    ]
    assert all("'plug-one'" in message for message in caplog.messages)


def test_a_warning_names_the_package_whose_object_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two packages use the same entry point name. plug-a fails to load, so plug-b's object is taken; as it is no text,
    the second warning is about plug-b.
    """
    install_plugin(tmp_path, monkeypatch, "plug-a", "raise RuntimeError('no luck')", {GROUP: {"number": "plug_a:one"}})
    install_plugin(tmp_path, monkeypatch, "plug-b", "one = 1", {GROUP: {"number": "plug_b:one"}})
    assert add_plugins(GROUP, {}, expect_text) == {}
    assert [("no luck" in message, "'plug-b'" in message) for message in caplog.messages] == [
        (True, False),
        (False, True),
    ]


def test_help_looks_for_no_packages() -> None:
    code = "from quorum.cli.main import main\n"
    code += "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
    code += "from quorum.core import plugins\nprint(len(plugins.LOADED_PLUGINS), len(plugins.CONVERTED_PLUGINS))"
    process = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout.splitlines()[-1] == "0 0"
