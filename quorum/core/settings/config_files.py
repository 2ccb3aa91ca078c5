"""Settings in files: quorum.toml of a project, and the user's own.

Values are looked up in this order: an option of the command, the environment (QUORUM_*), the project's file, the user's
file, the default. The commands read the files; Python reads them only by `Context.from_config`.

A project's file may come with a folder that somebody else wrote. So it can name no server's address, to which a key
would be sent, no secret, and it must belong to the user.
"""

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from quorum.core.errors import SetupError
from quorum.core.files import expand_home, read_regular
from quorum.core.redaction import SECRET_NAME, redact_secrets

FILE_NAME = "quorum.toml"
ADDRESS_KEY, ADDRESS_VARIABLE = "openai_base_url", "OPENAI_BASE_URL"
ADDRESS_VARIABLES = (ADDRESS_VARIABLE, "OPENAI_API_BASE")
PATH_SETTINGS = ("store", "examples", "calibration", "prompts", "journal")  # a relative path is meant from the file
MODEL_PATH = re.compile(r"(transformers:|huggingface:(?=\.))(.+)")
MOST_BYTES = 1_000_000  # of a file of settings
Kind = Literal["project", "user"]
Checks = Mapping[
    str, Callable[[Any], None]
]  # setting -> a function that raises `SetupError` for a value that does not fit


@dataclass(frozen=True)
class ConfigFile:
    """A file of settings that was read. values: by setting; address: the server of OpenAI's protocol that it names."""

    kind: Kind
    path: Path
    values: Mapping[str, Any]
    address: str | None = None


def find_user_file() -> Path:
    """The user's file, in the folder that the platform has for settings. It need not exist. A user without a home
    folder, as in a container, has the one below "~", which no program makes.
    """
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return folder / "quorum" / FILE_NAME


def find_project_file(folder: Path | None = None) -> Path | None:
    """The project's file: in the folder, or in one of its parents up to the root of the repository; None if there is
    none. Outside a repository only the folder itself is searched. folder: by default the working directory.
    """
    start = (folder or Path.cwd()).absolute()
    searched = [start]
    for parent in (start, *start.parents):
        if (parent / ".git").exists():
            searched = [start, *(above for above in start.parents if above == parent or parent in above.parents)]
            break
    return next((path for place in searched if (path := place / FILE_NAME).is_file()), None)


def read_config_files(checks: Checks, folder: Path | None = None) -> list[ConfigFile]:
    """The project's file and the user's, as far as they exist; the first wins. Raises `SetupError` for a wrong file.

    checks: the settings that a file may hold (see `quorum.core.settings.setting_sources`).
    """
    found: list[tuple[Kind, Path | None]] = [("project", find_project_file(folder)), ("user", find_user_file())]
    return [read_config_file(kind, path, checks) for kind, path in found if path is not None and path.is_file()]


def read_config_file(kind: Kind, path: Path, checks: Checks) -> ConfigFile:
    """The settings in a file, checked. Raises `SetupError`, which names the file and the key."""
    check_owner(kind, path)
    try:
        content = tomllib.loads(read_regular(path, MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise SetupError(f"{path} cannot be read ({error.strerror}); correct its permissions, or remove it.") from None
    except ValueError as error:
        raise SetupError(f'{path} is no TOML ({error}); write lines like: model = "openai:qwen3"') from None
    address = content.pop(ADDRESS_KEY, None)
    if address is not None:
        check_address(kind, path, address)
    return ConfigFile(kind, path, dict(read_values(path, content, checks)), address)


def read_values(path: Path, content: Mapping[str, Any], checks: Checks) -> Iterator[tuple[str, Any]]:
    """Yield (setting, value) of a file's content, checked; paths are made absolute."""
    for name, value in content.items():
        check_is_no_secret(path, name, value, is_setting=name in checks)
        if name not in checks:
            raise SetupError(f"{path}: there is no setting {name!r}; quorum config lists the settings.")
        try:
            checks[name](value)
        except SetupError as error:
            raise SetupError(f"{path}: {error}") from None
        yield name, resolve_path(path.parent, name, value)


def check_owner(kind: Kind, path: Path) -> None:
    """Raise `SetupError` if a project's file belongs to another user of this machine, who could choose the models that
    are asked and the store that is written.
    """
    if kind == "user" or not hasattr(os, "getuid"):
        return
    owner = path.stat().st_uid
    if owner not in (os.getuid(), 0):
        raise SetupError(
            f"{path} belongs to another user (number {owner}), who would choose your settings; take it over (chown), "
            "remove it, or work in another folder."
        )


def check_address(kind: Kind, path: Path, address: Any) -> None:
    """Raise `SetupError` for an address in a project's file, for one with a login, and for what is no address."""
    if kind == "project":
        raise SetupError(
            f"{path}: {ADDRESS_KEY} is not taken from a project's file, because your key would be sent to that "
            f"address; put it into your own file, {find_user_file()}, or into the environment as {ADDRESS_VARIABLE}."
        )
    if not isinstance(address, str) or not re.match(r"https?://[^/\s]", address):
        raise SetupError(f"{path}: {ADDRESS_KEY} does not fit; write it like http://localhost:8000/v1.")
    check_is_no_secret(path, ADDRESS_KEY, address, is_setting=True)


def check_is_no_secret(path: Path, name: str, value: Any, *, is_setting: bool) -> None:
    """Raise `SetupError` for a key, a token or a password. Keys stay in the environment."""
    is_secret_name = SECRET_NAME.search(name) and not is_setting
    if is_secret_name or (isinstance(value, str) and redact_secrets(value) != value):
        variable = name.upper() if is_secret_name else "a variable such as OPENAI_API_KEY"
        raise SetupError(
            f"{path}: {name} holds a secret, and secrets do not belong in a file of settings; remove the line, and put "
            f"the secret into the environment as {variable}."
        )


def resolve_path(folder: Path, name: str, value: Any) -> Any:
    """The value; a relative path in it begins at the file's folder, wherever the command runs."""
    if not isinstance(value, str) or not value:
        return value
    if name in PATH_SETTINGS:
        is_path = "://" not in value and not (name == "journal" and value == "off")
        return str(folder / expand_home(value)) if is_path else value
    if match := MODEL_PATH.fullmatch(value):
        return f"{match[1]}{folder / expand_home(match[2])}"
    return value


def use_address(files: list[ConfigFile]) -> None:
    """Put the address that the user's file names into this process's environment, unless one is set there."""
    if not any(os.environ.get(variable) for variable in ADDRESS_VARIABLES):
        for file in files:
            if file.address is not None:
                os.environ[ADDRESS_VARIABLE] = file.address


def choose_from_files(files: list[ConfigFile]) -> dict[str, Any]:
    """The settings that the files decide: those that are not set in the environment."""
    chosen: dict[str, Any] = {}
    for file in reversed(files):
        chosen |= file.values
    return {name: value for name, value in chosen.items() if not os.environ.get(f"QUORUM_{name.upper()}")}
