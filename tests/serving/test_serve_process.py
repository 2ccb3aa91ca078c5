"""`quorum serve --no-page` as a process: with what the base install has, and stopped while it answers."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_server import Api
from openai_bodies import Response
from openai_server import LONGEST_WAIT, OpenAIServer
from quorum_command import Quorum
from run_client import ask_run

from quorum.serving.runs.run_file import RunFile

ROOT = Path(__file__).parents[2]
SCRIPT_WITHOUT_PAGE = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import conftest  # from here on this process can reach this machine only
sys.modules["fastapi"] = None
from quorum.cli.main import main
main()
"""


@pytest.fixture
def process(store: Path, openai_server: OpenAIServer) -> Iterator["subprocess.Popen[str]"]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    environment |= {"OPENAI_BASE_URL": openai_server.url, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false"}
    args = ["serve", "--no-page", "--port", "0", "--store", str(store), "--collection", "towers"]
    args += ["--model", "openai:test", "--retriever", "bm25", "--log-file", "-"]
    with subprocess.Popen(
        [sys.executable, "-u", "-c", SCRIPT_WITHOUT_PAGE, *args],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        yield server
        openai_server.release_held_replies()
        server.kill()


def test_an_answer_under_way_is_given_before_the_server_ends(
    process: "subprocess.Popen[str]", openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("1931", hold=True))
    assert process.stdout
    assert process.stderr
    line = process.stderr.readline()
    assert "Quorum is at " in line, line + process.stderr.read()
    api = Api(line.split("Quorum is at ")[1].split()[0].rstrip("/"))
    with ThreadPoolExecutor(1) as pool:
        completion = pool.submit(api.ask)
        openai_server.wait_for_requests(1)
        process.send_signal(signal.SIGINT)
        openai_server.release_held_replies()
        assert completion.result(LONGEST_WAIT).choices[0].message.content.startswith("1931")
    api.close()
    code, errors = process.wait(), process.stderr.read()
    assert code == 0, errors
    assert "Traceback" not in errors, errors
    [logged] = map(json.loads, process.stdout)  # the request log alone
    assert (logged["status"], logged["outcome"]) == (200, "answered")


@pytest.mark.long
def test_a_run_under_way_when_the_server_is_stopped_ends_as_interrupted(
    process: "subprocess.Popen[str]", openai_server: OpenAIServer, store: Path
) -> None:
    openai_server.reply(Response("1931", hold=True))
    assert process.stderr
    line = process.stderr.readline()
    assert "Quorum is at " in line, line + process.stderr.read()
    url = line.split("Quorum is at ")[1].split()[0].rstrip("/")
    run = ask_run(url, "When was the Lumen Tower finished?", "concat")
    openai_server.wait_for_requests(1)
    process.send_signal(signal.SIGINT)
    code, errors = process.wait(), process.stderr.read()
    assert code == 0, errors
    assert "Traceback" not in errors, errors
    *_, error, last = RunFile(store / "runs" / f"{run}.jsonl").read_events()
    assert (error["code"], error["method"], last["type"]) == ("interrupted", "concat", "run_finished")


def test_a_missing_collection_is_reported_at_start(quorum: Quorum) -> None:
    run = quorum("serve", "--no-page", "--port", "0", "--collection", "nosuch")
    assert (run.code, run.err.startswith("quorum: There is no collection 'nosuch'")) == (2, True)
