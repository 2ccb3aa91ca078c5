"""The settings and metrics in the command that repeats a comparison (`Options.describe_command`)."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any

from quorum.core.context import Context
from quorum.core.settings.setting_sources import read_default
from quorum.core.where import Setting
from quorum.evaluation.metrics.registry import Scorer

SETTINGS_WITH_OPTIONS = ("store", "embeddings")  # settings that `quorum compare` takes as options of their own
# Settings that the command refuses or decides otherwise: methods read the corpus; --where and answer_type see below.
LEFT_OUT = ("collection", "where", "answer_type")


def list_setting_words(context: Context, task: str | None, decided: Collection[str]) -> Iterator[str]:
    """The words of --store, --embeddings, --where and --set for the settings that are not the built-in defaults.

    task: of all questions, if one is stated; decided: settings that other options decide, which are left out.
    """
    settings = {
        name: value for name, value in list_changed_settings(context) if name not in LEFT_OUT and name not in decided
    }
    if task is not None:
        settings["answer_type"] = task
    for name in SETTINGS_WITH_OPTIONS:
        if name in settings:
            yield from (f"--{name}", settings.pop(name))
    for text in list_conditions(context.where):
        yield from ("--where", text)
    for name, value in settings.items():
        yield from ("--set", f"{name}={value}")


def list_changed_settings(context: Context) -> Iterator[tuple[str, str]]:
    """Settings that differ from the built-in default, each with its value as --set takes it."""
    for field in fields(Context):
        value = getattr(context, field.name)
        if value != read_default(field.name) and (value is None or isinstance(value, str | int | float)):
            yield field.name, format_value(value)


def format_value(value: Any) -> str:
    """A value as the command line takes it.

    >>> [format_value(value) for value in (True, None, 0.5, 3)]
    ['true', 'none', '0.5', '3']
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def list_conditions(where: Setting) -> list[str]:
    """The texts of --where; all of them must hold.

    >>> list_conditions(["year>=2020", {"team": "HR"}])
    ['year>=2020', '{"team": "HR"}']
    """
    conditions = where if isinstance(where, list) else [where] if where else []
    return [part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in conditions]


def list_metric_places(metrics: Mapping[str, Scorer]) -> list[str]:
    """'NAME=MODULE:FUNCTION' of each metric that a module holds under a name."""
    places = {
        name: (getattr(metric, "__module__", None), getattr(metric, "__qualname__", ""))
        for name, metric in metrics.items()
    }
    return [
        f"{name}={module}:{function}"
        for name, (module, function) in places.items()
        if module not in (None, "__main__") and function.isidentifier()
    ]
