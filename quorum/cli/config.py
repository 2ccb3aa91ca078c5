"""`quorum config`: every setting with its value, and where the value comes from."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorum.cli.options import AsJson, Collection, Embeddings, K, Model, Retriever, Settings, Store

if TYPE_CHECKING:
    from quorum.core.settings.config_files import ConfigFile
    from quorum.core.settings.setting_sources import Setting

Name = Annotated[
    str | None,
    typer.Argument(metavar="SETTING", help="Only this setting; without it, all are shown.", show_default=False),
]


def config(
    name: Name = None,
    collection: Collection = None,
    model: Model = None,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
    json: AsJson = False,
) -> None:
    """Show every setting, and where its value comes from.

    The first that has a value wins: the command line, the environment (QUORUM_K), the project's quorum.toml (in this
    folder or above it, up to the root of the repository), your own file, the default. Both files hold lines such as:
    k = 8. Keys stay in the environment.
    """
    from quorum.cli.settings import read_options
    from quorum.core.context import get_setting_schemas, parse_setting
    from quorum.core.settings.setting_sources import list_settings, read_files

    options: dict[str, Any] = {
        "collection": collection, "model": model, "retriever": retriever, "k": k, "store": store,
        "embeddings": embeddings,
    }  # fmt: skip
    files = read_files()
    rows = list_settings(files, read_options(settings, options))
    if name is not None and name not in [row.name for row in rows]:
        parse_setting(name, "")  # raises the error that lists the settings
    chosen_rows = [row for row in rows if name in (None, row.name)]
    if json:
        print_as_json(files, chosen_rows)
    elif name is not None:
        typer.echo(f"{name} = {format_value(chosen_rows[0].value)} ({chosen_rows[0].source})")
        typer.echo(get_setting_schemas()[name]["description"])
    else:
        print_files(files)
        print_rows(chosen_rows)


def print_as_json(files: "list[ConfigFile]", rows: "list[Setting]") -> None:
    from json import dumps

    from quorum.core.settings.config_files import find_user_file

    found = {file.kind: str(file.path) for file in files}
    content = {
        "files": {"project": found.get("project"), "user": found.get("user"), "user_path": str(find_user_file())},
        "server": dict(zip(("address", "source"), find_address(files), strict=True)),
        "settings": {row.name: {"value": row.value, "source": row.source} for row in rows},
    }
    typer.echo(dumps(content, ensure_ascii=False, indent=2, default=str))


def print_files(files: "list[ConfigFile]") -> None:
    """Which files were read, the server's address, and whether there is a key."""
    from quorum.core.settings.config_files import FILE_NAME, find_user_file

    found = {file.kind: str(file.path) for file in files}
    typer.echo(f"project: {found.get('project') or f'no {FILE_NAME} here or above, up to the root of the repository'}")
    typer.echo(f"yours:   {found.get('user') or f'no file {find_user_file()}'}")
    address, source = find_address(files)
    typer.echo(f"openai:  {address} ({source})")
    key = "set, not shown" if os.environ.get("OPENAI_API_KEY") else "not set"
    typer.echo(f"key:     OPENAI_API_KEY is {key}; keys are read from the environment only")


def find_address(files: "list[ConfigFile]") -> tuple[str, str]:
    """The address of openai:NAME models, without a login, and where it comes from."""
    from quorum.core.settings.config_files import ADDRESS_VARIABLES
    from quorum.models.model_spec import OPENAI_URL, check_url, hide_login

    for variable in ADDRESS_VARIABLES:
        if url := os.environ.get(variable):
            return hide_login(check_url(url, variable)), variable
    for file in files:
        if file.address is not None:
            return file.address, str(file.path)
    return OPENAI_URL, "default"


def print_rows(rows: "list[Setting]") -> None:
    """The settings that were chosen, then the defaults."""
    from rich.text import Text

    from quorum.cli.show import make_plain_table, make_stdout_console

    table = make_plain_table("setting", "value", "from")
    for row in sorted(rows, key=lambda row: row.source == "default"):
        style = "dim" if row.source == "default" else "bold"
        table.add_row(Text(row.name, style=style), Text(format_value(row.value)), Text(row.source, style="dim"))
    console = make_stdout_console()
    console.print()
    console.print(table)


def format_value(value: Any) -> str:
    """A value as it is written in quorum.toml; a dash for none.

    >>> format_value(True), format_value("embedded"), format_value(None)
    ('true', 'embedded', '-')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return "-" if value is None else str(value)
