"""`--langsmith NAME` sends results as a dataset, experiments, runs and feedback; here, to a loopback server."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langsmith.utils import get_env_var
from langsmith_server import Workspace
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum

from quorum.evaluation.report.langsmith_rows import make_dated_id
from quorum.evaluation.report.langsmith_upload import upload_to_langsmith

API_KEY = "lsv2_0123456789abcdef"
LONG_TEXT = (
    "as the papers of Zanzibar have it, which were written down at length a good while after the tower was built."
)
USAGE = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
OPTIONS_WITHOUT_UPLOAD = ("--methods", "concat,post_fusion[k=2]", "--model", "openai:test")
OPTIONS = (*OPTIONS_WITHOUT_UPLOAD, "--langsmith", "towers")


@pytest.fixture
def workspace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, isolate: None) -> Iterator[Workspace]:
    """A LangSmith workspace that the environment variables name."""
    workspace = Workspace(**getattr(request, "param", {}))
    monkeypatch.setenv("LANGSMITH_ENDPOINT", workspace.url)
    monkeypatch.setenv("LANGSMITH_API_KEY", API_KEY)
    get_env_var.cache_clear()
    yield workspace
    workspace.close()
    get_env_var.cache_clear()


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Three questions with two passages each."""
    lines = [
        {
            "id": f"q{n}",
            "question": f"Who built tower {n}?",
            "answers": [f"Builder {n}"],
            "gold": [f"p{n}"],
            "passages": [
                {"id": f"p{n}", "title": f"Tower {n}", "text": f"Builder {n} built tower {n}, {LONG_TEXT}"},
                {"id": f"o{n}", "title": "Rome", "text": f"Rome has none, {LONG_TEXT}"},
            ],
        }
        for n in range(3)
    ]
    path = tmp_path / "towers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def reply_as_reader(request: Request) -> Response:
    """The builder of the tower in the question, if a passage of the request names him; else "unknown"."""
    number = request.text.rpartition("Who built tower ")[2][0]
    is_known = f"Builder {number} built" in request.text
    return Response(f"Builder {number}" if is_known else "unknown", usage=USAGE)


def list_answer_runs(workspace: Workspace, project: str | None = None) -> list[dict[str, Any]]:
    """LangSmith's runs for questions, answered or failed (not the child runs for model calls): of the experiment whose
    name is `project`, or of all experiments.
    """
    runs = [run for run in workspace.runs.values() if not run.get("parent_run_id")]
    return [run for run in runs if project is None or run["session_name"] == project]


def list_scores(workspace: Workspace, run: dict[str, Any]) -> dict[str, float]:
    """The feedback on a run: measure -> score."""
    feedback = [item for item in workspace.feedback.values() if item["run_id"] == run["id"]]
    return {item["key"]: item["score"] for item in feedback}


@pytest.mark.parametrize(
    "workspace", [{"multipart": True}, {"multipart": False}], indirect=True, ids=["new_server", "old_server"]
)
def test_an_evaluation_is_a_dataset_with_an_experiment_for_each_method(
    workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(reply_as_reader)
    outcome = quorum("eval", data, *OPTIONS, "--out", "out")
    assert outcome.code == 0, outcome.err
    assert "quorum: LangSmith's dataset towers has 2 experiments of these results (6 answers sent now)" in outcome.err
    (dataset,) = workspace.datasets.values()
    assert (dataset["name"], dataset["extra"]["metadata"]["file"]) == ("towers", "towers.jsonl")
    examples = {example["metadata"]["id"]: example for example in workspace.examples.values()}
    assert {id_: (example["inputs"], example["outputs"]) for id_, example in examples.items()} == {
        f"q{n}": ({"question": f"Who built tower {n}?"}, {"answers": [f"Builder {n}"]}) for n in range(3)
    }
    experiments = {session["extra"]["metadata"]["method"]: session for session in workspace.sessions.values()}
    assert set(experiments) == {"concat", "post_fusion"}
    experiment = experiments["post_fusion"]
    assert experiment["name"].startswith("towers: post_fusion[k=2] ")
    assert experiment["reference_dataset_id"] == dataset["id"]
    assert {"model": "openai:test", "k": 2}.items() <= experiment["extra"]["metadata"].items()
    run = next(
        run
        for run in list_answer_runs(workspace, experiment["name"])
        if run["inputs"]["question"] == "Who built tower 1?"
    )
    assert run["reference_example_id"] == examples["q1"]["id"]
    assert (run["outputs"]["answer"], run["outputs"]["unknown"]) == ("Builder 1", False)
    assert [passage["id"] for passage in run["outputs"]["passages"]] == ["p1", "o1"]
    row = next(item for item in read_rows() if (item["method"], item["id"]) == ("post_fusion[k=2]", "q1"))
    duration = datetime.fromisoformat(run["end_time"]) - datetime.fromisoformat(run["start_time"])
    assert duration.total_seconds() == pytest.approx(row["seconds"], abs=1e-5)
    (calls,) = [child for child in workspace.runs.values() if child.get("parent_run_id") == run["id"]]
    assert (calls["name"], calls["run_type"]) == ("2 calls", "llm")
    model_metadata = {"ls_provider": "openai", "ls_model_name": "test"}
    usage = {"input_tokens": 200, "output_tokens": 4, "total_tokens": 204}
    assert (model_metadata | {"usage_metadata": usage}).items() <= calls["extra"]["metadata"].items()
    sent_scores = list_scores(workspace, run)
    assert {"em": 1, "f1": 1, "unknown": 0, "recall": 1, "right_answer_among_votes": 1}.items() <= sent_scores.items()
    assert sent_scores == pytest.approx({name: row[name] for name in sent_scores}, abs=1e-4)
    assert API_KEY not in workspace.text


def read_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_repeated_upload_asks_and_sends_nothing(
    workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(reply_as_reader)
    assert quorum("eval", data, *OPTIONS, "--out", "out").code == 0
    request_count = len(openai_server.requests)
    workspace.requests.clear()
    second_run = quorum("eval", data, *OPTIONS, "--out", "out")
    assert second_run.code == 0, second_run.err
    assert "has 2 experiments of these results (all sent before)" in second_run.err
    assert len(openai_server.requests) == request_count
    assert {method for method, _ in workspace.requests} == {"GET"}
    # A copy of the results has the same ids, so that the server stores nothing twice.
    Path("elsewhere").mkdir()
    for name in ("config.json", "results.jsonl"):
        (Path("elsewhere") / name).write_bytes((Path("out") / name).read_bytes())
    assert quorum("eval", data, *OPTIONS, "--out", "elsewhere").code == 0
    assert (len(workspace.sessions), len(list_answer_runs(workspace)), len(workspace.examples)) == (2, 6, 3)


def test_the_progress_of_an_upload_counts_the_rows_that_langsmith_has(
    workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(reply_as_reader)
    assert quorum("eval", data, *OPTIONS, "--out", "out").code == 0
    rows = read_rows()
    # LangSmith has the 3 rows of post_fusion; the changed rows of concat are new to it.
    changed_rows = [row | {"seconds": 9.0} if row["method"] == "concat" else row for row in rows]
    Path("out/results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed_rows), encoding="utf-8")
    steps: list[tuple[str, int, int]] = []
    summary = upload_to_langsmith(Path("out"), "towers", lambda *step: steps.append(step))
    assert summary.answer_count == 3
    assert steps[-1] == ("upload", 6, 6)


def test_results_of_an_earlier_evaluation_are_uploaded_without_asking(
    workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(reply_as_reader)
    assert quorum("eval", data, *OPTIONS_WITHOUT_UPLOAD, "--out", "out").code == 0
    assert workspace.requests == []
    request_count = len(openai_server.requests)
    outcome = quorum("eval", data, *OPTIONS, "--out", "out")
    assert (outcome.code, "6 answers sent now" in outcome.err) == (0, True)
    assert (len(list_answer_runs(workspace)), len(workspace.examples)) == (6, 3)
    assert all({"em", "f1", "unknown"} <= list_scores(workspace, run).keys() for run in list_answer_runs(workspace))
    assert len(openai_server.requests) == request_count


# If "/datasets" is refused, the command stops before its run: see test_a_refused_account_is_found_before_any_call.
@pytest.mark.parametrize("refused_path", ["/runs/multipart", "/examples"])
def test_a_failed_upload_is_completed_by_the_same_command(
    refused_path: str, workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(reply_as_reader)
    assert quorum("eval", data, *OPTIONS_WITHOUT_UPLOAD, "--out", "out").code == 0
    request_count = len(openai_server.requests)
    workspace.refused_paths = {refused_path}
    failed_run = quorum("eval", data, *OPTIONS, "--out", "out")
    assert (failed_run.code, failed_run.err.splitlines()[-1].count("LangSmith did not accept them")) == (2, 1)
    assert "no room" in failed_run.err
    assert "concat " in failed_run.out  # the table of results is printed nevertheless
    assert len(read_rows()) == 6
    workspace.refused_paths = set()
    retried_run = quorum("eval", data, *OPTIONS, "--out", "out")
    assert (retried_run.code, "6 answers sent now" in retried_run.err) == (0, True)
    assert (len(list_answer_runs(workspace)), len(workspace.examples)) == (6, 3)
    assert all({"em", "f1", "unknown"} <= list_scores(workspace, run).keys() for run in list_answer_runs(workspace))
    assert len(openai_server.requests) == request_count


def test_a_failed_question_is_a_failed_run_and_the_command_still_ends_with_code_1(
    workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(
        lambda request: make_error(400, "no such luck") if "tower 2?" in request.text else reply_as_reader(request)
    )
    outcome = quorum("eval", data, *OPTIONS, "--out", "out", "--set", "attempts=1")
    assert outcome.code == 1
    failed_runs = [run for run in list_answer_runs(workspace) if run.get("error")]
    assert [("no such luck" in run["error"], run.get("outputs")) for run in failed_runs] == [(True, None)] * 2
    assert [list_scores(workspace, run) for run in failed_runs] == [{}, {}]
    openai_server.reply(reply_as_reader)
    assert quorum("eval", data, *OPTIONS, "--out", "out", "--set", "attempts=1").code == 0
    answered_runs = [run for run in list_answer_runs(workspace) if not run.get("error")]
    assert len(answered_runs) == 6
    assert {run["reference_example_id"] for run in failed_runs} < {run["reference_example_id"] for run in answered_runs}
    assert (len(workspace.sessions), len(workspace.examples)) == (2, 3)


def test_without_an_account_nothing_is_asked(
    data: str, openai_server: OpenAIServer, quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_env_var.cache_clear()
    outcome = quorum("eval", data, *OPTIONS)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "--langsmith towers needs an account: set LANGSMITH_API_KEY" in outcome.err
    assert openai_server.requests == []
    assert not Path("results").exists()


def test_a_refused_account_is_found_before_any_call(
    workspace: Workspace, data: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    workspace.refused_paths = {"/datasets"}
    outcome = quorum("eval", data, *OPTIONS)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "LangSmith cannot be used" in outcome.err
    assert API_KEY not in outcome.err
    assert openai_server.requests == []


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "given", "{data}", "--methods", "concat,sure"),
        ("experiment", "sure_parts", "{data}", "--methods", "concat,sure"),
    ],
    ids=lambda command: command[0],
)
def test_comparisons_and_experiments_are_uploaded_without_hidden_passages(
    command: tuple[str, ...], workspace: Workspace, data: str, quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "1")
    outcome = quorum(*(part.format(data=data) for part in command), "--langsmith", "towers", "--limit", "2")
    assert outcome.code == 0, outcome.err
    assert len(list_answer_runs(workspace)) == 4  # two questions, two methods
    assert LONG_TEXT[-60:] not in workspace.text
    assert {run["inputs"]["question"] for run in list_answer_runs(workspace)} == {
        "Who built tower 0?",
        "Who built tower 1?",
    }
    assert all(example["outputs"]["answers"][0].startswith("Builder") for example in workspace.examples.values())
    assert {session["extra"]["metadata"]["model"] for session in workspace.sessions.values()} == {"embedded"}


@given(st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)), st.lists(st.text(), min_size=1))
def test_ids_are_uuids_of_version_7_that_depend_only_on_time_and_parts(when: datetime, parts: list[str]) -> None:
    time = when.replace(tzinfo=UTC)
    result = make_dated_id(time, *parts)
    assert (result.version, result.variant) == (7, "specified in RFC 4122")
    assert result.int >> 80 == int(time.timestamp() * 1000)
    assert result == make_dated_id(time, *parts) != make_dated_id(time, *parts, "more")
