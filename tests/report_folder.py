"""An invented comparison for tests of the report: any number of questions, with hostile texts in every field."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.evaluation.compare.spending_limit import TotalSpent
from quorum.evaluation.decisions.decide import Decision, decide
from quorum.evaluation.report.write import write_report
from quorum.evaluation.run.baseline import compare_within_groups
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.source import Source
from quorum.evaluation.run.spending import Spending

METHODS = ("concat", "post_fusion", "sure")
HTML_ATTACK = (
    '</script><script>window.hacked = true</script><img src=x onerror="window.hacked = true"> \' ${body} &amp;'
)
SHARE_RIGHT = {"concat": 0.45, "post_fusion": 0.55, "sure": 0.7}


def make_row(number: int, method: str, rng: random.Random, hostile_text: str) -> dict[str, Any]:
    """A line of results.jsonl. About one row in forty is a question that failed."""
    has_failed = rng.random() < 0.025
    right = rng.random() < SHARE_RIGHT.get(method, 0.5)
    unknown = not right and rng.random() < 0.4
    answer = "unknown" if unknown else f"answer {number}" if right else f"something else {hostile_text}"
    measures = {
        "em": float(right),
        "f1": float(right),
        "unknown": unknown,
        "right_answer_outvoted": not right and not unknown,
    }
    counts = {
        "calls": 1 if method == "concat" else 5,
        "input_tokens": 700,
        "output_tokens": 9,
        "malformed": 0,
        "dropped": 0,
    }
    no_values: dict[str, Any] = dict.fromkeys((*measures, *counts))
    return {
        "id": f"q{number}",
        "method": method,
        "question": f"What is number {number} of the things that were asked? {hostile_text}",
        "task": "short",
        "gold": [f"answer {number}", f"an answer {number}"],
        "answer": None if has_failed else answer,
        **(no_values if has_failed else measures | counts),
        "confidence": None if has_failed or method == "concat" or unknown else round(rng.uniform(0.2, 1), 3),
        "seconds": rng.uniform(0.2, 2),
        "error": f"The model failed {hostile_text}" if has_failed else None,
    }


def make_detail(number: int, method: str, hostile_text: str) -> dict[str, Any]:
    """A line of details.jsonl."""
    text = f"Héllo 🗼 passage about {number}: the answer {number} stands here. {hostile_text}"
    start = text.index(f"answer {number}")
    passages = [{"id": f"p{number}-{rank}", "title": f"Title {rank} {hostile_text}", "text": text} for rank in range(3)]
    step = {"enclosing_step": None, "seconds": 0.1}
    votes = [
        {"rank": rank, "passage": f"p{number}-{rank}", "answer": hostile_text, "unknown": rank == 2}
        for rank in range(3)
    ]
    call = {
        "step": 1,
        "name": f"answer {hostile_text}",
        "reply": f"A reply {hostile_text}",
        "input_tokens": 700,
        "output_tokens": 9,
    }
    return {
        "id": f"q{number}",
        "method": method,
        "rationale": f"Because {hostile_text}",
        "candidates": [f"one {hostile_text}", "two"] if method == "sure" else None,
        "summaries": [f"summary {hostile_text}", "summary"] if method == "sure" else None,
        "validity": [True, False] if method == "sure" else None,
        "scores": [1.5, 0.5] if method == "sure" else None,
        "votes": votes if method == "post_fusion" else None,
        "evidence": [{"passage": f"p{number}-0", "start": start, "end": start + len(f"answer {number}")}],
        "passages": passages,
        "usage": {"answer": {"calls": 1, "input_tokens": 700, "output_tokens": 9, "cached_tokens": 0}},
        "malformed": {},
        "steps": [
            {"node": "begin", "round": 1, **step},
            {"node": "retrieve", "round": 2, **step},
            {"node": "passage_answer", "round": 3, **step},
            {"node": "passage_answer", "round": 3, **step},
            {"node": "vote", "round": 4, **step},
        ],
        "calls": [{**call, "seconds": 0.5, "reused": False}],
    }


def make_decision(
    folder: Path,
    count: int,
    hostile_text: str = HTML_ATTACK,
    budget: dict[str, float] | None = None,
    methods: Sequence[str] = METHODS,
    write_detail: Callable[[int, str, str], dict[str, Any]] = make_detail,
) -> Decision:
    """Write the folder of a comparison with `count` questions, and return the decision that `decide` makes from it.
    write_detail: gives a line of details.jsonl.
    """
    rng = random.Random(count)
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "data.jsonl"
    records = ({"id": f"q{number}", "question": f"Number {number}?", "answers": ["it"]} for number in range(count))
    data.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    rows = [[make_row(number, method, rng, hostile_text) for method in methods] for number in range(count)]
    with (folder / "results.jsonl").open("w") as results, (folder / "details.jsonl").open("w") as details:
        for number in reversed(range(count)):  # the questions are answered at once, and end in another order
            for row, method in zip(rows[number], methods, strict=True):
                results.write(json.dumps(row) + "\n")
                details.write(json.dumps(write_detail(number, method, hostile_text)) + "\n")
    config = {"data": {"file": f"data{hostile_text}.jsonl"}, "source": {"corpus": "corpus"}, "quorum": "0"}
    write_json(folder / "config.json", config)
    with Results(folder / "results.jsonl", methods) as written_results:
        summary, comparisons = written_results.summarize(), compare_within_groups(written_results.scores, [methods])
    columns = parse_columns(",".join(methods), Context(model="openai:gpt-4o-mini"))
    options, dataset = Options(data=data, budget=budget or {}), DataSet(data, None, "", count, count)
    plan = Plan(options, dataset, Source(None, None, None), columns, config, folder)
    scores = Scores(plan, written_results.scores, summary, comparisons, 0, Spending())
    usage = {"calls": 9, "input_tokens": 900, "output_tokens": 90, "cached_tokens": 0}
    spent = TotalSpent(models={f"openai:{hostile_text}": usage}, searches=3 * count, searches_made=count, cost=None)
    return decide(scores, spent)


def make_report(folder: Path, count: int, hostile_text: str = HTML_ATTACK) -> Path:
    """Write the report of a comparison with `count` questions, and return the path of its page."""
    return write_report(make_decision(folder, count, hostile_text))
