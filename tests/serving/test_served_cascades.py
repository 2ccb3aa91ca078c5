"""Clients can ask the cascades that the server's owner names. A cascade can ask a system of the owner's own, here a
Python function. Only the owner gives the system's spec ("python:MODULE:FUNCTION"): neither a client nor a cascade's
file can give it.
"""

import io
import json
from pathlib import Path
from typing import Any

import openai
import pytest
from api_server import Serve
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum import index
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices
from quorum.graphs.composed import composed_graph
from quorum.graphs.own_system import make_own_system_graph
from quorum.nodes.abstain import CALIBRATION_FILE_KIND
from quorum.nodes.describe_settings import SETTINGS_THAT_CHANGE_NO_ANSWER, describe_settings
from quorum.serving.serve import Options, make_service

QUESTION = "When was the Lumen Tower finished?"
PASSAGE = {"id": "1", "title": "Lumen Tower", "text": "The Lumen Tower was finished in 1931."}
MODULE_SOURCE = "def answer(question):\n    return 'unknown' if 'finished' in question else 'Ada Korn'\n"
OTHER_SYSTEM = "python:my_served_module:other"


@pytest.fixture
def system() -> str:
    """The spec of a system that cannot answer questions about when something was finished."""
    Path("my_served_module.py").write_text(MODULE_SOURCE + "\n\nother = answer\n")
    return "python:my_served_module:answer"


def write_cascade(system: str, name: str = "cascade.json") -> str:
    """Write a cascade's file: the system `mine` answers; if it says unknown, concat asks the model openai:test."""
    left_out_settings = SETTINGS_THAT_CHANGE_NO_ANSWER | {"retriever", "collection"}
    system_settings, model_settings = (
        describe_settings(Context(model=model), left_out_settings) for model in ("embedded", "openai:test")
    )
    spec_hash = make_own_system_graph("mine", system).spec_hash
    first_stage = {
        "name": "mine",
        "method": "mine",
        "accept": {"test": "known"},
        "settings": system_settings,
        "system": spec_hash,
    }
    last_stage = {"name": "concat", "method": "concat", "accept": None, "settings": model_settings}
    Path(name).write_text(
        json.dumps({"kind": "quorum composed", "stages": [first_stage, last_stage], "certificate": None})
    )
    return name


def test_a_cascade_is_a_model_that_asks_the_owners_system(
    system: str, serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    api = serve(model="embedded", cascade_files=(f"cheap={write_cascade(system)}",), own_systems={"mine": system})
    descriptions = {item["id"]: item["description"] for item in api.get("/v1/models?all=1").json()["data"]}
    assert "cheap" in [item["id"] for item in api.get("/v1/models").json()["data"]]
    assert descriptions["cheap@towers"] == descriptions["cheap"] == "A cascade: mine (accepted: known), else concat."
    system_result, model_result = (api.ask(question, model="cheap").quorum for question in ("Who built it?", QUESTION))
    assert (system_result["answer"], list(system_result["usage"])) == ("Ada Korn", ["system"])
    assert (model_result["answer"], set(model_result["usage"])) == ("1931", {"system", "answer"})
    chunks = list(api.ask(QUESTION, model="cheap", stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks).startswith("1931")
    assert 'quorum_questions_total{method="cheap",outcome="answered"} 3' in api.get("/metrics").text


def test_a_client_cannot_change_the_settings_with_which_a_cascade_was_measured(system: str, serve: Serve) -> None:
    api = serve(model="embedded", cascade_files=(f"cheap={write_cascade(system)}",), own_systems={"mine": system})
    with pytest.raises(openai.BadRequestError, match="The stage 'mine' of cheap was measured with k=5, but k is 7 now"):
        api.ask(model="cheap", extra_body={"quorum": {"k": 7}})


def test_a_client_cannot_ask_a_file_a_system_or_an_unserved_collection(system: str, serve: Serve) -> None:
    api = serve(model="embedded", cascade_files=(f"cheap={write_cascade(system)}",), own_systems={"mine": system})
    for name in ("cascade.json", "./cascade.json", "mine", f"mine={system}", "cheap@private"):
        with pytest.raises(openai.NotFoundError):
            api.ask(model=name)


@pytest.mark.parametrize(
    ("cascade_file", "systems", "message"),
    [
        ("cascade.json", {}, "cascade asks the system 'mine', but a file must not say where a system is"),
        ("cascade.json", {"mine": OTHER_SYSTEM}, "was measured with another system 'mine'"),
        ("concat=cascade.json", None, "needs a valid name that is not in use"),
        ("a@b=cascade.json", None, "needs a valid name that is not in use"),
        ("none.json", None, "cannot be read"),
        ("cascade", None, "names no .json file"),
    ],
)
def test_a_cascade_that_cannot_be_served_is_reported_at_the_start(
    cascade_file: str, systems: dict[str, str] | None, message: str, system: str
) -> None:
    write_cascade(system)
    options = Options(cascade_files=(cascade_file,), own_systems={"mine": system} if systems is None else systems)
    with pytest.raises(SetupError, match=message):
        make_service(Context(), options, Prices())


def test_other_settings_and_unknown_prices_are_reported_at_the_start(system: str) -> None:
    cascade_options: dict[str, Any] = {"cascade_files": (write_cascade(system),), "own_systems": {"mine": system}}
    with pytest.raises(SetupError, match="The stage 'mine' of cascade was measured with k=5, but k is 9 now"):
        make_service(Context(k=9), Options(**cascade_options), Prices())
    # prices are given for a Python function under the name openai:NAME; here its name is `mine`
    message = "'openai:mine', which the stage 'mine' of the cascade 'cascade' uses, has no price"
    with pytest.raises(SetupError, match=message):
        make_service(Context(), Options(**cascade_options, dollars_per_day=1), Prices())


def test_each_stage_has_the_price_of_its_own_model(system: str, openai_server: OpenAIServer) -> None:
    Path("prices.json").write_text(
        json.dumps({"openai:mine": {"input": 9, "output": 9}, "openai:test": {"input": 1e6, "output": 0}})
    )
    cascade_options: dict[str, Any] = {"cascade_files": (write_cascade(system),), "own_systems": {"mine": system}}
    prices = Prices(Path("prices.json"))
    cascade = make_service(Context(), Options(**cascade_options, dollars_per_day=1), prices).permissions.cascades[
        "cascade"
    ]
    usage: Any = {"calls": 1, "input_tokens": 2, "output_tokens": 0, "cached_tokens": 0}
    assert cascade.compute_cost(Context(), {"answer": usage}, prices) == pytest.approx(2)
    assert cascade.compute_cost(Context(), {"system": usage | {"input_tokens": 1_000_000}}, prices) == pytest.approx(9)


def test_quorum_ask_takes_the_file_and_the_system(system: str, quorum: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    Path("passages.jsonl").write_text(json.dumps(PASSAGE) + "\n")
    file = write_cascade(system)
    command = ("ask", QUESTION, "--method", file, "--passages", "passages.jsonl")
    run = quorum(*command, "--system", f"mine={system}", "--json", "--trace")
    assert run.code == 0, run.err
    assert json.loads(run.out)["answer"] == "1931"
    assert "Error in" not in run.err  # LangChain's log line for a callback that failed, here one of --trace
    run_without_system, run_with_other_system = quorum(*command), quorum(*command, "--system", f"mine={OTHER_SYSTEM}")
    assert (run_without_system.code, run_with_other_system.code) == (2, 2)
    assert "give the spec with which it was measured: --system mine=SPEC" in run_without_system.err
    assert "another system 'mine'" in run_with_other_system.err
    run_without_cascade = quorum("ask", QUESTION, "--system", f"mine={system}")
    assert (run_without_cascade.code, "is only for a composed method" in run_without_cascade.err) == (2, True)


def test_quorum_ask_applies_a_calibration_to_a_cascade_with_an_own_system(
    system: str, quorum: Quorum, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    Path("passages.jsonl").write_text(json.dumps(PASSAGE) + "\n")
    file = write_cascade(system)
    method = composed_graph(file, {"mine": system}).get_name()
    calibration = {"kind": CALIBRATION_FILE_KIND, "method": method, "lowest_confidence": 0.5, "settings": {}}
    Path("calibration.json").write_text(json.dumps(calibration))
    command = ("ask", QUESTION, "--method", file, "--system", f"mine={system}", "--passages", "passages.jsonl")
    run = quorum(*command, "--calibration", "calibration.json", "--json")
    assert run.code == 0, run.err
    assert json.loads(run.out)["withheld"]["answer"] == "1931"


def test_quorum_chat_takes_the_file_and_the_system(
    system: str, quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.reply("1931")
    Path("towers.txt").write_text(PASSAGE["text"])
    index("towers.txt", collection="chat", context=Context(store="store"))
    file = write_cascade(system)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n/method concat\n/method {file}\n/method\n"))
    collection = ("--store", "store", "--collection", "chat", "--retriever", "bm25", "--model", "openai:test")
    run = quorum("chat", "--method", file, "--system", f"mine={system}", *collection)
    assert run.code == 0, run.err
    answer, *_, method_after_change, method_now = run.out.splitlines()
    assert answer == "1931"
    assert method_now == method_after_change
    assert method_after_change == "cascade.json: A cascade: mine (accepted: known), else concat."
    run_without_system = quorum("chat", "--method", file, *collection)
    assert run_without_system.code == 2
    assert "give the spec with which it was measured: --system mine=SPEC" in run_without_system.err


def test_a_comparison_names_the_system_beside_the_cascade(
    system: str, quorum: Quorum, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    record = {"id": "1", "question": QUESTION, "answers": ["1931"], "passages": [PASSAGE]}
    Path("questions.jsonl").write_text(json.dumps(record) + "\n")
    run = quorum("eval", "questions.jsonl", "--methods", f"{write_cascade(system)},mine={system}", "--out", "results")
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in Path("results/results.jsonl").read_text().splitlines()]
    assert [(row["method"].partition("-")[0], row["em"]) for row in rows] == [("cascade", 1.0), ("mine", 0.0)]


def test_a_client_may_write_a_cascade_of_methods_that_it_may_ask(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: "1931" if "three words" in request.text else "unknown")
    api = serve(model="openai:test")
    for name in ("concat>base", "concat-then-base", "concat[k=1] then base@towers"):
        assert api.ask(QUESTION, model=name).quorum["answer"] == "1931"
    assert openai_server.requests[-2].text.count("\n[") == 1
    assert 'quorum_questions_total{method="cascade",outcome="answered"} 3' in api.get("/metrics").text
    assert api.get("/v1/models/concat%3Ebase").json()["id"] == "concat>base"
    shown = api.get("/v1/methods/concat-then-base").json()
    assert (shown["id"], shown["family"], shown["svg"]) == (
        *("concat>base", "Cascades", "/v1/methods/concat%3Ebase.svg"),
    )
    assert api.get(shown["svg"]).status_code == 200


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("base>concat", "offer no answer 'unknown'"),
        ("concat>nothing", "no method 'nothing'"),
        ("concat>sure[k=500]", "k=500 is too large"),
        ("concat[model=openai:dear]>base", "not allowed on this server"),
        ("concat[store=/etc]>base", "may not choose the setting 'store'"),
    ],
)
def test_a_cascade_that_a_client_may_not_ask_is_refused_in_one_sentence(serve: Serve, name: str, message: str) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        serve(model="embedded").ask(QUESTION, model=name)
