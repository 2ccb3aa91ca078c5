"""Writes the README's tables of methods and settings from the code: python docs/tables.py (a test keeps them equal)."""

import re
import typing
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from core.context import Context
from graphs import METHODS

README = Path(__file__).resolve().parent.parent / "README.md"


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def methods_table() -> str:
    """Every method: what it does, its calls and depth, its paper."""
    rows = (
        [f"`{one.name}`", one.summary, f"`{one.calls}`", one.depth, one.paper.partition(",")[0]]
        for one in METHODS.values()
    )
    return markdown(["method", "what it does", "calls", "depth", "paper"], rows)


def settings_table() -> str:
    """Every setting: its default and meaning, and the environment variable that sets it."""
    hints = typing.get_type_hints(Context, include_extras=True)
    rows = []
    for part in fields(Context):
        about = next(item for item in typing.get_args(hints[part.name]) if isinstance(item, FieldInfo))
        extra = about.json_schema_extra if isinstance(about.json_schema_extra, dict) else {}
        default = extra.get("default")
        shown = "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        rows.append([f"`{part.name}`", shown, about.description])
    return markdown(["setting", "default", "meaning"], rows)


def filled(text: str) -> str:
    """The README with both tables put between their marks."""
    for name, table in (("methods", methods_table()), ("settings", settings_table())):
        mark = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not mark.search(text):
            raise LookupError(f"README.md has no place for the table of {name}")
        text = mark.sub(lambda found, table=table: found[1] + table + "\n" + found[2], text)
    return text


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
