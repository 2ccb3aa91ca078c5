"""A method of the user's own: a compiled graph is given in place of a method's name."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import StateGraph
from method_fixtures import make_runtime

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Question, Result, State
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.run.columns import list_columns, make_column, parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores
from quorum.extend import begin, concat_answer, passage_answer, retrieve, vote
from quorum.graphs import answer, answer_sync
from quorum.models.scripted import ScriptedModel

PASSAGES = [{"id": "p", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}]
QUESTION = "Who built the lighthouse of Vell?"


async def shout(state: State) -> State:
    """answer -> answer, in capitals."""
    return {"answer": state["answer"].upper()}


async def whisper(state: State) -> State:
    """answer -> answer, in small letters."""
    return {"answer": state["answer"].lower()}


def make_own_graph(name: str | None = "loud", last_node: Any = shout) -> Any:
    """A graph of the user's own: one prompt over all passages, then a node that changes the answer."""
    return (
        StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
        .add_node(begin)
        .add_node(retrieve)
        .add_node(concat_answer)
        .add_node("last_node", last_node)
        .add_edge("__start__", "begin")
        .add_edge("begin", "retrieve")
        .add_edge("retrieve", "concat_answer")
        .add_edge("concat_answer", "last_node")
        .add_edge("last_node", "__end__")
        .compile(name=name)
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"id": "1", "question": QUESTION, "answers": ["Ada Korn"], "passages": PASSAGES}) + "\n")
    return path


async def run_evaluation(data: Path, *methods: Any) -> Scores:
    return await evaluate(
        Options(data=data, out=data.parent / "out"), [make_column(method, {}, Context()) for method in methods]
    )


async def test_a_users_graph_answers_like_a_method() -> None:
    result = await answer(QUESTION, make_own_graph(), given=PASSAGES)
    assert (result["answer"], result["usage"]["answer"]["calls"]) == ("ADA KORN", 1)


async def test_a_users_graph_shortens_wordy_answers_and_finds_their_evidence() -> None:
    wordy = "According to everything that these passages tell us, the lighthouse was built by one Ada Korn."
    model = ScriptedModel().on("answer", wordy).on("shorten", "Ada Korn")
    result = await answer(QUESTION, make_own_graph(), Context(model=model, shorten="model"), given=PASSAGES)
    assert (result["answer"], result["answer_text"]) == ("ADA KORN", wordy)
    assert result["evidence"] == [{"passage": "p", "start": 44, "end": 52}]
    assert {name: usage["calls"] for name, usage in result["usage"].items()} == {"answer": 1, "shorten": 1}


async def test_a_users_vote_has_its_evidence() -> None:
    model = ScriptedModel().on("answer", "Ada Korn")
    state: Any = {"question": QUESTION, "rank": 0, "passages": PASSAGES}
    runtime = make_runtime(model)
    votes = (await passage_answer(state, runtime))["votes"]
    update = await vote({**state, "votes": votes}, runtime)
    assert (update["answer"], [item["passage"] for item in update["evidence"]]) == ("Ada Korn", ["p"])


def test_a_users_graph_answers_in_synchronous_code() -> None:
    assert answer_sync(QUESTION, make_own_graph(last_node=whisper), given=PASSAGES)["answer"] == "ada korn"


async def test_a_users_graph_is_evaluated_beside_the_methods(data: Path) -> None:
    scores = await run_evaluation(data, "concat", make_own_graph())
    assert {name: row["em"] for name, row in scores.summary.items()} == {"concat": 1, "loud": 1}
    assert scores.comparisons[0]["methods"]["loud"]["em"]["difference"] == 0
    assert (await run_evaluation(data, "concat", make_own_graph())).new_answers == 0


async def test_a_changed_graph_of_the_same_name_is_another_configuration(data: Path) -> None:
    await run_evaluation(data, make_own_graph())
    with pytest.raises(SetupError, match=r"methods\.loud\.graph"):
        await run_evaluation(data, make_own_graph(last_node=whisper))


def test_the_settings_of_a_users_graph_are_part_of_its_name() -> None:
    column = make_column(make_own_graph(), {"k": "3"}, Context())
    assert (column.name, column.method, column.context.k) == ("loud[k=3]", "loud", 3)


@pytest.mark.parametrize("name", [None, "concat"])
def test_a_users_graph_needs_a_name_of_its_own(name: str | None) -> None:
    with pytest.raises(SetupError, match="give it another name"):
        make_column(make_own_graph(name), {}, Context())


async def test_two_graphs_of_one_name_and_the_same_settings_are_refused(data: Path) -> None:
    with pytest.raises(SetupError, match="loud is named twice"):
        await run_evaluation(data, make_own_graph(), make_own_graph(last_node=whisper))


@pytest.mark.parametrize("methods", ["concat", "loud=python:json:dumps"])
def test_the_options_refuse_a_graph_with_the_name_of_another_graph_or_of_a_system(methods: str) -> None:
    """In the first case two graphs are named loud; in the second case a graph and a system are."""
    graphs = [make_own_graph()] if methods.startswith("loud") else [make_own_graph(), make_own_graph(last_node=whisper)]
    with pytest.raises(SetupError, match="loud is named twice"):
        list_columns(Options(data=Path(), methods=methods, graphs=graphs))


def test_a_comparison_runs_a_users_graph_with_every_k() -> None:
    columns = list_columns(Options(data=Path(), methods="concat", graphs=[make_own_graph()], k=["1", "2"]))
    assert [column.name for column in columns] == ["concat[k=1]", "concat[k=2]", "loud[k=1]", "loud[k=2]"]
    assert [column.own_graph is None for column in columns] == [True, True, False, False]
    assert parse_columns("concat[k=1]", Context())[0] == columns[0]  # as if k stood in the method's brackets


async def test_a_comparison_estimates_and_reports_a_users_graph(data: Path) -> None:
    corpus = data.parent / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES))
    options = Options(
        data=data, corpus=str(corpus), methods="concat", graphs=[make_own_graph()], out=data.parent / "out"
    )
    comparison_plan = await plan_comparison(options)
    assert comparison_plan.estimate is not None
    assert comparison_plan.estimate.methods["loud"].calls == 1
    decision = await compare(comparison_plan)
    assert [figures.name for figures in decision.figures] == ["concat", "loud"]
    assert "loud" in (comparison_plan.folder / "report.html").read_text(encoding="utf-8")
