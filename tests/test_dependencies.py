"""The versions that pyproject.toml permits are those that the tests run with (docs/dependencies.md)."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDED = [Requirement(text) for text in PROJECT["dependencies"]]


def read_pins(file: str) -> dict[str, set[str]]:
    """The versions of a lock: several for a package that differs between versions of Python."""
    pins: dict[str, set[str]] = {}
    for line in (ROOT / file).read_text().splitlines():
        name, _, rest = line.partition("==")
        if rest:
            pins.setdefault(name, set()).add(rest.partition(";")[0].strip())
    return pins


def get_bound(requirement: Requirement, operator: str) -> str:
    return next(item.version for item in requirement.specifier if item.operator == operator)


@pytest.mark.parametrize("file", ["constraints.txt", "constraints-lowest.txt"])
def test_every_version_of_a_lock_is_permitted(file: str) -> None:
    pins = read_pins(file)
    for requirement in NEEDED:
        versions = pins[canonicalize_name(requirement.name)]
        assert all(version in requirement.specifier for version in versions), requirement


def test_the_oldest_permitted_versions_are_those_of_make_test_lowest() -> None:
    pins = read_pins("constraints-lowest.txt")
    wrong = {
        str(requirement): pinned
        for requirement in NEEDED
        if {get_bound(requirement, ">=")} != (pinned := pins[canonicalize_name(requirement.name)])
    }
    assert wrong == {}, "after a change of a lower bound: make lock-lowest"


def test_an_upper_bound_is_the_major_version_after_the_tested_one() -> None:
    tested = read_pins("constraints.txt")
    for requirement in NEEDED:
        if requirement.name != "packaging":  # its first number is the year
            newest = max(Version(version) for version in tested[canonicalize_name(requirement.name)])
            assert get_bound(requirement, "<") == str(newest.major + 1), requirement
