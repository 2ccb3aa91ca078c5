"""Saves the page's runs and loads them: one file per run under the store. `quorum trace` prints these files, too."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.files import expand_home, read_regular
from quorum.core.private_files import make_private_folder, open_private_text
from quorum.core.store_folder import find_own_folder
from quorum.evaluation.shown.saved_run import read_number, read_result, read_saved_run
from quorum.evaluation.shown.trace import FORMAT_NAME, Step, step_to_json
from quorum.models.tracing import copy_without_secrets, hides_passages
from quorum.ui.query import AskRequest
from quorum.ui.run import Answer, Phase, Run

# Seconds since 1970: 31 December 9999, 00:00 UTC. In every time zone, this is still the year 9999.
LATEST_TIME = 253_402_214_400
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


@dataclass(frozen=True)
class PastRun:
    """A line in the list of past runs. methods: their names, with commas; asked_at: seconds since 1970."""

    id: str
    question: str
    methods: str
    asked_at: float


def find_saved_data_folder(server_context: Context) -> Path:
    """The folder under which the page saves runs and uploads: the store's, or .quorum/ if the store is a server."""
    return expand_home(find_own_folder(server_context.store)).resolve()


def save_run(run: Run, folder: Path) -> None:
    """Write a run to a file in the folder. Raises `SetupError` if this fails.

    Async callers call this function in a thread.
    """
    file = folder / f"{run.id}.json"
    part = file.with_suffix(".part")
    try:
        make_private_folder(folder)
        with open_private_text(part) as draft:
            draft.write(json.dumps(run_to_json(run), ensure_ascii=False, indent=1) + "\n")
        os.replace(part, file)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise SetupError(
            f"This run is not saved: {folder} cannot be written to ({error.strerror}); give another --store."
        ) from None


def run_to_json(run: Run) -> dict[str, Any]:
    """A run as JSON: a saved trace, with the page's additional data under "page".

    "steps" lists the graphs that ran, with their steps, in the order of the answers: first all graphs of the first
    answer, then those of the second, and so on. An answer's "graph_count" says how many of these graphs are its own.
    """
    answers = [
        {
            "name": answer.name,
            "method": answer.method,
            "phase": answer.phase,
            "error": answer.error,
            "seconds": answer.seconds,
        }
        | {
            "result": copy_without_secrets(answer.result, hide_passages=hides_passages()),
            "graph_count": len(answer.root.steps),
        }
        for answer in run.answers
    ]
    query = {
        "methods": run.query.methods,
        "settings": copy_without_secrets(dict(run.query.settings), hide_passages=False),
    }
    query |= {"follows": run.query.follows_run_id} if run.query.follows_run_id else {}
    return {
        "format": FORMAT_NAME,
        "question": run.query.question,
        "method": ",".join(answer.name for answer in run.answers),
        "page": {"asked_at": run.asked_at, **query, "answers": answers},
        "steps": [step_to_json(step) for answer in run.answers for step in answer.root.steps],
    }


def load_run(id_: str, folder: Path) -> Run:
    """Read the run with that id. Raises `SetupError` for a missing or unreadable file.

    Async callers call this function in a thread.
    """
    if not RUN_ID.fullmatch(id_) or not (folder / f"{id_}.json").is_file():
        raise SetupError(f"There is no run {id_[:40]!r}; choose one from the list of past runs.")
    try:
        saved_run, steps = read_run_file(folder / f"{id_}.json")
        past_run = describe_run(id_, saved_run)
        page, remaining_steps = saved_run["page"], iter(steps)
        settings = {read_text(name): read_text(value) for name, value in page["settings"].items()}
        query = AskRequest(past_run.question, read_text(page["methods"]), settings, read_text(page.get("follows", "")))
        return Run(id_, query, past_run.asked_at, [read_answer(answer, remaining_steps) for answer in page["answers"]])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise SetupError(f"The run {id_} cannot be read ({type(error).__name__}); ask its question again.") from None


def read_run_file(file: Path) -> tuple[dict[str, Any], list[Step]]:
    """The content of a run's file, and the run's steps.

    Raises OSError or ValueError for a file that cannot be read or holds no run.
    """
    return read_saved_run(read_regular(file))


def read_answer(saved_answer: dict[str, Any], steps: Iterator[Step]) -> Answer:
    """An answer with the trace of its graphs.

    steps: yields the graphs of all answers in order; this function takes those of this answer from it.
    """
    if saved_answer["phase"] not in get_args(Phase):
        raise ValueError("an answer has an unknown phase")
    # A run from a file is never in progress.
    phase: Phase = "stopped" if saved_answer["phase"] == "running" else saved_answer["phase"]
    root = Step("run", "run", steps=[next(steps) for _ in range(saved_answer["graph_count"])])
    return Answer(
        name=read_text(saved_answer["name"]),
        method=read_text(saved_answer["method"]),
        phase=phase,
        result=read_result(saved_answer["result"]),
        error=None if saved_answer["error"] is None else read_text(saved_answer["error"]),
        seconds=read_number(saved_answer["seconds"]),
        root=root,
    )


def describe_run(id_: str, saved_run: dict[str, Any]) -> PastRun:
    """The entry of a run in the list of past runs. saved_run: the content of its file."""
    asked_at = float(saved_run["page"]["asked_at"])
    if not 0 <= asked_at <= LATEST_TIME:
        raise ValueError("the time of the question is not in the calendar")
    return PastRun(id_, read_text(saved_run["question"]), read_text(saved_run["method"]), asked_at)


def read_text(value: Any) -> str:
    """Return the value if it is a text, else raise ValueError."""
    if isinstance(value, str):
        return value
    raise ValueError("expected a text")


def list_past_runs(folder: Path, count: int = 30) -> list[PastRun]:
    """The newest runs, `count` at most, newest first. Files that are not runs are left out.

    Async callers call this function in a thread.
    """
    # A run's id, which is the name of its file, begins with date and time.
    files = sorted((file for file in folder.glob("*.json") if RUN_ID.fullmatch(file.stem)), reverse=True)
    past_runs = (read_past_run(file) for file in files[:count])
    return [past_run for past_run in past_runs if past_run is not None]


@lru_cache(maxsize=1000)
def read_past_run(file: Path) -> PastRun | None:
    """The entry of a run's file in the list; None for an unreadable file.

    The result can be cached, because a run's file never changes.
    """
    try:
        return describe_run(file.stem, read_run_file(file)[0])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
