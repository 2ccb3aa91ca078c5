"""Reads and writes config.json: an evaluation continues a folder only with the same configuration."""

import json
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.evaluation.run.result_files import write_json

ABSENT_VALUE = object()
MOST_NAMED_DIFFERENCES = 4


def write_or_check_config(folder: Path, config: dict[str, Any]) -> None:
    """Write config.json, or check that the existing one is the same. If the folder has results and its configuration
    differs, raises a `SetupError` that names the differences. Without results, config.json is replaced.
    """
    path, results = folder / "config.json", folder / "results.jsonl"
    if path.exists():
        existing_config = read_json_file(path)
        if existing_config != config and not (results.exists() and results.stat().st_size):
            write_json(path, config)
        elif existing_config != config:
            lines = list_differences(existing_config, config)
            unnamed_count = len(lines) - MOST_NAMED_DIFFERENCES
            more = f"; and {unnamed_count} more" if unnamed_count > 0 else ""
            raise SetupError(
                f"{folder} holds results of another configuration ({'; '.join(lines[:MOST_NAMED_DIFFERENCES])}{more}); "
                "give another folder with --out, or the same settings to continue."
            )
    elif results.exists():
        raise SetupError(f"{folder} holds results but no config.json; give another folder with --out.")
    else:
        write_json(path, config)


def read_json_file(path: Path) -> Any:
    """The content of any JSON file of a results folder. Raises `SetupError` if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise SetupError(f"{path} cannot be read ({error}); give another folder with --out.") from None


def list_differences(before: Any, after: Any, name: str = "") -> list[str]:
    """'settings.k was 5, now 10' for each value that differs. A part that is missing on one side gets one line."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(before.keys() | after.keys())
        pairs = [
            (f"{name}.{key}".lstrip("."), before.get(key, ABSENT_VALUE), after.get(key, ABSENT_VALUE)) for key in keys
        ]
        return [line for path, left, right in pairs for line in list_differences(left, right, path)]
    return [] if before == after else [f"{name} was {format_value(before)}, now {format_value(after)}"]


def format_value(value: Any) -> str:
    if value is ABSENT_VALUE:
        return "absent"
    return "there" if isinstance(value, dict) else json.dumps(value)
