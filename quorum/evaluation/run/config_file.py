"""Reads and writes config.json: an evaluation adds to a folder of results only with the same configuration."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.text import PUBLISHED_MEASURE
from quorum.evaluation.run.result_files import write_json

ABSENT_VALUE = object()
FOLDER_KEY = "data_folder"  # in config.json: the name of the folder of the data
MOST_NAMED_DIFFERENCES = 4


def write_or_check_config(folder: Path, config: dict[str, Any], data_folder: str | None = None) -> None:
    """Write config.json, or check that the existing one is the same. data_folder: the name of the folder of the data,
    which is written for people to read; the same data in another folder are the same configuration.

    If it differs and the folder has results, raises a `SetupError` that names the differences. If it differs and the
    folder has no results, it is replaced. Results without a config.json raise a `SetupError`, too. A config.json that
    names no `answer_measure` is of an older version, which had only SQuAD's.
    """
    config_path, results_path = folder / "config.json", folder / "results.jsonl"
    written_config = config if data_folder is None else {**config, FOLDER_KEY: data_folder}
    if config_path.exists():
        existing_config = read_json_file(config_path)
        if isinstance(existing_config, dict):
            existing_config.pop(FOLDER_KEY, None)
        if isinstance(existing_config, dict) and "answer_measure" in config:
            existing_config = {"answer_measure": PUBLISHED_MEASURE, **existing_config}
        if existing_config != config and not (results_path.exists() and results_path.stat().st_size):
            write_json(config_path, written_config)
        elif existing_config != config:
            differences = list_differences(existing_config, config)
            unnamed_count = len(differences) - MOST_NAMED_DIFFERENCES
            more = f"; and {unnamed_count} more" if unnamed_count > 0 else ""
            raise SetupError(
                f"{folder} holds results of another configuration "
                f"({'; '.join(differences[:MOST_NAMED_DIFFERENCES])}{more}); "
                "give another folder with --out, or the same settings to continue."
            )
    elif results_path.exists():
        raise SetupError(f"{folder} holds results but no config.json; give another folder with --out.")
    else:
        write_json(config_path, written_config)


def describe_data(config: Mapping[str, Any]) -> str:
    """The file of the data with its folder, as config.json names them: a file's own name may say little.

    >>> describe_data({"data": {"file": "dev.jsonl.gz"}, "data_folder": "hotpotqa"})
    'hotpotqa/dev.jsonl.gz'
    """
    data = config.get("data") or {}
    if isinstance(origin := data.get("langsmith"), dict):
        return f"LangSmith's {origin.get('name')} ({str(origin.get('version'))[:16]})"
    file, folder = str(data.get("file") or "?"), config.get(FOLDER_KEY)
    return f"{folder}/{file}" if folder else file


def read_json_file(path: Path, advice: str = "give another folder with --out") -> Any:
    """The content of any JSON file of a results folder. Raises `SetupError` if it cannot be read.

    advice: what the user can then do, the end of the error's message.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise SetupError(f"{path} cannot be read ({error}); {advice}.") from None


def list_differences(before: Any, after: Any, name: str = "") -> list[str]:
    """A line for each value that differs, such as "settings.k was 5, now 10". name: the key of `before` and `after`.

    An object that is missing on one side gets one line, not one for each of its values.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(before.keys() | after.keys())
        pairs = [
            (f"{name}.{key}".lstrip("."), before.get(key, ABSENT_VALUE), after.get(key, ABSENT_VALUE)) for key in keys
        ]
        return [line for path, left, right in pairs for line in list_differences(left, right, path)]
    return [] if before == after else [f"{name} was {format_value(before)}, now {format_value(after)}"]


def format_value(value: Any) -> str:
    """A value as JSON; an object only as "present", because its text may be long; "absent" for a missing value."""
    if value is ABSENT_VALUE:
        return "absent"
    return "present" if isinstance(value, dict) else json.dumps(value)
