"""The benchmark of a small model, here with the replies of a loopback server."""

import json
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from benchmarks.small_model import main


def test_the_table_has_a_row_for_each_method(
    openai_server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.jsonl"
    passages = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}]
    questions = {"Who built the lighthouse?": ["Ada Korn"], "When was it built?": ["1874"]}
    records = [
        {"question": question, "answers": answers, "passages": passages} for question, answers in questions.items()
    ]
    data.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    openai_server.reply(lambda request: "unknown" if "When" in request.text.rpartition("Question:")[2] else "Ada Korn")
    journal = str(tmp_path / "journal.sqlite")
    for _ in range(2):  # the second time from the journal
        main([str(data), "--methods", "concat,post_fusion", "--k", "1", "--journal", journal])
        lines = capsys.readouterr().out.splitlines()
        assert [line.split() for line in lines[-4:-1]] == [
            ["method", "EM", "F1", "contains", "%unknown", "malformed"],
            ["concat", "50.0", "50.0", "50.0", "50.0", "0"],
            ["post_fusion", "50.0", "50.0", "50.0", "50.0", "0"],
        ]
        assert json.loads(lines[-1])["methods"]["concat"]["em"] == 0.5
    assert len(openai_server.chats()) == 2  # both methods send the same prompt for one passage
