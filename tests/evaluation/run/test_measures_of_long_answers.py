"""The marks by which a long answer cites passages, and its Markdown's lines, change no measure."""

from pathlib import Path
from typing import Any

import pytest

import quorum
from quorum.core.citation_marks import strip_marks
from quorum.evaluation.metrics.answers import contains
from quorum.evaluation.metrics.registry import METRICS
from quorum.models.scripted import ScriptedModel

RECORDS = [
    {
        "id": "q1",
        "question": "When were the towers of Vell built?",
        "answers": ["The Lumen Tower was finished in 1931, and the Iron Mast was painted in 1950."],
        "passages": [{"id": "p1", "title": "Towers", "text": "The Lumen Tower was finished in 1931."}],
        "meta": {"answer_type": "long", "short_answers": [["1931"], ["1950"]]},
    },
    {
        "id": "q2",
        "question": "Why did the builders strike?",
        "answers": ["They struck in 1929 because two of them had fallen."],
        "passages": [{"id": "p2", "title": "Strikes", "text": "Builders of the tower struck in 1929."}],
        "meta": {"answer_type": "long", "short_answers": [["1929"]]},
    },
]
MARKED_REPLIES = [
    "The Lumen Tower was finished in 1931 [1].\n\n- The Iron Mast was painted in 1950 [1][1].\n- `towers[1]` [1, 2]",
    "Two of them had fallen [1-1], so they struck in 1929 (passage 1).",
]


def measure(replies: list[str], folder: Path, answer_type: str) -> list[dict[str, Any]]:
    model = ScriptedModel()
    model.on(f"answer_{answer_type}", *replies)
    records = [{**record, "meta": {**record["meta"], "answer_type": answer_type}} for record in RECORDS]  # type: ignore[dict-item]
    evaluation = quorum.evaluate(records, "concat", context=quorum.Context(model=model), out=folder, concurrency=1)
    return [dict(row) for row in evaluation.rows]


@pytest.mark.parametrize("answer_type", ["long", "dialogue"])
def test_marks_change_no_measure(tmp_path: Path, answer_type: str) -> None:
    marked_rows = measure(MARKED_REPLIES, tmp_path / "marked", answer_type)
    plain_rows = measure([strip_marks(reply) for reply in MARKED_REPLIES], tmp_path / "plain", answer_type)
    assert [row["answer_text"] for row in marked_rows] == MARKED_REPLIES
    for marked_row, plain_row in zip(marked_rows, plain_rows, strict=True):
        assert marked_row["answer"] == plain_row["answer"]
        assert {name: marked_row[name] for name in METRICS} == {name: plain_row[name] for name in METRICS}
    assert any(row["rouge_l"] for row in marked_rows) is (answer_type == "long")
    assert all(row["f1"] for row in marked_rows)
    assert [row["str_em"] for row in marked_rows] == [1.0, 1.0]


def test_a_graph_of_the_users_own_may_leave_its_marks_in_the_answer(tmp_path: Path) -> None:
    from langgraph.graph import StateGraph
    from langgraph.runtime import Runtime

    from quorum.core.context import Context
    from quorum.core.state import Question, Result, State
    from quorum.nodes.begin import begin

    async def reply(state: State, runtime: Runtime[Context]) -> State:
        return {"answer": "Two of them had fallen [1].", "unknown": False}

    builder: Any = StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    graph = (
        builder.add_node(begin)
        .add_node(reply)
        .add_edge("__start__", "begin")
        .add_edge("begin", "reply")
        .compile(name="own")
    )
    evaluation = quorum.evaluate(RECORDS[1:], graph, out=tmp_path / "own")
    assert evaluation.rows[0]["answer"] == "Two of them had fallen."


def test_marks_between_the_words_of_an_answer_do_not_hide_it() -> None:
    result: Any = {"answer": "Ada Korn", "answer_text": "Ada [1] Korn built it.", "unknown": False}
    assert contains(result, {"answers": ["Ada Korn"]}) == 1.0
