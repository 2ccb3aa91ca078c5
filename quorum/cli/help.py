"""How the commands' help is laid out: in groups, by what one wants, and no line is cut."""

from itertools import groupby
from typing import Any

from typer.core import TyperGroup

ANSWER, DOCUMENTS, DECIDE = "Answer questions", "Documents", "Compare and decide"
SERVE, RESEARCH, SETUP = "Serve", "Research", "Set up"
GROUPS = (ANSWER, DOCUMENTS, DECIDE, SERVE, RESEARCH, SETUP)

WHICH_ONE = (
    "Which one? eval scores methods on questions; compare also prices them and recommends one; compose joins them into "
    "a cheaper cascade; calibrate finds when to answer unknown; gate decides whether a new run may replace an old one; "
    "experiment repeats a table of a paper."
)


class GroupedCommands(TyperGroup):
    """A group of commands whose help lists them under the titles that they were registered with
    (`rich_help_panel`), and gives the first sentence of each in full.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        shown = [(get_title(command), name, command) for name, command in commands if not command.hidden]
        titles = [*GROUPS, *sorted({title for title, _, _ in shown} - {*GROUPS})]
        for title, rows in groupby(sorted(shown, key=lambda row: titles.index(row[0])), lambda row: row[0]):
            with formatter.section(title):
                width = max(len(name) for _, name, _ in shown)
                formatter.write_dl([(name.ljust(width), get_summary(command)) for _, name, command in rows])


def get_title(command: Any) -> str:
    """The title under which a command is listed."""
    title = getattr(command, "rich_help_panel", None)
    return title if isinstance(title, str) else "Commands"


def get_summary(command: Any) -> str:
    """The command's short help, or the first sentence of its help."""
    if isinstance(command.short_help, str) and command.short_help:
        return str(command.short_help)
    first_paragraph = " ".join((command.help or "").split("\n\n")[0].split())
    sentence, stop, _ = first_paragraph.partition(". ")
    return sentence + stop.strip()
