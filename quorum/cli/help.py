"""The commands, in groups by what one wants, and the layout of their help, in which no line is cut.

The module of a command is imported when the command is called: so `quorum --help` imports none of them.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# title -> {command: (module in quorum.cli, name in it, the line of the help)}; all in the order of the help
COMMANDS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Answer questions": {
        "ask": ("ask", "ask", "One answer, with the sentence that supports it."),
        "chat": ("chat", "chat", "A conversation on the terminal; follow-ups are understood."),
        "demo": ("demo", "demo", "Three questions and a comparison on the built-in sample."),
        "methods": ("methods", "methods", "The methods, or the graph of one."),
        "trace": ("saved_trace", "trace", "A run that quorum ask --save-trace wrote, prompt by prompt."),
    },
    "Documents": {
        "index": ("index", "index", "Read files and folders into a collection."),
        "collections": ("collections", "app", "List, show, rename, remove, export, import collections."),
    },
    "Compare and decide": {
        "questions": ("questions", "questions", "Write test questions about your documents."),
        "eval": ("evaluate", "evaluate", "Ask methods the questions of a file, and score them."),
        "compare": ("compare", "compare", "Score and price methods, and recommend one."),
        "results": ("results", "results", "The runs so far: data, models, methods, date."),
        "show": ("results", "show", "The tables of a run again, also for LaTeX and as CSV."),
        "compose": ("compose", "compose", "Join compared methods into a cheaper cascade."),
        "calibrate": ("calibrate", "calibrate", "Find how sure an answer must be, and withhold the rest."),
        "gate": ("gate", "gate", "May this new run replace that old one? Yes, no, undecided."),
    },
    "Serve": {
        "serve": ("serve", "serve", "The page, and a server that OpenAI's clients can ask."),
        "token": ("token", "app", "The tokens of a team: who may ask a server, and what."),
        "mcp": ("mcp", "mcp", "Let agents ask and search, by the Model Context Protocol."),
        "watch": ("watch", "watch", "Is what was promised of the served answers still kept?"),
        "label": ("label", "label", "Say which answers are right: a server's, or two methods'."),
    },
    "Research": {
        "experiment": ("experiment", "experiment", "A paper's table or figure, on your data."),
        "data": ("data", "data", "Convert published data sets."),
        "prompts": ("prompts", "app", "The prompts, and how a reply to one is read."),
        "filter": ("filter", "app", "Train context filters (FILCO) on your own questions."),
        "generator": ("finetune", "generator_training", "Train answering models (FILCO)."),
    },
    "Set up": {
        "doctor": ("doctor", "doctor", "Is everything sound? Packages, settings, store, model."),
        "config": ("config", "config", "Every setting, and where its value comes from."),
    },
}
PLACES = {name: place for commands in COMMANDS.values() for name, place in commands.items()}
OTHER_OPTIONS = "Options"
WHICH_ONE = (
    "Which one? eval scores methods on questions; compare also prices them and recommends one; compose joins them into "
    "a cheaper cascade; calibrate finds when to answer unknown; gate decides whether a new run may replace an old one; "
    "experiment repeats a table of a paper; watch says whether served answers keep what a calibration promised."
)


class GroupedCommands(TyperGroup):
    """A group of commands whose help gives the first sentence of each in full."""

    def list_lines(self) -> list[tuple[str, str, str]]:
        """(title, command, line of the help) of every command, in the order of the help."""
        return [("Commands", name, get_summary(command)) for name, command in self.commands.items()]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        lines = self.list_lines()
        width = max(len(name) for _, name, _ in lines)
        for title, rows in groupby(lines, lambda row: row[0]):
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for _, name, line in rows])


class GroupedOptions(TyperCommand):
    """A command whose help shows its options in groups, if they name one (`rich_help_panel`); the others come last."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or OTHER_OPTIONS, []).append(record)
        if groups.keys() <= {OTHER_OPTIONS}:
            super().format_options(ctx, formatter)
            return
        others = groups.pop(OTHER_OPTIONS, [])
        for title, records in [*groups.items(), (OTHER_OPTIONS, others)]:
            with formatter.section(title):
                formatter.write_dl(records)


class RootCommands(GroupedCommands):
    """The commands of `quorum`."""

    def list_lines(self) -> list[tuple[str, str, str]]:
        return [(title, name, line) for title, commands in COMMANDS.items() for name, (*_, line) in commands.items()]


class Commands(Mapping[str, Any]):
    """{name: command}; the command is made, and its module imported, when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in PLACES:
            raise KeyError(name)
        return make_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)

    def __contains__(self, name: object) -> bool:
        return name in PLACES


@cache
def make_command(name: str) -> Any:
    """The Click command of this name. Imports its module."""
    module, attribute, line = PLACES[name]
    content: Any = getattr(import_module(f"quorum.cli.{module}"), attribute)
    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    if isinstance(content, typer.Typer):
        holder.add_typer(content, name=name, cls=GroupedCommands, short_help=line)
    else:
        holder.command(name, short_help=line, cls=GroupedOptions)(content)
        holder.callback()(lambda: None)  # makes the holder a group, whatever it holds
    group: Any = typer.main.get_command(holder)
    return group.commands[name]


def get_summary(command: Any) -> str:
    """The command's short help, or the first sentence of its help."""
    if isinstance(command.short_help, str) and command.short_help:
        return str(command.short_help)
    first_paragraph = " ".join((command.help or "").split("\n\n")[0].split())
    sentence, stop, _ = first_paragraph.partition(". ")
    return sentence + stop.strip()
