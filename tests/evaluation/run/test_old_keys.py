"""A folder that an older version wrote, with other names of some keys, is resumed and reported like a new one."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer

from quorum.api.results import read_answers
from quorum.core.context import Context
from quorum.evaluation.compare.compare import compare, plan_comparison
from quorum.evaluation.report.questions import collect_details, open_results
from quorum.evaluation.run.old_keys import NEW_KEYS
from quorum.evaluation.run.options import Options

# {today's key: its old name}. OLD_NESTED_NAMES: the keys of the steps and calls in details.jsonl. For a key that had
# two old names, LAST_OLD_NAMES has the later one, and FIRST_OLD_NAMES the earlier one.
OLD_NESTED_NAMES = {"enclosing_step": "within", "reused": "stored"}
LAST_OLD_NAMES = {new: old for old, new in NEW_KEYS.items()} | OLD_NESTED_NAMES
FIRST_OLD_NAMES = {new: old for old, new in reversed(NEW_KEYS.items())} | OLD_NESTED_NAMES


@pytest.fixture
def questions_file(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    passages = [{"id": f"p{n}", "title": "", "text": f"Ada Korn built tower {n}."} for n in range(3)]
    lines = [
        {"id": f"q{n}", "question": f"Who built tower {n}?", "answers": ["Ada Korn"], "passages": passages}
        for n in range(4)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def collect_all_details(folder: Path) -> list[dict[str, Any]]:
    results, details = open_results(folder)
    with results, details:
        return [collect_details(f"q{n}", results, details, ["concat", "post_fusion"]) for n in range(4)]


@pytest.mark.parametrize("old_names", [LAST_OLD_NAMES, FIRST_OLD_NAMES])
async def test_a_folder_of_an_older_version_is_resumed(
    questions_file: Path, openai_server: OpenAIServer, old_names: dict[str, str]
) -> None:
    openai_server.reply(lambda request: "Ada Korn")
    context = Context(model="openai:test", attempts=1)
    options = Options(
        data=questions_file,
        corpus="pool",
        methods="concat,post_fusion",
        context=context,
        out=questions_file.parent / "out",
    )
    decision = await compare(await plan_comparison(options))
    folder = decision.scores.folder
    details, rows = collect_all_details(folder), list(read_answers(folder / "results.jsonl"))
    for name in ("results.jsonl", "details.jsonl", "spent.json"):
        text = (folder / name).read_text(encoding="utf-8")
        old_text = text
        for new, old in old_names.items():
            old_text = old_text.replace(f'"{new}": ', f'"{old}": ')
        assert old_text != text
        (folder / name).write_text(old_text, encoding="utf-8")
    assert list(read_answers(folder / "results.jsonl")) == rows
    request_count = len(openai_server.requests)
    resumed_decision = await compare(await plan_comparison(options))
    assert len(openai_server.requests) == request_count
    assert resumed_decision.scores.summary == decision.scores.summary
    assert resumed_decision.spent == decision.spent
    assert collect_all_details(folder) == details
