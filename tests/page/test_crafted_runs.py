"""A saved run may come from a stranger, with any content. It is read, or refused in one sentence, and the list of past
runs still opens.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorum.cli import saved_trace
from quorum.core.errors import SetupError
from quorum.evaluation.shown.trace import FORMAT_NAME
from quorum.ui import past_runs
from quorum.ui.cards import choose_headline, list_facts
from quorum.ui.run import Answer, count_calls_and_tokens, list_node_states, list_visited_nodes

RUN_ID = "20260101-120000-abcdef"
RESULT = {
    "answer": "1889",
    "unknown": False,
    "confidence": 0.5,
    "certified": 1,
    "rationale": None,
    "evidence": [{"passage": "a", "start": 0, "end": 4}],
    "voters_without_evidence": ["b"],
    "votes": [{"rank": 0, "passage": "a", "answer": "1889", "unknown": False}],
    "passages": [{"id": "a", "title": "", "text": "1889 it was.", "score": 0.5}],
    "usage": {"answer": {"calls": 1, "input_tokens": 9, "output_tokens": 1, "cached_tokens": 0}},
    "malformed": {},
    "dropped": 0,  # passages that were left out of prompts
}
STEPS = [{"kind": "graph", "name": "concat", "seconds": 0.5, "steps": [{"kind": "node", "name": "vote", "seconds": 1}]}]
# graph_count: how many of STEPS belong to the answer
ANSWER = {"name": "concat", "method": "concat", "phase": "done", "error": None, "seconds": 1.5, "graph_count": 1}
RUN: dict[str, Any] = {
    "format": FORMAT_NAME,
    "question": "When?",
    "method": "concat",
    "page": {"asked_at": 1.0, "methods": "concat", "settings": {"k": "5"}, "answers": [{**ANSWER, "result": RESULT}]},
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


def check_run(text: str, folder: Path) -> None:
    """Open a run as the page and `quorum trace` do: it is shown, or refused in one sentence."""
    file = folder / f"{RUN_ID}.json"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    past_runs.read_past_run.cache_clear()
    past_runs.list_past_runs(folder)
    assert "\n" not in read_refusal(lambda: saved_trace.read_trace(file))
    refusal = read_refusal(lambda: past_runs.load_run(RUN_ID, folder))
    assert str(folder) not in refusal
    assert refusal.startswith(f"The run {RUN_ID} cannot be read") or not refusal
    for answer in [] if refusal else past_runs.load_run(RUN_ID, folder).answers:
        compute_view(answer)


def read_refusal(read: Callable[[], object]) -> str:
    """The message about a file that cannot be read; empty if it can be read."""
    try:
        read()
    except SetupError as error:
        return str(error)
    return ""


def compute_view(answer: Answer) -> None:
    """Compute what a card shows of an answer."""
    assert all(isinstance(word, str) for word in [*choose_headline(answer), *list_facts(answer)])
    list_node_states(answer)
    list_visited_nodes(answer)
    count_calls_and_tokens(answer)


NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -1, 2**63, 1e308])
CONTENTS = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text() | st.just("\ud800") | st.sampled_from(["running", "done", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(list_paths(RUN)), content=CONTENTS | st.just(...))
def test_a_page_opens_with_any_value_in_one_field(path: tuple[Any, ...], content: Any, tmp_path: Path) -> None:
    if path or content is not ...:
        check_run(json.dumps(change_run(path, content)), tmp_path)


def test_a_complete_saved_run_is_read(tmp_path: Path) -> None:
    (tmp_path / f"{RUN_ID}.json").write_text(json.dumps(RUN), encoding="utf-8")
    run = past_runs.load_run(RUN_ID, tmp_path)
    assert (run.answers[0].result or {})["answer"] == "1889"
    assert [line.question for line in past_runs.list_past_runs(tmp_path)] == ["When?"]
    assert saved_trace.read_trace(tmp_path / f"{RUN_ID}.json").steps[0].steps[0].name == "vote"


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
        json.dumps(change_run(("page", "answers", 0, "phase"), "unknown")),
        json.dumps(change_run(("page", "answers", 0, "graph_count"), 10**9)),
        json.dumps(change_run(("page", "asked_at"), 1e300)),
        json.dumps(change_run(("page", "answers", 0, "result"), {})),
        json.dumps(change_run(("page", "answers", 0, "result", "usage", "answer"), {"calls": "many"})),
        json.dumps(change_run(("page",), [])),
        '{"format": "quorum trace 1", "steps": [{"kind": "node", "name": "n", "seconds": 1' + "0" * 5000 + "}]}",
        "",
        "\x00",
        "[1, 2",
    ],
)
def test_impossible_saved_runs_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / f"{RUN_ID}.json").write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match=f"The run {RUN_ID} cannot be read"):
        past_runs.load_run(RUN_ID, tmp_path)
    check_run(text, tmp_path)


def test_a_card_marks_the_answer_in_the_supporting_sentence() -> None:
    from quorum.core.state import Passage
    from quorum.evaluation.shown.shown_support import Support
    from quorum.evaluation.shown.support import ShownResult
    from quorum.ui.cards import describe_support

    passage = Passage(id="p", title="Handbook", text="Hours\nThe office opens at 7:30. Ring twice.")
    support = Support(
        state="stated",
        passage="p",
        start=6,
        end=31,
        sentence="The office opens at 7:30.",
        span=[26, 30],
        score=None,
        certainty=0.3,
        is_certain=False,
        closest=None,
    )
    result = ShownResult(answer="7:30", unknown=False, passages=[passage], support=support)
    assert describe_support(result) == (
        "The closest sentence:",
        [("The office opens at ", False), ("7:30", True), (".", False)],
        "Handbook",
    )
    assert describe_support({**result, "support": None}) is None
    assert describe_support(None) is None
