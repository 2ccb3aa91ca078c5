"""The runs in a folder of results: which data, models and methods each has, when it ran, and its table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.files import read_regular
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.config_file import describe_data
from quorum.evaluation.run.read_rows import read_rows
from quorum.evaluation.run.results import Summary
from quorum.evaluation.run.tasks import list_deciding_measures

MOST_LEVELS = 3  # how deep below the folder runs are looked for


@dataclass(frozen=True)
class SavedRun:
    """One run. data: its file of questions, with the folder; questions: how many were asked of the method that was
    asked the most; models: the chat models, as provider:name; changed: when it was last written to, ISO 8601 in UTC;
    finished: whether its tables were written.
    """

    folder: str
    data: str
    questions: int
    methods: list[str]
    models: list[str]
    changed: str
    finished: bool


@dataclass(frozen=True)
class RunTables:
    """What a run's tables show. summary: as in summary.json; comparisons: as in comparison.json; measures: those that
    decide, the first most; metrics: those that a package or the caller added; finished: whether these files exist, so
    that the summary is not of a run that was stopped.
    """

    summary: Summary
    comparisons: list[Any]
    measures: tuple[str, ...]
    metrics: tuple[str, ...]
    finished: bool


def list_runs(folder: Path) -> list[SavedRun]:
    """The runs below the folder, the latest first. Raises `SetupError` if there is no such folder."""
    if not folder.is_dir():
        raise SetupError(f"There is no folder {folder}; give the folder that --out named, or run quorum eval first.")
    runs = [read_run(path) for path in find_run_folders(folder)]
    return sorted(runs, key=lambda run: run.changed, reverse=True)


def find_run_folders(folder: Path, levels: int = MOST_LEVELS) -> Iterator[Path]:
    """The folders with a config.json and a results.jsonl, the folder itself included."""
    if (folder / "config.json").is_file() and (folder / "results.jsonl").is_file():
        yield folder
    elif levels:
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
                yield from find_run_folders(path, levels - 1)


def read_run(folder: Path) -> SavedRun:
    """The description of one run."""
    config, results = read_json(folder / "config.json"), folder / "results.jsonl"
    methods: Mapping[str, Any] = config.get("methods") or {}
    summary_path = folder / "summary.json"
    changed = max(path.stat().st_mtime for path in (results, summary_path) if path.is_file())
    return SavedRun(
        folder=str(folder),
        data=describe_data(config),
        questions=count_questions(results),
        methods=list(methods),
        models=list(dict.fromkeys(describe_model(method) for method in methods.values())),
        changed=datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds"),
        finished=summary_path.is_file(),
    )


def count_questions(results: Path) -> int:
    """How many questions were asked of the method that was asked the most."""
    ids: dict[str, set[str]] = {}
    for _, row in read_rows(results):
        ids.setdefault(row["method"], set()).add(row["id"])
    return max(map(len, ids.values()), default=0)


def describe_model(method: Any) -> str:
    """The chat model of a method in config.json: "openai:NAME", or "embedded"."""
    model = method.get("model") if isinstance(method, dict) else None
    if not isinstance(model, dict):
        return "own object" if model is None else str(model)
    provider, name = model.get("provider"), model.get("model")
    return str(provider) if provider in ("embedded", "scripted") or not name else f"{provider}:{name}"


def read_tables(folder: Path) -> RunTables:
    """What the tables of a run show. Of a run that was stopped, the summary is computed from its answers so far."""
    results = folder / "results.jsonl"
    if not results.is_file():
        raise SetupError(
            f"{folder} holds no results.jsonl; give a folder that quorum eval or compare wrote (quorum results lists "
            "them)."
        )
    scores: dict[str, ColumnScores] = {}
    for _, row in read_rows(results):
        scores.setdefault(row["method"], ColumnScores()).add(row)  # type: ignore[arg-type]
    tasks = {task for column_scores in scores.values() for task in column_scores.tasks}
    has_short_answers = any(len(column_scores.get_known_values("str_em")) for column_scores in scores.values())
    measures = list_deciding_measures(tasks or {"short"}, has_short_answers=has_short_answers)
    finished = (folder / "summary.json").is_file()
    if not scores:
        raise SetupError(f"{folder} holds no answers yet; run the command again that wrote it.")
    computed = {name: column_scores.summarize() for name, column_scores in scores.items()}
    summary: Summary = read_json(folder / "summary.json") if finished else computed
    if any(row.get("judged") is not None for row in summary.values()):
        measures = (*measures, "judged")
    comparison_path = folder / "comparison.json"
    comparisons = read_json(comparison_path) if finished and comparison_path.is_file() else []
    config_path = folder / "config.json"
    added = (read_json(config_path).get("metrics") or ()) if config_path.is_file() else ()
    metrics = tuple(name for name in added if any(row.get(name) is not None for row in summary.values()))
    return RunTables(summary, comparisons, measures, metrics, finished)


def read_json(path: Path) -> Any:
    """The content of a JSON file. Raises `SetupError` if it cannot be read."""
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{path} cannot be read ({error}); run the evaluation again, or give another folder."
        ) from None


LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def escape_latex(text: str) -> str:
    r"""A text as LaTeX prints it.

    >>> print(escape_latex("concat_pf[k=10] 50%"))
    concat\_pf[k=10] 50\%
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)


def write_latex(columns: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    r"""A table for LaTeX's package booktabs: the first column to the left, the others to the right. note: a comment."""

    def write_row(cells: Sequence[str]) -> str:
        return " & ".join(map(escape_latex, cells)) + r" \\"

    # A cell that begins with "[" after "\\" would be taken for a distance, so such a cell is put into braces.
    lines = [write_row(row) for row in rows]
    body = "\n".join("{}" + line if line.startswith("[") else line for line in lines)
    head = f"% {' '.join(note.split())}\n% needs \\usepackage{{booktabs}}"
    return (
        f"{head}\n\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}\n\\toprule\n{write_row(columns)}\n\\midrule\n"
        f"{body}\n\\bottomrule\n\\end{{tabular}}"
    )
