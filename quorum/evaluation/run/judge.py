"""Judged accuracy: a chat model says whether an answer means the same as an accepted answer.

Three cases need no judge: an exact match is right; an unknown answer to a question with accepted answers is wrong; if
the data list no accepted answer, only "unknown" is right. A reply that cannot be read leaves the answer unscored:
neither right nor wrong. judged.jsonl holds the verdicts, a line for each question and method, so an interrupted run can
continue; judge.json names the judge.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO, cast

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.core.private_files import open_private_text
from quorum.core.state import Usage
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.read_rows import read_rows
from quorum.evaluation.run.result_files import explain_write_errors, repair_and_read_lines, write_json
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.source import ProgressCallback
from quorum.evaluation.run.spending import Spending
from quorum.evaluation.run.workers import run_workers
from quorum.models import get_model_identity
from quorum.models.chat import chat_model_async
from quorum.nodes.ask import ask
from quorum.parsing.answers import add_malformed_flag
from quorum.prompts import get_version
from quorum.prompts.evaluation import CORRECTNESS

COUNT_KEYS = ("calls", "input_tokens", "output_tokens")


@dataclass(frozen=True)
class Judge:
    """A judge. context: the settings of its calls, with the judge as `model`; spending: what its calls
    really used, separate from the methods' spending.
    """

    context: Context
    spending: Spending = field(default_factory=Spending)

    def describe_settings(self) -> dict[str, Any]:
        """The settings on which the judge's verdicts depend."""
        judge_name = get_model_identity(self.context.model, self.context) or type(self.context.model).__name__
        return {"judge": judge_name, "prompt": get_version(CORRECTNESS.name, self.context.prompts)}


class JudgedLine(TypedDict):
    """One line of judged.jsonl. judged: 1 right, 0 wrong, null unscored; asked: whether the judge was asked; usage:
    the calls and tokens that the verdict took, also if the reply came from the journal.
    """

    id: str
    method: str
    answer: str
    judged: float | None
    asked: bool
    usage: dict[str, int]


def make_judge(model: str, context: Context) -> Judge:
    """A judge that is this model. It always decodes greedily, whatever the methods' settings are."""
    return Judge(replace(context, model=model, verifier=None, temperature=0.0, top_p=1.0, samples=1))


async def check_judge(judge: Judge) -> None:
    """Raises `SetupError` for an unusable judge, before any question is asked."""
    if judge.context.model == "embedded":
        raise SetupError(str(CORRECTNESS.offline))
    await chat_model_async(judge.context.model, judge.context)


async def judge_answers(
    folder: Path, results: Results, judge: Judge, *, concurrency: int, progress: ProgressCallback
) -> None:
    """Ask the judge about every answer in `folder` that has no verdict yet, and add its verdicts to the scores. If
    judge calls fail permanently, call this again to retry them.
    """
    path = folder / "judged.jsonl"
    write_judge(folder, judge)
    lines = read_verdicts(path)
    rows = find_unjudged_rows(results.path, lines)  # one iterator, from which all workers take rows
    failures: list[tuple[str, str]] = []
    with open_private_text(path, "a") as file:

        async def work() -> None:
            for row in rows:
                line = find_obvious_verdict(row) or await ask_judge(row, judge)
                if line is None:
                    failures.append((row["method"], row["id"]))
                else:
                    append_line(file, path, line)
                    lines[line["method"], line["id"]] = line
                progress("judge", len(lines) + len(failures), len(results.answered_pairs))

        await run_workers(concurrency, work)
    add_verdicts_to_scores(results, lines, failures)


def write_judge(folder: Path, judge: Judge) -> None:
    """Write judge.json. Verdicts of another judge, or of another prompt version, are discarded."""
    path, judge_settings = folder / "judge.json", judge.describe_settings()
    if not path.exists() or read_json_file(path) != judge_settings:
        (folder / "judged.jsonl").unlink(missing_ok=True)
        write_json(path, judge_settings)


def read_verdicts(path: Path) -> dict[tuple[str, str], JudgedLine]:
    """The verdict lines of an earlier run, by method and question id."""
    lines: dict[tuple[str, str], JudgedLine] = {}
    if not path.exists():
        return lines
    with path.open("r+b") as file:
        for text in repair_and_read_lines(file):
            with suppress(ValueError, KeyError, TypeError):
                fields = json.loads(text)
                line = JudgedLine(**{name: fields[name] for name in JudgedLine.__annotations__})  # type: ignore[typeddict-item]
                lines[line["method"], line["id"]] = line
    return lines


def append_line(file: TextIO, path: Path, line: JudgedLine) -> None:
    with explain_write_errors(path):
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        file.flush()


def read_answers(results: Path) -> Iterator[Row]:
    """The answers in results.jsonl, one at a time, each once, without those that failed."""
    keys_so_far: set[tuple[str, str]] = set()
    for _, row in read_rows(results):
        if row.get("error") is None and (row["method"], row["id"]) not in keys_so_far:
            keys_so_far.add((row["method"], row["id"]))
            yield cast(Row, row)


def find_unjudged_rows(results: Path, lines: dict[tuple[str, str], JudgedLine]) -> Iterator[Row]:
    """The answers without a verdict. A verdict on an answer that has changed since is removed from `lines`."""
    for row in read_answers(results):
        key = row["method"], row["id"]
        if key in lines and lines[key]["answer"] != str(row["answer"]):
            del lines[key]
        if key not in lines:
            yield row


def find_obvious_verdict(row: Row) -> JudgedLine | None:
    """The verdict on an answer that needs no judge; None if it needs one. `gold` of a row: the accepted answers."""
    if row["em"] != 1 and row["gold"] and not row["unknown"]:
        return None
    return make_line(row, row["em"], {})


async def ask_judge(row: Row, judge: Judge) -> JudgedLine | None:
    """The judge's verdict; None if its call failed permanently."""
    config: RunnableConfig = {"callbacks": [judge.spending]}
    try:
        # A runnable passes its callbacks on to the calls of the model inside it, so `spending` counts them.
        line: JudgedLine = await RunnableLambda(partial(ask_verdict, context=judge.context)).ainvoke(row, config)
    except CallError:
        return None
    return line


async def ask_verdict(row: Row, context: Context) -> JudgedLine:
    """The judge's verdict on an answer. Raises `CallError` if the call failed permanently."""
    replies = await ask(
        CORRECTNESS.read_with(add_malformed_flag(CORRECTNESS.parse)),
        Runtime(context=context),
        question=row["question"],
        golds=row["gold"],
        answer=str(row["answer"]),
        call_subject=row["id"],
    )
    reply = replies.values[0]
    return make_line(row, None if reply.malformed else float(reply.value), replies.state_update["usage"])


def make_line(row: Row, verdict_value: float | None, usage: Mapping[str, Usage]) -> JudgedLine:
    judge_usage: Any = usage.get(CORRECTNESS.name, {})
    return JudgedLine(
        id=row["id"],
        method=row["method"],
        answer=str(row["answer"]),
        judged=verdict_value,
        asked=bool(judge_usage),
        usage={name: judge_usage.get(name, 0) for name in COUNT_KEYS},
    )


def add_verdicts_to_scores(
    results: Results, lines: Mapping[tuple[str, str], JudgedLine], failures: list[tuple[str, str]]
) -> None:
    """Add the verdicts and their usage to the scores of each method. failures: (method, id) of failed judge calls."""
    for name, scores in results.scores.items():
        verdicts_of_method = {id_: lines[name, id_] for id_ in scores.ids if (name, id_) in lines}
        counts: dict[str, float | int | None] = {
            "unscored": sum(item["judged"] is None for item in verdicts_of_method.values()),
            "judge_errors": sum(method == name for method, _ in failures),
        }
        for key in COUNT_KEYS:
            usage_counts = [item["usage"][key] for item in verdicts_of_method.values()]
            counts[f"judge_{key}"] = round(sum(usage_counts) / len(usage_counts), 6) if usage_counts else None
        scores.add_verdicts({id_: item["judged"] for id_, item in verdicts_of_method.items()}, counts)
