"""`quorum serve --watch`: served answers are sampled, labels count, /metrics says how the promise stands; a cascade's
rival and a judge are asked after the reply; a refuted promise withholds answers.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import Api, Serve
from decision_results import write_results
from named_clients import TeamFile
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.decisions.answer_labels import read_pair
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.watch.anchors import list_checks
from quorum.evaluation.watch.describe_standing import describe_standing
from quorum.evaluation.watch.folder import ANSWERS, LABELS, WatchFolder
from quorum.evaluation.watch.labelling import list_tasks, list_waiting, save_label
from quorum.evaluation.watch.standing import compute_standing, reset
from quorum.nodes.describe_settings import SETTINGS_THAT_CHANGE_NO_ANSWER, describe_settings
from quorum.serving.serve import Options, make_service
from quorum.serving.watched import WatchOptions


def write_calibration(folder: Path) -> str:
    file = folder / "careful.json"
    content = {"kind": "quorum calibration", "method": "post_fusion", "lowest_confidence": 0.1, "wrong_at_most": 0.05}
    file.write_text(json.dumps({**content, "settings": {}}))
    return str(file)


def write_cascade(folder: Path) -> str:
    """A cascade of one stage, concat, that promises to lose at most 5 points against concat[k=2]."""
    file, left_out = folder / "cascade.json", SETTINGS_THAT_CHANGE_NO_ANSWER | {"retriever", "collection"}
    stages = [
        {
            "name": name,
            "method": "concat",
            "accept": None,
            "settings": describe_settings(Context(model="openai:test", k=k), left_out),
        }
        for name, k in (("concat", 5), ("concat[k=2]", 2))
    ]
    certificate = {"lose_at_most": 0.05, "confidence_level": 0.9, "wrong_cost": 0.0}
    content = {"kind": "quorum composed", "stages": stages[:1], "certificate": certificate, "best_method": stages[1]}
    file.write_text(json.dumps({**content, "expected": {"best": "concat[k=2]"}}))
    return str(file)


def wait_until(holds: Callable[[], bool]) -> None:
    """Until what comes after a reply has happened."""
    for _ in range(60_000):
        if holds():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it has not happened")


def wait_for(api: Api, *texts: str) -> None:
    """Until /metrics says so."""
    wait_until(lambda: all(text in api.get("/metrics").text for text in texts))


def is_judged(request: Request) -> bool:
    return "You check one answer" in request.text


def test_answers_under_the_servers_settings_are_sampled_and_the_metrics_follow_the_labels(
    serve: Serve, openai_server: OpenAIServer, store: Path, tmp_path: Path
) -> None:
    openai_server.reply("1931")
    calibration = write_calibration(tmp_path)
    options = WatchOptions((calibration,), label_share=1.0)
    api = serve(calibration=calibration, store=str(store), watch=options)
    for _ in range(4):
        api.ask(model="post_fusion")
    api.ask(model="post_fusion", extra_body={"quorum": {"k": 2}})  # other settings
    openai_server.reply("unknown")
    api.ask(model="post_fusion")  # no answer, so it cannot be wrong
    folder = WatchFolder(store / "watch" / "careful")
    wait_for(api, 'state="waiting"} 4')  # the files are written after the reply
    lines = [line for line in folder.read(ANSWERS) if "id" in line]
    assert [line["question"] for line in lines] == ["When was the Lumen Tower finished?"] * 4
    assert lines[0]["answer"] == "1931"
    assert lines[0]["passages"] == ["towers"]
    for answer in list_waiting(folder):
        folder.append(LABELS, {"id": answer.id, "z": 1.0})
    metrics = api.get("/metrics").text
    assert 'quorum_watch_labels{promise="careful",state="done"} 4' in metrics
    assert 'quorum_watch_refuted{promise="careful"} 1' in metrics
    assert 'quorum_watch_wrong_high{promise="careful"} 1' in metrics


def test_a_server_that_does_not_answer_as_was_promised_does_not_start(store: Path, tmp_path: Path) -> None:
    calibration = write_calibration(tmp_path)
    score = WatchOptions(("sure",), score_at_least=0.6)
    make_service(Context(store=str(tmp_path)), Options(watch=score), Prices())
    for options, context, text in (
        (WatchOptions((calibration,)), Context(store=str(store)), "add: --set calibration="),
        (score, Context(store=str(tmp_path), k=3), "watches another promise"),
        (WatchOptions((write_cascade(tmp_path),)), Context(store=str(store)), "is not served; add: --composed"),
        (replace(score, labels="judge"), Context(store=str(store)), "needs a judge; name the model with --judge"),
        (replace(score, judge="embedded"), Context(store=str(store)), "The embedded reader cannot judge"),
    ):
        with pytest.raises(SetupError, match=text):
            make_service(context, Options(watch=options), Prices())


def test_a_cascades_rival_is_asked_the_sampled_questions_after_the_reply(
    serve: Serve, openai_server: OpenAIServer, store: Path, tmp_path: Path
) -> None:
    # To the first question the cascade says 1931, and its rival 1930.
    openai_server.reply(["1931", "1930", "1931", "1931"])
    cascade = write_cascade(tmp_path)
    options = {"cascade_files": (f"cheap={cascade}",), "watch": WatchOptions((cascade,), label_share=1.0)}
    api = serve(store=str(store), **options)
    for number, question in enumerate(("When was the Lumen Tower finished?", "Finished when?"), 1):
        assert api.ask(question, model="cheap").quorum["answer"] == "1931"
        openai_server.wait_for_requests(2 * number)
    wait_for(api, 'promise="cascade",state="done"} 1', 'promise="cascade",state="waiting"} 1')
    folder = WatchFolder(store / "watch" / "cascade")
    promise = folder.read_promise()
    assert (promise.kind, promise.limit, promise.rival, promise.method) == ("loss", 0.525, "concat[k=2]", "cheap")
    [equal] = folder.read(LABELS)
    assert (equal["z"], equal["who"]) == (0.5, "equal answers")
    [task] = list_tasks(folder)
    assert sorted(task.answers) == ["1930", "1931"]  # which is whose is not shown
    save_label(folder, task, [text == "1930" for text in task.answers], "Ada")
    assert [line["z"] for line in folder.read(LABELS)] == [0.5, 1.0]
    low, high = compute_standing(folder).broken
    assert low < 0.75 < high
    assert 'quorum_questions_total{method="watch",outcome="answered"} 2' in api.get("/metrics").text
    # What a killed server has left without the rival's answer is asked by the next one.
    [left] = [line for line in folder.read(ANSWERS) if line.get("id") == task.id]
    folder.append(ANSWERS, {**left, "id": "left"})
    openai_server.reply("1931")
    again = serve(
        cascade_files=(f"cheap={cascade}",), store=str(store), watch=WatchOptions((cascade,), label_share=1.0)
    )
    again.ask("Finished?", model="cheap")
    wait_until(lambda: any(line.get("rival_of") == "left" for line in folder.read(ANSWERS)))


def test_a_judge_labels_and_is_told_from_the_system_by_its_anchors(
    serve: Serve, openai_server: OpenAIServer, store: Path
) -> None:
    """First the judge calls everything right; then the same answers wrong: it has changed, and the system has not."""
    verdicts = ["correct"]
    openai_server.reply(lambda request: verdicts[-1] if is_judged(request) else "1931")
    options = WatchOptions(
        ("judged=concat",), 0.9, label_share=1.0, labels="judge", judge="openai:other", anchors=5, withholds=True
    )
    api = serve(store=str(store), watch=options)
    for number in range(5):
        api.ask(f"When was the Lumen Tower finished? {number}")
    folder = WatchFolder(store / "watch" / "judged")
    wait_until(lambda: len(list_checks(folder)) == 1)
    assert compute_standing(folder).done == 0
    api.ask()
    wait_for(api, 'promise="judged",state="done"} 1')
    verdicts.append("incorrect")
    for number in range(8):  # in a store with several promises, an alarm takes more
        api.ask(f"When was it finished? {number}")
    wait_until(lambda: len(list_checks(folder)) == 2)
    standing = compute_standing(folder)
    assert (standing.state, standing.exit_code) == ("judge changed", 3)
    assert standing.shift is not None
    assert standing.shift.shift == 1
    said = describe_standing(standing)
    assert all("judge" in sentence for sentence in said)
    assert said[0].startswith(
        "The judge may have changed. The answers of concat score 0.9 or more on average: not decided"
    )
    assert api.ask().quorum["answer"] == "1931"  # so nothing is withheld
    with pytest.raises(SetupError, match="labelled by the judge other"):
        list_tasks(folder)


def test_an_unknown_answer_is_not_right_and_no_judge_is_asked(
    serve: Serve, openai_server: OpenAIServer, store: Path
) -> None:
    openai_server.reply(lambda request: "correct" if is_judged(request) else "unknown")
    options = WatchOptions(("unknowing=concat",), 0.9, label_share=1.0, labels="judge", judge="openai:other", anchors=1)
    api = serve(store=str(store), watch=options)
    folder = WatchFolder(store / "watch" / "unknowing")
    api.ask()
    wait_until(lambda: len(list_checks(folder)) == 1)
    assert list(list_checks(folder)[0].z.values()) == [1.0]
    api.ask()
    wait_until(lambda: folder.size(LABELS) > 0)
    assert [line["z"] for line in folder.read(LABELS)] == [1.0]
    assert not any(is_judged(request) for request in openai_server.chats())


def test_the_judge_says_which_answers_are_sampled_as_doubtful(
    serve: Serve, openai_server: OpenAIServer, store: Path
) -> None:
    openai_server.reply(lambda request: "incorrect" if is_judged(request) else "1931")
    options = WatchOptions(("flagged=concat",), 0.9, label_share=1.0, judge="openai:other")
    api = serve(store=str(store), watch=options)
    api.ask()
    wait_for(api, 'promise="flagged",state="waiting"} 1')
    [line] = [line for line in WatchFolder(store / "watch" / "flagged").read(ANSWERS) if "id" in line]
    assert line["h"] == 1


def test_a_refuted_promise_withholds_the_answers_and_says_why(
    serve: Serve, openai_server: OpenAIServer, store: Path
) -> None:
    openai_server.reply("1931")
    options = WatchOptions(("strict=concat",), 0.9, label_share=1.0, withholds=True)
    api = serve(store=str(store), watch=options)
    for _ in range(8):
        assert api.ask().quorum["answer"] == "1931"
    wait_for(api, 'promise="strict",state="waiting"} 8')
    folder = WatchFolder(store / "watch" / "strict")
    for task in list_tasks(folder):
        save_label(folder, task, [False], "Ada")
    count = len(openai_server.chats())
    completion = api.ask()
    assert len(openai_server.chats()) == count  # no model was asked
    assert completion.choices[0].message.content.startswith("unknown\n\nThe answers of concat are withheld here")
    assert completion.quorum["refuted_promise"]["name"] == "strict"
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in api.ask(stream=True) if chunk.choices)
    assert "was promised, and refuted on" in streamed
    assert api.ask(extra_body={"quorum": {"k": 2}}).quorum["answer"] == "1931"  # of this nothing was promised
    metrics = api.get("/metrics").text
    assert 'quorum_questions_total{method="concat",outcome="withheld"} 2' in metrics
    assert 'quorum_watch_withheld{promise="strict"} 2' in metrics
    reset(folder, "a better model", "2026-03-02T08:00:00+00:00")
    assert api.ask().quorum["answer"] == "1931"


def test_the_owner_labels_over_http_and_nobody_else(serve: Serve, openai_server: OpenAIServer, store: Path) -> None:
    openai_server.reply("1931")
    results = write_results(Path("run"), {"concat": 0.4, "sure": 0.9}, questions=20)
    keys = ("the-owners-long-key", "a-clients-long-key")
    api = serve(
        store=str(store), watch=WatchOptions(("mine=concat",), 0.9, label_share=1.0), label_results=(str(results),),
        access_tokens=keys,
    )  # fmt: skip
    owner, other = ({"authorization": f"Bearer {key}"} for key in keys)
    api.ask(key=keys[0])
    folder = WatchFolder(store / "watch" / "mine")
    wait_until(lambda: bool(list_tasks(folder)))
    lists = {item["id"]: item["waiting"] for item in api.get("/v1/labels", **owner).json()["data"]}
    assert lists == {"mine": 1, "run": len(read_pair([str(results)]).differing)}
    assert api.get("/v1/labels", **other).json()["data"] == []
    assert api.get("/v1/labels/mine", **other).status_code == 404
    [task] = api.get("/v1/labels/mine", **owner).json()["data"]
    assert {name: task[name] for name in ("question", "answers")} == {
        "question": "When was the Lumen Tower finished?",
        "answers": ["1931"],
    }

    def save(name: str, body: dict[str, Any]) -> Any:
        return httpx.post(f"{api.url}/v1/labels/{name}", json=body, headers=owner, timeout=60)

    assert save("mine", {"task": task["id"], "right": True}).json()["error"]["param"] == "right"
    assert save("mine", {"task": task["id"], "right": [True]}).json() == {"waiting": 0}
    assert save("mine", {"task": task["id"], "right": [True]}).status_code == 404
    [label] = folder.read(LABELS)
    assert label["z"] == 0
    first = api.get("/v1/labels/run", **owner).json()["data"][0]
    assert save("run", {"task": first["id"], "right": None}).json() == {"waiting": lists["run"] - 1}
    assert read_pair([str(results)]).list_tasks()[0].id != first["id"]


def test_it_is_said_that_answers_under_a_tokens_filter_are_not_watched(
    serve: Serve, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team_file = TeamFile(tmp_path / "tokens.json")
    team_file.add("alice", where="team=HR")
    team_file.add("bob")
    serve(store=str(store), watch=WatchOptions(("filtered=concat",), 0.9), token_file=team_file.path)
    assert "the answers of alice are neither sampled nor withheld by --watch" in capsys.readouterr().err
