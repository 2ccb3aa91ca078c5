"""For tests: races between methods that differ only in how many passages they read, over generated questions."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openai_bodies import Response
from openai_server import Request

from quorum.core.context import Context
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.decisions.decide import Decision
from quorum.evaluation.run.options import Options

QUESTION_COUNT = 24
METHODS = "concat,concat[k=2],concat[k=3]"
SHARE_RIGHT_OF_K = {1: 0.05, 2: 0.5, 3: 1.0}  # passages that a method reads -> its share of right answers


def write_questions(path: Path, count: int, **fields: Callable[[int], Any]) -> None:
    """Write `count` questions, each with three passages.

    fields: more fields of a question, each as a function of the question's number that returns the field's value.
    """
    lines = [
        {
            "id": f"q{n}",
            "question": f"Who found thing {n}?",
            "answers": [f"person {n}"],
            "passages": [{"id": f"p{n}-{i}", "title": "", "text": f"Passage {i} of thing {n}."} for i in range(3)],
            **{name: make_value(n) for name, make_value in fields.items()},
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def read_question_number(request: Request) -> int:
    return int(request.text.rpartition("found thing ")[2].partition("?")[0])


def reply_right_more_often_with_more_passages(request: Request) -> Response:
    """Give right answers as often as SHARE_RIGHT_OF_K says, always to the same questions."""
    passage_count = request.text.count("Passage ")
    number = read_question_number(request)
    right = random.Random(f"{passage_count}:{number}").random() < SHARE_RIGHT_OF_K[passage_count]
    usage = {"prompt_tokens": 100 * passage_count, "completion_tokens": 2, "total_tokens": 100 * passage_count + 2}
    return Response(f"person {number}" if right else "unknown", usage=usage)


async def run_race(
    data: Path, out: str = "out", mode: str | None = "questions", k: int = 1, **options: Any
) -> Decision:
    """Compare METHODS on the questions in the file `data`. Results go to the folder `out` beside it.

    mode: the kind of race; None asks every method every question. k: how many passages the method `concat` reads.
    options: fields of `Options`.
    """
    all_options = {"methods": METHODS, "corpus": "given", "out": data.parent / out, "race": mode, **options}
    context = Context(model="openai:test", k=k, attempts=1, journal="off")
    return await compare(await plan_comparison(Options(data=data, context=context, **all_options)))


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def read_outcome(folder: Path) -> dict[str, Any]:
    """What a comparison wrote to summary.json, recommendation.json and comparison.json, without the times."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary_without_times = {
        name: {key: item for key, item in row.items() if "second" not in key} for name, row in summary.items()
    }
    recommendation = json.loads((folder / "recommendation.json").read_text(encoding="utf-8"))
    recommendation["sentences"] = [re.sub(r", [\d.]+ s \(p95\)", "", text) for text in recommendation["sentences"]]
    recommendation["summary"] = [re.sub(r"within [\d.]+ s", "", text) for text in recommendation["summary"]]
    comparison = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    return {"summary": summary_without_times, "recommendation": recommendation, "comparison": comparison}
