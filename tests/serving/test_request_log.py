"""The request log: one line a request with its real outcome, and no word of a question or a document."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from api_server import Api, Serve
from log_pipe import LogPipe
from named_clients import TeamFile
from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from run_client import ask_run, read_run

from quorum.core.errors import SetupError
from quorum.serving.access_control import LARGEST_BODY
from quorum.serving.log.log_file import LogFile

OWNER, OTHER = "the-first-key-of-this-server", "the-second-key-of-this-server"
QUESTION = "When was the Lumen Tower finished?"


@pytest.fixture
def api(log: LogPipe, serve: Serve, tmp_path: Path) -> Api:
    """A server with two keys, prices and a limit of two questions a minute, whose log is the pipe."""
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 10\noutput = 2\n')
    return serve(
        log_file=str(log.path), access_tokens=(OWNER, OTHER), prices=prices, questions_per_minute=2, journal="off"
    )


def test_a_line_says_who_asked_what_it_took_and_how_it_ended(
    api: Api, log: LogPipe, openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("1931", usage={"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}))
    api.ask(QUESTION, key=OTHER)
    line = log.read()
    assert line.pop("time").endswith("+00:00")
    assert line.pop("ms") > 0
    assert line.pop("id").startswith("req_")
    assert line == {
        "event": "request",
        "client": "key 2",
        "http": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "method": "concat",
        "collection": "towers",
        "model": "openai:test",
        "outcome": "answered",
        "calls": 1,
        "input_tokens": 1000,
        "output_tokens": 500,
        "dollars": 0.011,
    }


def refuse(api: Api, case: str) -> httpx.Response:
    """Send a request that is refused."""
    body: dict[str, Any] = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}]}
    key = {"authorization": f"Bearer {OTHER}"}
    if case == "no key":
        return api.post(body)
    if case == "not the owner":
        return httpx.delete(f"{api.url}/v1/collections/towers", headers=key, timeout=60)
    if case == "unknown model":
        return api.post({**body, "model": "nothing"}, **key)
    if case == "unknown address":
        return api.get(f"/v1/{QUESTION}", **key)
    if case == "too large":
        return api.post(b" " * (LARGEST_BODY + 1), **key)
    if case == "too often":
        return [api.post(body, **key) for _ in range(3)][-1]
    return api.post({**body, "messages": []}, **key)


@pytest.mark.parametrize(
    ("case", "status", "code", "asked"),
    [
        ("no key", 401, "invalid_api_key", ""),
        ("not the owner", 403, "not_the_owner", ""),
        ("unknown model", 404, "model_not_found", ""),
        ("unknown address", 404, "not_found", ""),
        ("too large", 413, "request_too_large", ""),
        ("too often", 429, "rate_limit_exceeded", "concat"),
        ("no message", 400, "invalid_value", ""),
    ],
)
def test_a_refusal_has_its_line_too(
    case: str, status: int, code: str | None, asked: str, api: Api, log: LogPipe
) -> None:
    assert refuse(api, case).status_code == status
    line = log.read_until(status=status)
    assert (line.get("code"), line.get("method", "")) == (code, asked)
    assert line["client"] == ("-" if case == "no key" else "key 2")
    assert ("address" in line) == (case == "no key")
    assert "Lumen" not in str(line)


def test_a_stream_that_fails_midway_is_no_success(api: Api, log: LogPipe, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, "The model is broken."))
    with pytest.raises(openai.APIError):
        list(api.ask(QUESTION, key=OWNER, stream=True))
    line = log.read()
    assert (line["status"], line["sent"], line["code"]) == (502, 200, "model_call_failed")
    assert (line["outcome"], line["client"]) == ("failed", "owner")


async def test_a_client_that_left_got_no_success(api: Api, log: LogPipe, openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("1931", hold=True))
    body = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    headers = {"authorization": f"Bearer {OWNER}"}
    async with httpx.AsyncClient(timeout=60) as client:
        request = asyncio.create_task(client.post(f"{api.url}/v1/chat/completions", json=body, headers=headers))
        await asyncio.to_thread(openai_server.wait_for_requests, 1)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
    line = await asyncio.to_thread(log.read)
    assert (line["status"], line["sent"], line["code"], line["outcome"]) == (499, 200, "client_left", "stopped")


def test_each_method_of_a_run_has_a_line_when_it_ends(api: Api, log: LogPipe, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: "1931" if "Question:" in request.text else make_error(500, "broken"))
    run = ask_run(api.url, QUESTION, "concat", "no_retrieval", key=OTHER)
    read_run(api.url, run, key=OTHER)
    lines = [log.read() for _ in range(4)]
    [begun] = [line for line in lines if line.get("path") == "/v1/runs"]
    [followed] = [line for line in lines if line.get("path") == f"/v1/runs/{run}/events"]
    answers = {line["method"]: line for line in lines if line["event"] == "answer"}
    assert (begun["status"], followed["status"], set(answers)) == (201, 200, {"concat", "no_retrieval"})
    for answer in answers.values():
        assert (answer["run"], answer["client"], answer["id"], answer["calls"]) == (run, "key 2", begun["id"], 1)


def test_documents_and_their_collection_are_logged(api: Api, log: LogPipe) -> None:
    files = [("files", ("hr/leave.md", b"# Leave\n\nAsk early.", "text/plain"))]
    url = f"{api.url}/v1/collections/towers/documents"
    assert httpx.post(url, files=files, headers={"authorization": f"Bearer {OTHER}"}, timeout=60).status_code == 403
    api.get("/v1/collections/towers/documents", authorization=f"Bearer {OWNER}")
    posted, listed = log.read(), log.read()
    assert (posted["http"], posted["status"], posted["client"]) == ("POST", 403, "key 2")
    assert (listed["status"], listed["collection"], listed["client"]) == (200, "towers", "owner")


def test_questions_are_logged_only_if_asked_for(log: LogPipe, serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    serve(log_file=str(log.path), log_questions=True).ask(QUESTION)
    line = log.read()
    assert (line["question"], line["answer"], line["client"]) == (QUESTION, "1931", "local")
    assert "harbour" not in str(line)  # of the passage


def test_monitoring_that_finds_all_well_leaves_no_line(api: Api, log: LogPipe) -> None:
    for path in ("/health", "/openapi.json"):
        api.get(path, authorization=f"Bearer {OWNER}")
    assert log.read()["path"] == "/openapi.json"


def test_the_owner_sees_figures_by_the_name_of_the_token(api: Api, log: LogPipe, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    api.ask(QUESTION, key=OTHER)
    refuse(api, "no key")
    for _ in range(2):
        log.read()  # a request is counted before it is logged
    text = api.get("/metrics", authorization=f"Bearer {OWNER}").text
    assert 'quorum_requests_total{client="key 2",status="200"} 1' in text
    assert 'quorum_requests_total{client="-",status="401"} 1' in text
    assert 'quorum_client_questions_total{client="key 2",outcome="answered"} 1' in text
    assert 'quorum_client_calls_total{client="key 2"} 1' in text
    assert "quorum_requests_total" not in api.get("/metrics", authorization=f"Bearer {OTHER}").text


def test_a_rotated_or_removed_file_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text('{"cut by a cra')
    log = LogFile(str(path))
    log.write({"n": 1})
    log.lines.join()
    path.rename(tmp_path / "requests.jsonl.1")
    log.write({"n": 2})
    log.lines.join()
    path.unlink()
    log.write({"n": 3})
    log.close()
    assert path.read_text() == '{"n": 3}\n'
    assert (tmp_path / "requests.jsonl.1").read_text() == '{"cut by a cra\n{"n": 1}\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_stops_no_answer_and_is_said_once(
    serve: Serve, openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this machine has no /dev/full")
    openai_server.reply("1931")
    api = serve(log_file="/dev/full")
    assert [api.ask().choices[0].message.content.split()[0] for _ in range(2)] == ["1931", "1931"]
    log = LogFile("/dev/full")
    log.write({"n": 1})
    log.write({"n": 2})
    log.close()
    assert log.lost == 2
    assert capsys.readouterr().err.count("not logged: /dev/full cannot be written (No space left on device)") == 2


def test_lost_lines_are_counted_in_the_next_one(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = LogFile(str(folder / "requests.jsonl"))
    (folder / "requests.jsonl").unlink()
    folder.rmdir()
    log.write({"n": 1})
    log.lines.join()
    folder.mkdir()
    log.write({"n": 2})
    log.close()
    assert '"event": "lines_lost", "lines": 1}\n{"n": 2}\n' in (folder / "requests.jsonl").read_text()


@pytest.mark.parametrize("name", ["missing/requests.jsonl", "."])
def test_a_file_that_cannot_be_opened_is_said_before_serving(name: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"The log file .* cannot be opened \(.*\); give --log-file a file"):
        LogFile(str(tmp_path / name))


def test_a_name_of_the_token_file_stands_in_log_and_figures(
    log: LogPipe, serve: Serve, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    team = TeamFile(tmp_path / "tokens.toml")
    token = team.add("anna", collections=("towers",))
    api = serve(log_file=str(log.path), access_tokens=(OWNER,), token_file=team.path)
    api.ask(QUESTION, model="concat@towers", key=token)
    assert log.read()["client"] == "anna"
    team.revoke("anna")
    assert api.get("/v1/models", authorization=f"Bearer {token}").status_code == 401
    refused = log.read()
    assert (refused["client"], refused["code"]) == ("-", "invalid_api_key")
    text = api.get("/metrics", authorization=f"Bearer {OWNER}").text
    assert 'quorum_client_questions_total{client="anna",outcome="answered"} 1' in text


def test_a_line_holds_no_filter_of_a_cascade(api: Api, log: LogPipe, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    filter_ = "[where=title!=who told Anna]"
    api.ask(QUESTION, f"concat{filter_}>post_fusion{filter_}", key=OWNER)
    api.get("/v1/methods/concat[where=title!=Anna]", authorization=f"Bearer {OWNER}")
    asked, shown = log.read(), log.read()
    assert asked["method"] == "concat>post_fusion"
    assert "Anna" not in str([asked, shown])
