"""`quorum calibrate` promises that few answers are wrong: how the threshold is found, and which answers are withheld.

Together, the tests cover the whole way from a folder of results to answers that are withheld because their confidence
is too low.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from decision_results import write_results
from langgraph.checkpoint.memory import InMemorySaver
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum import AnswerText, Event, NodeFinished, stream
from quorum.api.stream import answer_and_report
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Question, Result, State
from quorum.evaluation.decisions.calibrate import calibrate_methods, make_calibration_content
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.graphs import answer, answer_sync
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.post_fusion import graph as post_fusion
from quorum.nodes.abstain import Calibration, check_calibration
from quorum.nodes.begin import begin
from quorum.nodes.describe_settings import describe_settings

GIVEN_PASSAGES = [
    {"id": "a", "title": "A", "text": "One says red."},
    {"id": "b", "title": "B", "text": "One says blue."},
]
CONTEXT = {"model": "openai:test", "k": 2, "journal": "off"}


@pytest.fixture
def results(tmp_path: Path, openai_server: OpenAIServer) -> Path:
    """A folder with three methods' answers to 240 questions. The numbers are each method's share of right answers."""
    return write_results(tmp_path / "out", {"concat": 0.5, "post_fusion": 0.6, "sure": 0.6})


def test_the_promise_covers_the_surest_answers_and_the_file_names_its_method(results: Path) -> None:
    recorded_results = read_results(results)
    calibrated_methods = calibrate_methods(recorded_results, 0.1, 0.05, "post_fusion")
    assert [item.method for item in calibrated_methods] == ["post_fusion"]
    threshold = calibrated_methods[0].threshold
    assert threshold is not None
    assert 0.5 < threshold.value <= 0.7  # no answer with a confidence of 0.7 or more is wrong
    assert threshold.questions == 240
    calibration_content = make_calibration_content(recorded_results, calibrated_methods[0], 0.1, 0.05)
    assert (
        calibration_content["method"],
        calibration_content["lowest_confidence"],
        calibration_content["confidence_level"],
    ) == (
        "post_fusion",
        threshold.value,
        0.95,
    )
    assert calibration_content["settings"]["k"] == 2
    assert "answer_type" not in calibration_content["settings"]


def test_several_methods_share_the_probability_of_error(results: Path) -> None:
    recorded_results = read_results(results)
    single_threshold = calibrate_methods(recorded_results, 0.1, 0.05, "sure")[0].threshold
    thresholds = {item.method: item.threshold for item in calibrate_methods(recorded_results, 0.1, 0.05)}
    assert set(thresholds) == {"post_fusion", "sure"}  # concat states no confidence
    shared_threshold = thresholds["sure"]
    assert single_threshold is not None
    assert shared_threshold is not None
    assert shared_threshold.p_value <= 0.025  # half of 0.05 for each of the two methods
    assert shared_threshold.answered <= single_threshold.answered


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--wrong-at-most", "0"], "--wrong-at-most '0' does not fit"),
        (["--wrong-at-most", "x%"], "--wrong-at-most 'x%' does not fit"),
        (["--wrong-at-most", "5%", "--confidence", "1"], "--confidence 1 does not fit"),
        (["--wrong-at-most", "1%"], "240 questions are too few for 1% wrong at most: that takes 368 answers for each"),
        (["--wrong-at-most", "1%"], "of 2 methods at once (299 for one method, by --method)"),
        (["--wrong-at-most", "1%", "--method", "sure"], "that takes 299 answers even if none is wrong"),
        (["--wrong-at-most", "5%", "--method", "nobody"], "has no method 'nobody'; it has: concat, post_fusion, sure."),
        (["--wrong-at-most", "5%", "--method", "concat"], "hold no confidence of concat"),
        (["--wrong-at-most", "5%", "--measure", "f1"], "needs a measure that says right or wrong, and f1 does not"),
        (["--wrong-at-most", "5%", "--measure", "charm"], "have no measure 'charm'"),
    ],
)
def test_impossible_promises_are_refused_in_one_sentence(
    quorum: Quorum, results: Path, arguments: list[str], message: str
) -> None:
    run = quorum("calibrate", str(results), *arguments)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert run.err.count("\n") == 1
    assert not (results / "calibration.json").exists()


def test_a_method_that_is_too_often_wrong_promises_nothing(quorum: Quorum, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "bad", {"sure": 0.05}, unknown_probability_if_not_right=0.0)
    run = quorum("calibrate", str(folder), "--wrong-at-most", "2%", "--confidence", "0.9")
    assert run.code == 2
    assert "sure cannot promise 2% wrong at most" in run.err


def test_a_method_with_only_unknown_answers_promises_nothing(quorum: Quorum, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "unknown", {"concat": 0.0}, unknown_probability_if_not_right=1.0)
    file = folder / "results.jsonl"
    # A confidence of 1, as if several samples had all said "unknown".
    rows = [json.loads(line) | {"confidence": 1.0} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = quorum("calibrate", str(folder), "--wrong-at-most", "5%")
    assert (run.code, run.err.count("\n")) == (2, 1)
    reason = "all its answers are unknown, failed or without a confidence"
    assert f"concat cannot promise 5% wrong at most: {reason}" in run.err


def test_an_answer_below_the_threshold_is_withheld_and_shown_in_json(
    quorum: Quorum, results: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    run = quorum("calibrate", str(results), "--wrong-at-most", "10%", "--method", "post_fusion")
    assert run.code == 0
    assert "at most 10% of the answers are wrong" in " ".join(run.out.split())
    openai_server.reply(lambda request: "red" if "says red" in request.text else "blue")
    passages = tmp_path / "passages.jsonl"
    passages.write_text("".join(json.dumps(item) + "\n" for item in GIVEN_PASSAGES), encoding="utf-8")
    calibration_file = str(results / "calibration.json")
    command = ["ask", "Which colour?", "--passages", str(passages), "--model", "openai:test", "--set", "journal=off"]
    ask_command = [*command, "--k", "2", "--method", "post_fusion", "--calibration", calibration_file]
    run = quorum(*ask_command, "--json")
    content = json.loads(run.out)
    assert (run.code, content["answer"], content["unknown"], content["evidence"]) == (0, "unknown", True, [])
    assert content["withheld"]["answer"] == "red"
    assert content["withheld"]["confidence"] == 0.5
    assert "the answer 'red' was withheld: confidence 0.50" in run.err
    openai_server.reply("red")
    assert json.loads(quorum(*ask_command, "--json").out)["answer"] == "red"
    other_method = quorum(*command, "--k", "2", "--method", "concat", "--calibration", calibration_file)
    assert (other_method.code, other_method.err.count("\n")) == (2, 1)
    assert "was made for post_fusion, not for concat" in other_method.err
    other_k = quorum(*command, "--k", "3", "--method", "post_fusion", "--calibration", calibration_file)
    assert "was made with k=2, but k is 3 now" in other_k.err
    refused_run = quorum(*ask_command, "--abstain-below", "0.5")
    assert refused_run.code == 2
    assert "Both --abstain-below and a calibration" in refused_run.err


SCORER = "completions:test"


@pytest.mark.parametrize(
    ("calibrated_settings", "current_settings", "message"),
    [
        ({}, {"scorer": SCORER}, "with scorer=None, but scorer is completions:test now"),
        ({"scorer": SCORER}, {}, "with scorer=completions:test, but scorer is None now"),
        ({}, {"silver_measure": "lexical"}, "with silver_measure=None, but silver_measure is lexical now"),
        (
            {"silver_measure": "lexical"},
            {"silver_measure": "strinc"},
            "with silver_measure=lexical, but silver_measure is strinc now",
        ),
    ],
)
def test_a_silver_filter_with_another_measure_or_scorer_is_refused(
    calibrated_settings: dict[str, str], current_settings: dict[str, str], message: str
) -> None:
    def make_calibration(**settings: str) -> Calibration:
        return Calibration("c.json", "concat", 0.5, describe_settings(Context(**CONTEXT, **settings), ()))

    silver = {"filter_mode": "silver"}
    calibration = make_calibration(**silver, **calibrated_settings)
    with pytest.raises(SetupError, match=message):
        check_calibration(calibration, "concat", Context(**CONTEXT, **silver, **current_settings))
    check_calibration(calibration, "concat", Context(**CONTEXT, **silver, **calibrated_settings))
    if not calibrated_settings:  # without a silver filter, the measure and the scorer change no answer
        check_calibration(make_calibration(), "concat", Context(**CONTEXT, **current_settings))


def test_the_refusal_of_another_server_names_both_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(**CONTEXT)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one.test/v1")
    calibration = Calibration("c.json", "concat", 0.5, describe_settings(context, ()))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://two.test/v1")
    message = r"model=openai:test at http://one\.test/v1, but model is openai:test at http://two\.test/v1 now"
    with pytest.raises(SetupError, match=message):
        check_calibration(calibration, "concat", context)


async def test_every_way_to_ask_a_graph_keeps_the_promise(results: Path, openai_server: OpenAIServer) -> None:
    recorded_results = read_results(results)
    file = results / "calibration.json"
    calibrated_method = calibrate_methods(recorded_results, 0.1, 0.05, "post_fusion")[0]
    calibration_content = make_calibration_content(recorded_results, calibrated_method, 0.1, 0.05)
    file.write_text(json.dumps(calibration_content), encoding="utf-8")
    openai_server.reply(lambda request: "red" if "says red" in request.text else "blue")
    context = Context(**CONTEXT, calibration=str(file))
    question = {"question": "Which colour?", "given": GIVEN_PASSAGES}
    assert (await answer("Which colour?", "post_fusion", context, given=GIVEN_PASSAGES))["answer"] == "unknown"
    assert answer_sync("Which colour?", "post_fusion", context, given=GIVEN_PASSAGES)["withheld"]["answer"] == "red"
    assert post_fusion.invoke(question, context=context)["unknown"]
    assert (await post_fusion.abatch([question], context=context))[0]["unknown"]
    assert post_fusion.invoke(question, context=CONTEXT | {"calibration": str(file)})["unknown"]
    uncalibrated_result = await post_fusion.ainvoke(question, context=Context(**CONTEXT))
    assert (uncalibrated_result["answer"], uncalibrated_result["withheld"]) == ("red", None)
    *_, last_values = [item async for item in post_fusion.astream(question, context=context, stream_mode="values")]
    assert (last_values["answer"], last_values["withheld"]["answer"]) == ("unknown", "red")
    with_checkpoints = post_fusion.builder.compile(name="post_fusion", checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    assert (await with_checkpoints.ainvoke(question, thread, context=context, output_keys=["answer"])) == {
        "answer": "unknown"
    }
    assert with_checkpoints.get_state(thread).values["answer"] == "unknown"
    events = [event async for event in stream("Which colour?", "post_fusion", context, given=GIVEN_PASSAGES)]
    assert [event for event in events if isinstance(event, AnswerText)] == [AnswerText("unknown")]
    shown: list[Event] = []  # what a server's run shows: nodes, and nothing that they say
    await answer_and_report("Which colour?", "post_fusion", context, shown.append, given=GIVEN_PASSAGES)
    assert {event.type for event in shown} == {
        *("run_started", "node_started", "node_finished", "answer_text", "run_finished")
    }
    assert [event for event in shown if isinstance(event, AnswerText)] == [AnswerText("unknown")]
    assert not any(event.update for event in shown if isinstance(event, NodeFinished))


def test_the_environment_names_a_calibration_too(
    results: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_CALIBRATION", str(results / "none.json"))
    question = {"question": "Which colour?", "given": GIVEN_PASSAGES}
    for context in (None, CONTEXT, Context(**CONTEXT)):
        with pytest.raises(SetupError, match=r"calibration .*none.json cannot be read"):
            post_fusion.invoke(question, context=context)
    with pytest.raises(SetupError, match=r"calibration .*none.json cannot be read"):
        list(post_fusion.stream(question, context=CONTEXT))
    for empty_calibration in (None, ""):
        for context in (
            CONTEXT | {"calibration": empty_calibration},
            Context(**CONTEXT, calibration=empty_calibration),
        ):
            assert post_fusion.invoke(question, context=context)["withheld"] is None
            assert list(post_fusion.stream(question, context=context))


def test_a_file_without_a_calibration_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text('{"kind": "else"}', encoding="utf-8")
    with pytest.raises(SetupError, match="holds no calibration"):
        post_fusion.invoke(
            {"question": "?", "given": GIVEN_PASSAGES}, context=Context(**CONTEXT, calibration=str(file))
        )


def test_a_graph_without_the_node_that_applies_a_calibration_refuses_it(tmp_path: Path) -> None:
    graph = MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context).add_node(begin)
    own_graph = graph.add_edge("__start__", "begin").add_edge("begin", "__end__").compile(name="own")
    with pytest.raises(SetupError, match=r"own cannot apply the calibration c\.json, because it has no node abstain"):
        own_graph.invoke({"question": "?"}, context=Context(**CONTEXT, calibration="c.json"))
