"""A saved run may come from a stranger, with any content. `quorum trace` reads it, or refuses it in one sentence."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorum.cli import saved_trace
from quorum.core.errors import SetupError
from quorum.evaluation.shown.trace import FORMAT_NAME

STEPS = [{"kind": "graph", "name": "concat", "seconds": 0.5, "steps": [{"kind": "node", "name": "vote", "seconds": 1}]}]
RUN: dict[str, Any] = {
    "format": FORMAT_NAME,
    "question": "When?",
    "method": "concat",
    "steps": STEPS,
}


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every part of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner_path for key, item in items for inner_path in list_paths(item, (*path, key)))]


def change_run(path: tuple[Any, ...], content: Any) -> Any:
    """A copy of RUN with `content` at `path`; for the empty path, `content` itself.

    If `content` is `...`, the part at the path is removed.
    """
    if not path:
        return content
    changed_run = deepcopy(RUN)
    parent: Any = changed_run
    for key in path[:-1]:
        parent = parent[key]
    if content is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = content
    return changed_run


def read_refusal(text: str, folder: Path) -> str:
    """The message of `quorum trace` about a file with this text; empty if it is read."""
    file = folder / "run.json"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        saved_trace.read_trace(file)
    except SetupError as error:
        return str(error)
    return ""


NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -1, 2**63, 1e308])
CONTENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text() | st.just("\ud800") | st.sampled_from(["running", "done", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(list_paths(RUN)), content=CONTENTS | st.just(...))
def test_any_value_in_one_field_is_read_or_refused_in_a_sentence(
    path: tuple[Any, ...], content: Any, tmp_path: Path
) -> None:
    if path or content is not ...:
        assert "\n" not in read_refusal(json.dumps(change_run(path, content)), tmp_path)


def test_a_whole_saved_run_is_read(tmp_path: Path) -> None:
    assert read_refusal(json.dumps(RUN), tmp_path) == ""
    assert saved_trace.read_trace(tmp_path / "run.json").steps[0].steps[0].name == "vote"


def write_nested_run(depth: int) -> str:
    """The text of a saved run whose "steps" is a list inside a list, and so on, `depth` levels deep."""
    return '{"format": "quorum trace 1", "steps": ' + "[" * depth + "]" * depth + "}"


# A step inside a step, and so on, deeper than saved runs may be nested (DEEPEST_NESTING in saved_run.py).
DEEP_STEP = STEPS[0]
for _ in range(200):
    DEEP_STEP = {"kind": "node", "name": "n", "steps": [DEEP_STEP]}


@pytest.mark.parametrize(
    "text",
    [
        write_nested_run(100_000),  # deeper than the JSON parser can read
        write_nested_run(200),
        json.dumps({**RUN, "steps": [DEEP_STEP]}),
        '{"format": "quorum trace 1", "steps": [{"kind": "node", "name": "n", "seconds": 1' + "0" * 5000 + "}]}",
        "",
        "\x00",
        "[1, 2",
    ],
)
def test_impossible_saved_runs_are_refused(text: str, tmp_path: Path) -> None:
    refusal = read_refusal(text, tmp_path)
    assert "holds no trace" in refusal
    assert "\n" not in refusal
