"""Runs that are kept: a file each under the store, which `quorum trace` prints, too."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder, open_private_text
from quorum.evaluation.trace import FORMAT, Step, plain, step_of
from quorum.models.tracing import cleaned, hides_passages
from quorum.ui.asking import Asking
from quorum.ui.run import Answer, Run

ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")


@dataclass(frozen=True)
class Kept:
    """A line in the list of past runs. `asked`: seconds since 1970."""

    id: str
    question: str
    methods: str
    asked: float


def home_of(base: Context) -> Path:
    """The folder of what a page keeps: a local store's, else .quorum/."""
    return Path(".quorum" if "://" in base.store else base.store).expanduser().resolve()


def save(run: Run, folder: Path) -> None:
    """Write a run; a folder that cannot be written to is a `SetupError`. Blocks."""
    file = folder / f"{run.id}.json"
    part = file.with_suffix(".part")
    try:
        make_private_folder(folder)
        with open_private_text(part) as draft:
            draft.write(json.dumps(told(run), ensure_ascii=False, indent=1) + "\n")
        os.replace(part, file)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise SetupError(
            f"This run is not kept: {folder} cannot be written to ({error.strerror}); give another --store."
        ) from None


def told(run: Run) -> dict[str, Any]:
    """A run as JSON: a saved trace, and under "page" what a page shows besides."""
    answers = [
        {"name": one.name, "method": one.method, "phase": one.phase, "error": one.error, "seconds": one.seconds}
        | {"result": cleaned(one.result, hides_passages()), "graphs": len(one.root.steps)}
        for one in run.answers
    ]
    asking = {"methods": run.asking.methods, "settings": cleaned(dict(run.asking.settings), False)}
    return {
        "format": FORMAT,
        "question": run.asking.question,
        "method": ",".join(one.name for one in run.answers),
        "page": {"asked": run.asked, **asking, "answers": answers},
        "steps": [plain(step) for one in run.answers for step in one.root.steps],
    }


def load(id_: str, folder: Path) -> Run:
    """The run of that name; one that is not there or cannot be read is a `SetupError`. Blocks."""
    if not ID.fullmatch(id_) or not (folder / f"{id_}.json").is_file():
        raise SetupError(f"There is no run {id_[:40]!r} in {folder}; choose one from the list of past runs.")
    try:
        kept = json.loads((folder / f"{id_}.json").read_text(encoding="utf-8"))
        page, steps = kept["page"], iter([step_of(one) for one in kept["steps"]])
        asking = Asking(str(kept["question"]), str(page["methods"]), dict(page["settings"]))
        return Run(id_, asking, float(page["asked"]), [answer_of(one, steps) for one in page["answers"]])
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise SetupError(f"The run {id_} cannot be read ({type(error).__name__}); ask its question again.") from None


def answer_of(kept: dict[str, Any], steps: Iterator[Step]) -> Answer:
    """An answer with the graphs that are its own, which come in order."""
    root = Step("run", "run", steps=[next(steps) for _ in range(int(kept["graphs"]))])
    return Answer(
        name=kept["name"],
        method=kept["method"],
        phase=kept["phase"],
        result=kept["result"],
        error=kept["error"],
        seconds=kept["seconds"],
        root=root,
    )


def recent(folder: Path, count: int = 30) -> list[Kept]:
    """The last runs, newest first; files that are none are left out. Blocks."""
    files = sorted((file for file in folder.glob("*.json") if ID.fullmatch(file.stem)), reverse=True)
    lines = (line_of(file) for file in files[:count])
    return [line for line in lines if line is not None]


@lru_cache(maxsize=1000)
def line_of(file: Path) -> Kept | None:
    """What the list says of a run, whose file never changes."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return Kept(file.stem, str(kept["question"]), str(kept["method"]), float(kept["page"]["asked"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
