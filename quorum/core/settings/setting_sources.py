"""Where each setting's value comes from: command line, environment, a file, or default."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from quorum.core.context import Context, get_setting_schemas, make_setting_checks, read_environment
from quorum.core.settings.config_files import ConfigFile, choose_from_files, read_config_files


@dataclass(frozen=True)
class Setting:
    """A setting's value and where it comes from: "--set k", "QUORUM_K", a file's path, or "default"."""

    name: str
    value: Any
    source: str


def read_files(folder: Path | None = None) -> list[ConfigFile]:
    """The project's file and the user's (see `config_files`). folder: by default the working directory."""
    return read_config_files(make_setting_checks(), folder)


def list_settings(files: list[ConfigFile], options: Mapping[str, Any]) -> list[Setting]:
    """Every setting with its value and where it comes from. options: the values of the command line, by setting."""
    settings, from_files = [], choose_from_files(files)
    for name in (field.name for field in fields(Context)):
        default, variable = read_default(name), f"QUORUM_{name.upper()}"
        if name in options:
            settings.append(Setting(name, options[name], "command line"))
        elif os.environ.get(variable):
            settings.append(Setting(name, read_environment(name, default), variable))
        elif name in from_files:
            path = next(file.path for file in files if name in file.values)
            settings.append(Setting(name, from_files[name], str(path)))
        else:
            settings.append(Setting(name, default, "default"))
    return settings


def read_default(name: str) -> Any:
    """The built-in default of a setting, whatever the environment says."""
    return get_setting_schemas()[name].get("default")
