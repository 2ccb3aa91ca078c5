"""A user's own system is measured and compared beside the methods, and its evaluation can be continued."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.run.columns import list_columns, parse_columns
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.parse_systems import split_systems

PASSAGE = {"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}
QUESTIONS = [("Who built the lighthouse?", "Ada Korn"), ("When was the lighthouse built?", "1874")]


@pytest.fixture
def questions_path() -> Path:
    lines = [{"id": q, "question": q, "answers": [a], "passages": [PASSAGE]} for q, a in QUESTIONS]
    Path("questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Path("questions.jsonl")


def read_rows_of_mine(folder: str) -> dict[str, Any]:
    """The rows of the system "mine" in results.jsonl, by question."""
    rows = [json.loads(line) for line in (Path(folder) / "results.jsonl").read_text().splitlines()]
    return {row["question"]: row for row in rows if row["method"] == "mine"}


def test_a_system_on_a_server_is_compared_with_its_cost(
    quorum: Quorum, questions_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(lambda request: "Ada Korn" if "Who" in request.text else "I don't know.")
    Path("prices.json").write_text(json.dumps({"openai:their-model": {"input": 1, "output": 1}}))
    spec = f"concat,mine={openai_server.url}#their-model"
    run = quorum("compare", "given", questions_path, "--methods", spec, "--out", "out", "--prices", "prices.json")
    assert (run.code, "mine" in run.out) == (0, True)
    rows = read_rows_of_mine("out")
    assert [(rows[q]["em"], rows[q]["unknown"]) for q, _ in QUESTIONS] == [(1.0, False), (0.0, True)]
    assert rows[QUESTIONS[0][0]]["calls"] == 1
    assert len(openai_server.chats()) == 2  # the estimate does not ask the system


def test_a_question_that_failed_is_asked_again_alone(
    quorum: Quorum, questions_path: Path, openai_server: OpenAIServer
) -> None:
    server_state = {"is_failing": True}

    def reply(request: Request) -> Any:
        return make_error(418, "a teapot") if server_state["is_failing"] and "When" in request.text else "1874"

    openai_server.reply(reply)
    command = ("eval", questions_path, "--methods", f"mine={openai_server.url}#m", "--out", "out")
    assert quorum(*command).code == 1
    server_state["is_failing"] = False
    assert quorum(*command).code == 0
    assert len(openai_server.chats()) == 3  # two in the first run, one in the second
    assert read_rows_of_mine("out")[QUESTIONS[1][0]]["em"] == 1.0


def test_systems_take_part_in_a_race(quorum: Quorum, openai_server: OpenAIServer) -> None:
    """The worse methods are dropped before they have answered every question. A second run of the same command asks
    nothing.
    """
    question_count = 40
    lines = [
        {"id": f"q{n}", "question": f"Who found {n}?", "answers": [f"p{n}"], "passages": [PASSAGE]}
        for n in range(question_count)
    ]
    Path("questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("my_race_module.py").write_text("def answer(question):\n    return 'p' + question.split()[-1].strip('?')\n")
    openai_server.reply("someone else")
    systems = f"mine=python:my_race_module:answer,served={openai_server.url}#their-model"
    command = ("compare", "given", "questions.jsonl", "--methods", f"concat,{systems}", "--race", "questions")
    run = quorum(*command, "--out", "out")
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    asked_counts = {method: sum(row["method"] == method for row in rows) for method in ("concat", "mine", "served")}
    assert asked_counts["mine"] == question_count > max(asked_counts["served"], asked_counts["concat"])
    assert json.loads(Path("out/recommendation.json").read_text())["best"] == "mine"
    request_count = len(openai_server.chats())
    assert quorum(*command, "--out", "out").code == 0
    assert len(openai_server.chats()) == request_count


def test_a_folder_is_continued_only_with_the_same_system(
    quorum: Quorum, questions_path: Path, openai_server: OpenAIServer
) -> None:
    assert quorum("eval", questions_path, "--methods", f"mine={openai_server.url}#m", "--out", "out").code == 0
    run = quorum("eval", questions_path, "--methods", f"mine={openai_server.url}#other", "--out", "out")
    assert (run.code, "configuration" in run.err) == (2, True)


def test_names_and_settings_of_methods_are_distinguished_from_systems() -> None:
    methods, systems = split_systems("sure[k=3;seed=1],a=http://h/v1#m,concat, b=python:json:dumps")
    assert (methods, systems) == ("sure[k=3;seed=1],concat", {"a": "http://h/v1#m", "b": "python:json:dumps"})
    with pytest.raises(SetupError, match="'a' is named twice"):
        split_systems("a=http://h/v1#m,a=http://h/v1#n")


def test_models_and_k_are_not_applied_to_a_system(tmp_path: Path) -> None:
    methods = "concat,mine=http://h/v1#gpt-4o"
    options = Options(data=tmp_path, methods=methods, models=("openai:a", "openai:b"), k=("3", "5"), context=Context())
    assert [column.name for column in list_columns(options)] == [
        "concat[model=openai:a;k=3]",
        "concat[model=openai:a;k=5]",
        "concat[model=openai:b;k=3]",
        "concat[model=openai:b;k=5]",
        "mine",
    ]
    usage: Any = {"system": {"calls": 1, "input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 0}}
    mine = list_columns(options)[-1]
    assert mine.compute_cost(usage) == Prices().compute_cost(Context(model="openai:gpt-4o"), usage)
    unpriced_system = list_columns(Options(data=tmp_path, methods="mine=python:json:dumps", context=Context()))[0]
    assert unpriced_system.compute_cost(usage) is None


def test_a_system_may_not_have_the_name_of_a_method(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"'sure', .* name of a method; give it another name"):
        list_columns(Options(data=tmp_path, methods="sure=python:json:dumps", context=Context()))


def test_the_web_page_and_its_links_refuse_a_users_own_system() -> None:
    """The page reads the methods in its form and in its addresses with `parse_columns`, which refuses such systems."""
    for spec in ("mine=python:os:system", "mine=http://127.0.0.1:1/v1#m"):
        with pytest.raises(SetupError, match="cannot be read"):
            parse_columns(spec, Context())
