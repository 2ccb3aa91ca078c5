"""The runs API: a question to several methods, whose events can be read again."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from api_server import Api, Serve
from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from run_client import ask_run, iterate_events, make_headers, read_run

from quorum.core.harmless_markdown import make_harmless

QUESTION = "When was the Lumen Tower finished?"
LONG_ANSWER = "It was finished in 1931, after nine years of work in the harbour of the town, and stands there still."


@pytest.fixture
def key() -> str:
    """A key that only this test has, so that it sees only its own runs."""
    return f"key-{uuid4().hex}"


@pytest.fixture
def api(serve: Serve, key: str) -> Api:
    return serve(access_tokens=(key, f"other-{key}"))


def test_every_event_has_the_next_number_and_the_last_one_groups_the_answers(
    api: Api, key: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply("1931")
    run = ask_run(api.url, QUESTION, "concat", "post_fusion[k=1]", key=key)
    events = read_run(api.url, run, key=key)
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["methods"] == ["concat", "post_fusion[k=1]"]
    assert {event["method"] for event in events[1:-1]} == {"concat", "post_fusion[k=1]"}
    assert {event["type"] for event in events} == {
        *("run_started", "node_started", "node_finished", "vote", "answer_text", "method_finished", "run_finished")
    }
    results = {event["method"]: event["result"] for event in events if event["type"] == "method_finished"}
    assert {result["verdict"] for result in results.values()} == {"supported"}
    both = ["concat", "post_fusion[k=1]"]
    assert events[-1]["groups"] == [
        {"answer": "1931", "unknown": False, "methods": both, "methods_text": "2 of 2 methods"}
    ]
    [passage] = events[-1]["passages"]
    assert (passage["read_by"], passage["voted_by"]) == (both, [{"method": both[1], "answer": "1931"}])
    assert [one["method"] for one in passage["cited_by"]] == both
    assert events[-1]["passages_text"] == "1 passage read, by 2 methods"
    told = [event["answered_text"] for event in events if "answered_text" in event]
    assert told == [f"{count} of 2 methods {verb} answered" for count, verb in ((0, "have"), (1, "has"), (2, "have"))]
    phases = [event["phase"] for event in events if event["type"] == "node_started"]
    assert {"searching", "reading", "reading 1 of 1", "voting"} <= set(phases)
    whole = api.get(f"/v1/runs/{run}", **make_headers(key)).json()
    assert (whole["state"], whole["last_event"]) == ("finished", len(events))
    assert {answer["method"]: answer["result"] for answer in whole["answers"]} == results


def test_a_reader_goes_on_after_the_last_event_that_it_knows(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("1931", hold=True))
    run = ask_run(api.url, QUESTION, "concat", key=key)
    with closing(iterate_events(api.url, run, key=key)) as stream:
        first = [next(stream) for _ in range(4)]
    openai_server.release_held_replies()  # the run goes on though nobody reads it
    rest = read_run(api.url, run, first[-1]["n"], key)
    assert [event["n"] for event in [*first, *rest]] == list(range(1, rest[-1]["n"] + 1))
    assert rest[-2]["result"]["answer"] == "1931"
    assert [*first, *rest] == read_run(api.url, run, key=key)
    over = api.get(f"/v1/runs/{run}/events", **{**make_headers(key), "last-event-id": str(rest[-1]["n"])})
    assert over.status_code == 204


def test_stop_ends_the_run_and_no_further_call_is_sent(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("Unknown", hold=True))  # without a stop, each passage would be asked next
    run = ask_run(api.url, QUESTION, "concat_pf", key=key)
    openai_server.wait_for_requests(1)
    stopped = httpx.post(f"{api.url}/v1/runs/{run}/stop", headers=make_headers(key), timeout=60).json()
    openai_server.release_held_replies()
    openai_server.wait_idle()
    sent = len(openai_server.requests)
    assert (stopped["state"], stopped["answers"][0]["error"]["code"]) == ("finished", "stopped")
    assert [event["type"] for event in read_run(api.url, run, key=key)][-2:] == ["error", "run_finished"]
    again = httpx.post(f"{api.url}/v1/runs/{run}/stop", headers=make_headers(key), timeout=60)
    assert (again.status_code, sent, len(openai_server.requests)) == (200, 1, 1)
    assert again.json() == stopped


def test_a_method_that_failed_is_told_and_can_be_asked_again(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply([make_error(500, "broken at http://10.0.0.7:1/v1"), "1931"])
    run = ask_run(api.url, QUESTION, "concat", key=key)
    events = read_run(api.url, run, key=key)
    [error] = [event for event in events if event["type"] == "error"]
    assert (error["code"], error["remedy"], error["method"]) == ("model_call_failed", "retry", "concat")
    assert "10.0.0.7" not in error["sentence"]
    retried = httpx.post(
        f"{api.url}/v1/runs/{run}/retry", json={"method": "concat"}, headers=make_headers(key), timeout=60
    )
    assert retried.status_code == 202
    more = read_run(api.url, run, events[-1]["n"], key)
    assert (more[0]["type"], more[0]["methods"], more[0]["n"]) == ("run_started", ["concat"], events[-1]["n"] + 1)
    assert [(one["answer"], one["methods_text"]) for one in more[-1]["groups"]] == [("1931", "1 of 1 method")]
    whole = api.get(f"/v1/runs/{run}", **make_headers(key)).json()
    assert [answer["state"] for answer in whole["answers"]] == ["finished"]


def test_the_offline_reader_answers_where_the_model_fails(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, "broken"))
    run, headers = ask_run(api.url, QUESTION, "concat", "post_fusion", key=key), make_headers(key)
    [failure] = read_run(api.url, run, key=key)[-1]["failures"]
    assert (failure["methods"], failure["may_read_offline"]) == (["concat", "post_fusion"], True)
    sent = len(openai_server.chats())
    url, body = f"{api.url}/v1/runs/{run}/retry", {"method": "concat", "reader": "offline"}
    assert httpx.post(url, json={**body, "reader": "other"}, headers=headers, timeout=60).status_code == 400
    assert httpx.post(url, json=body, headers=headers, timeout=60).status_code == 202
    end = read_run(api.url, run, key=key)[-1]
    assert [(one["answer"], one["methods_text"]) for one in end["groups"]] == [("1931", "1 of 2 methods")]
    answer = api.get(f"/v1/runs/{run}", **headers).json()["answers"][0]
    assert (answer["state"], answer["reader_text"]) == ("finished", "answered by the offline reader")
    assert "answered by the offline reader" in api.get(f"/v1/runs/{run}.md", **headers).text
    assert len(openai_server.chats()) == sent


def test_the_calls_of_a_method_are_given_with_their_prompts(
    serve: Serve, api: Api, key: str, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply([make_error(500, "broken"), "<b>1931</b>"])
    run, headers = ask_run(api.url, QUESTION, "concat", key=key), make_headers(key)
    error = list_calls(api, run, headers)[0]["error"]
    assert "500" in error
    assert "127.0.0.1" not in error
    read_run(api.url, run, key=key)
    httpx.post(f"{api.url}/v1/runs/{run}/retry", json={"method": "concat"}, headers=headers, timeout=60)
    read_run(api.url, run, key=key)
    [call] = list_calls(api, run, headers)  # those of the earlier try are gone
    assert (call["node"], call["name"], call["reply"]) == ("concat_answer", "answer", "<b>1931</b>")
    assert call["prompt"] == openai_server.chats()[-1].text
    httpx.delete(f"{api.url}/v1/runs/{run}", headers=headers)
    (tmp_path / "answer.md").write_text("$question $passages")
    own = serve(access_tokens=("owner", key), prompts=str(tmp_path))
    run = ask_run(own.url, QUESTION, "concat", key=key)
    assert own.get(f"/v1/runs/{run}/calls?method=concat", **headers).status_code == 403


def list_calls(api: Api, run: str, headers: dict[str, str]) -> list[dict[str, Any]]:
    """The calls of the method concat of a run, after it has ended."""
    read_run(api.url, run, key=headers["authorization"].removeprefix("Bearer "))
    data: list[dict[str, Any]] = api.get(f"/v1/runs/{run}/calls?method=concat", **headers).json()["data"]
    return data


def test_a_call_that_is_sent_again_is_told_without_the_servers_address(
    serve: Serve, key: str, openai_server: OpenAIServer
) -> None:
    api = serve(access_tokens=(key,), attempts=2)
    openai_server.reply([make_error(503, "busy", Retry_After="0"), "1931"])
    events = read_run(api.url, ask_run(api.url, QUESTION, "concat", key=key), key=key)
    [retrying] = [event for event in events if event["type"] == "retrying"]
    assert (retrying["method"], retrying["try"], retrying["tries"], retrying["wait"]) == ("concat", 2, 2, 0)
    assert "busy" in retrying["cause"]
    assert str(openai_server.port) not in retrying["cause"]
    assert "[hidden]" not in retrying["cause"]
    assert "'openai:" in retrying["cause"]
    assert events[-2]["result"]["answer"] == "1931"


def test_a_key_sees_its_own_runs_only(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    run = ask_run(api.url, QUESTION, "concat", key=key)
    read_run(api.url, run, key=key)
    other = make_headers(f"other-{key}")
    for method, path in (
        *(("GET", ""), ("GET", "/events"), ("GET", ".md"), ("GET", ".json"), ("DELETE", "")),
        *(("POST", "/stop"), ("POST", "/retry"), ("PATCH", "")),
    ):
        response = httpx.request(method, f"{api.url}/v1/runs/{run}{path}", headers=other, timeout=60)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "run_not_found")
        assert httpx.request(method, f"{api.url}/v1/runs/{run}{path}", timeout=60).status_code == 401
    assert api.get("/v1/runs", **other).json() == {"object": "list", "data": [], "has_more": False}
    follow_up = {"question": "And then?", "follows": run}
    assert httpx.post(f"{api.url}/v1/runs", json=follow_up, headers=other, timeout=60).status_code == 404
    assert api.get(f"/v1/runs/{run}", **make_headers(key)).status_code == 200


def test_runs_are_listed_searched_named_and_deleted(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    headers = make_headers(key)
    runs = [ask_run(api.url, f"Question {number}?", "concat", key=key) for number in range(3)]
    for run in runs:
        read_run(api.url, run, key=key)
    renamed = httpx.patch(f"{api.url}/v1/runs/{runs[0]}", json={"title": " The\x1b\u202e tower\n"}, headers=headers)
    assert renamed.json()["title"] == "The tower"

    def list_ids(query: str) -> list[str]:
        return [run["id"] for run in api.get(f"/v1/runs?{query}", **headers).json()["data"]]

    assert list_ids("") == runs[::-1]
    assert list_ids("q=TOWER") == list_ids("q=question+0") == [runs[0]]
    assert list_ids(f"limit=1&before={runs[2]}") == [runs[1]]
    assert api.get("/v1/runs?limit=2", **headers).json()["has_more"]
    assert httpx.delete(f"{api.url}/v1/runs/{runs[0]}", headers=headers).json()["deleted"]
    assert list_ids("q=tower") == []
    assert api.get(f"/v1/runs/{runs[0]}", **headers).status_code == 404


def test_a_follow_up_is_understood_by_the_earlier_runs(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    first = ask_run(api.url, QUESTION, "concat", key=key)
    read_run(api.url, first, key=key)
    second = ask_run(api.url, "And who built it?", "concat", key=key, follows=first)
    read_run(api.url, second, key=key)
    prompt = openai_server.requests[-2].text
    assert QUESTION in prompt
    export = api.get(f"/v1/runs/{second}.json", **make_headers(key)).json()
    assert [run["id"] for run in export["runs"]] == [first, second]
    assert all(run["events"][-1]["type"] == "run_finished" for run in export["runs"])
    headings = [line for line in api.get(f"/v1/runs/{second}.md", **make_headers(key)).text.splitlines() if "#" in line]
    assert headings == [f"# {QUESTION}", f"## {QUESTION}", "### concat", "## And who built it?", "### concat"]
    assert "1931" in prompt
    assert "And who built it?" in prompt


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "question"),
        ({"question": " "}, "question"),
        ({"question": "x" * 20_001}, "question"),
        ({"question": "x", "methods": "concat"}, "methods"),
        ({"question": "x", "methods": ["concat", "concat"]}, "methods"),
        ({"question": "x", "methods": ["../concat"]}, "methods"),
        ({"question": "x", "methods": ["concat[store=/etc]"]}, "settings"),
        ({"question": "x", "settings": {"journal": "/etc/x"}}, "settings"),
        ({"question": "x", "collection": "private"}, "methods"),
        ({"question": "x", "model": "openai:dear"}, "settings"),
        ({"question": "x", "follows": "../../x"}, "follows"),
        ({"question": "x", "store": "/etc"}, "store"),
    ],
)
def test_a_bad_request_names_the_field(body: dict[str, Any], param: str, api: Api, key: str) -> None:
    response = httpx.post(f"{api.url}/v1/runs", json=body, headers=make_headers(key), timeout=60)
    assert response.status_code in (400, 404)
    assert response.json()["error"]["param"] == param
    assert api.get("/v1/runs", **make_headers(key)).json()["data"] == []


def test_each_method_counts_as_a_question_and_a_refused_run_leaves_nothing(
    serve: Serve, key: str, openai_server: OpenAIServer
) -> None:
    api = serve(access_tokens=(key,), questions_per_minute=2)
    body = {"question": QUESTION, "methods": ["concat", "post_fusion", "sure"]}
    refused = httpx.post(f"{api.url}/v1/runs", json=body, headers=make_headers(key), timeout=60)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert api.get("/v1/runs", **make_headers(key)).json()["data"] == []
    assert openai_server.requests == []


def test_a_run_spends_no_more_than_the_day_allows(
    serve: Serve, key: str, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 1000.0\noutput = 1000.0\n')
    api = serve(access_tokens=(key,), dollars_per_day=0.01, prices=prices)
    body = {"question": QUESTION, "methods": ["concat"]}
    refused = httpx.post(f"{api.url}/v1/runs", json=body, headers=make_headers(key), timeout=60)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "insufficient_quota")
    assert openai_server.requests == []


HOSTILE = (
    "<script>alert(1)</script> ![x](http://evil.example/?q=1) [y](javascript:alert(1)) \x1b[2J\x00\x07 \u202egnp.exe "
    "\ud800 \u2028 ]]> --> `` ``` \n# Heading\n\n| a |\n|---|\n</style><img src=x onerror=alert(1)>"
)


def test_hostile_text_goes_out_harmless(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(HOSTILE.replace("\ud800", ""))
    headers, json_type = make_headers(key), {"content-type": "application/json"}
    body = json.dumps({"question": HOSTILE, "methods": ["concat"], "settings": {"answer_type": "long"}})
    asked = httpx.post(f"{api.url}/v1/runs", content=body, headers=headers | json_type, timeout=60).json()
    events = read_run(api.url, asked["id"], key=key)
    httpx.patch(f"{api.url}/v1/runs/{asked['id']}", content=json.dumps({"title": HOSTILE[:150]}), headers=headers)
    pieces = "".join(event["text"] for event in events if event["type"] == "answer_text")
    assert pieces == events[-2]["result"]["answer_markdown"] == make_harmless(HOSTILE.replace("\ud800", "")).strip()
    export = api.get(f"/v1/runs/{asked['id']}.json", **headers)
    assert export.headers["content-type"] == "application/json"
    assert export.json()["runs"][0]["question"] == events[0]["question"]
    document = api.get(f"/v1/runs/{asked['id']}.md", **headers)
    assert "attachment" in document.headers["content-disposition"]
    for text in (export.text, document.text, asked["title"]):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", text)
    assert not re.search(r"(?<!\\)<[a-z/!]|\](?<!\\\])\(", document.text)
    assert document.text.splitlines()[0].startswith(r"# \<script\>alert(1)\</script\> !\[x\](http://evil")


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '"x"', '{"question": "\\ud800", "methods": ["\\ud800"]}', "[" * 5000]
)
def test_a_body_that_is_no_request_is_refused(text: str, api: Api, key: str) -> None:
    for path in ("/v1/runs", "/v1/chat/completions"):
        response = httpx.post(f"{api.url}{path}", content=text, headers=make_headers(key), timeout=60)
        assert response.status_code in (400, 404)


def test_two_readers_get_the_same_events(api: Api, key: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(Response(LONG_ANSWER, hold=True))
    run = ask_run(api.url, QUESTION, "concat", key=key, settings={"answer_type": "long"})
    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read_run, api.url, run, after, key) for after in (0, 3)]
        openai_server.wait_for_requests(1)
        openai_server.release_held_replies()
        first, second = (reader.result(60) for reader in readers)
    assert first[3:] == second
    assert "".join(event["text"] for event in first if event["type"] == "answer_text") == LONG_ANSWER


def test_a_method_of_a_run_asks_the_collection_in_its_brackets(
    serve: Serve, key: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply("4471")
    api = serve(access_tokens=(key,), collections=("private",))
    run = ask_run(api.url, "What opens the safe?", "concat", "concat[collection=private;k=1]", key=key)
    found = {
        event["method"]: [passage["id"] for passage in event["result"]["passages"]]
        for event in read_run(api.url, run, key=key)
        if event["type"] == "method_finished"
    }
    assert found == {"concat": ["towers"], "concat[collection=private;k=1]": ["private"]}


@pytest.mark.parametrize("method", ["concat[collection=private]", "concat[collection=]", "concat[k=1"])
def test_a_run_with_a_collection_that_may_not_be_asked_is_refused(
    api: Api, key: str, openai_server: OpenAIServer, method: str
) -> None:
    reply = httpx.post(
        f"{api.url}/v1/runs", json={"question": QUESTION, "methods": [method]}, headers=make_headers(key)
    )
    assert (reply.status_code in (400, 404), reply.json()["error"]["param"]) == (True, "methods")
    assert not openai_server.chats()
