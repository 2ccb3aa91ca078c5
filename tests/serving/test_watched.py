"""`quorum serve --watch`: served answers are sampled, labels count, /metrics says how the promise stands."""

import json
from pathlib import Path

import pytest
from api_server import Serve
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.watch.folder import ANSWERS, LABELS, WatchFolder
from quorum.evaluation.watch.standing import list_waiting
from quorum.serving.watched import Watches, WatchOptions


def write_calibration(folder: Path) -> str:
    file = folder / "careful.json"
    content = {"kind": "quorum calibration", "method": "post_fusion", "lowest_confidence": 0.1, "wrong_at_most": 0.05}
    file.write_text(json.dumps({**content, "settings": {}}))
    return str(file)


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
    # The files are written after the reply, and the last of the four before the last answer was asked.
    for _ in range(100):
        if 'state="waiting"} 4' in api.get("/metrics").text:
            break
    lines = [line for line in folder.read(ANSWERS) if "id" in line]
    assert [line["question"] for line in lines] == ["When was the Lumen Tower finished?"] * 4
    assert lines[0]["answer"] == "1931"
    assert lines[0]["passages"] == ["towers"]
    for line in list_waiting(folder):
        folder.append(LABELS, {"id": line["id"], "z": 1.0})
    metrics = api.get("/metrics").text
    assert 'quorum_watch_labels{promise="careful",state="done"} 4' in metrics
    assert 'quorum_watch_refuted{promise="careful"} 1' in metrics
    assert 'quorum_watch_wrong_high{promise="careful"} 1' in metrics


def test_a_server_that_does_not_answer_as_was_promised_does_not_start(store: Path, tmp_path: Path) -> None:
    calibration = write_calibration(tmp_path)
    with pytest.raises(SetupError, match="add: --set calibration="):
        Watches(WatchOptions((calibration,)), Context(store=str(store)))
    Watches(WatchOptions(("sure",), score_at_least=0.6), Context(store=str(tmp_path)))
    with pytest.raises(SetupError, match="watches another promise"):
        Watches(WatchOptions(("sure",), score_at_least=0.6), Context(store=str(tmp_path), k=3))
