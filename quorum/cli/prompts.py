"""`quorum prompts`: shows the texts that are sent to models, and how Quorum reads the replies to them."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorum.cli.completion import complete_prompt
from quorum.cli.options import AsJson, Settings
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.prompts import Overrides
    from quorum.prompts.catalogue import Description

app = typer.Typer(name="prompts", help="List the prompts, print one, or try how a reply to it is read.")
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A prompt, such as answer or ranking.",
        show_default=False,
        autocompletion=complete_prompt,
    ),
]
HOW_WORDS = {  # how a short answer was read out of a reply -> what this means
    "json": "from the field of a JSON object",
    "stripped": "what is left without lead-ins, Markdown and quotation marks",
    "reader": "by the built-in reader, out of the sentence",
    "as_is": "the reply as it stands",
}


@app.callback(invoke_without_command=True)
def list_prompts(context: typer.Context, json: AsJson = False, settings: Settings = None) -> None:
    """List the prompts, print one, or try how a reply to it is read."""
    if context.invoked_subcommand is not None:
        if settings and context.invoked_subcommand == "try":
            raise SetupError("quorum prompts try takes no --set, because no setting changes how a reply is read.")
        # Options before the subcommand, as in `quorum prompts --json show answer`, are the defaults of its own options.
        context.default_map = {context.invoked_subcommand: {"json": json, "settings": settings}}
        return
    rows = list(map(asdict, list_descriptions(settings)))
    if json:
        print_json(rows)
        return
    from quorum.cli.show import make_plain_table, make_stdout_console

    table = make_plain_table("family", "prompt", "variables", "version", "sent by")
    for row in rows:
        mark = " (yours)" if row["overridden"] else ""
        table.add_row(
            row["family"], row["name"] + mark, ", ".join(row["variables"]), row["version"], ", ".join(row["sent_by"])
        )
    make_stdout_console().print(table)


@app.command()
def show(name: Name, settings: Settings = None, json: AsJson = False) -> None:
    """Print a prompt's text; with --set prompts=FOLDER, the text in that folder that replaces it, if there is one."""
    from quorum.prompts import get_text

    check_name(name)
    text = get_text(name, read_overrides(settings))
    if json:
        description = next(item for item in list_descriptions(settings) if item.name == name)
        print_json({**asdict(description), "text": text})
    else:
        typer.echo(text)


@app.command("try")
def try_reply(
    name: Name,
    reply: Annotated[
        str | None, typer.Option("--reply", metavar="TEXT", help="The reply; - reads it from standard input.")
    ] = None,
    reply_file: Annotated[
        Path | None, typer.Option("--reply-file", metavar="FILE", help="The reply, as a UTF-8 text file.")
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", metavar="TEXT", help="What was asked; the built-in reader needs it.")
    ] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidates", metavar="TEXT", help="A text that the reply may choose; give the option once for each."
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", min=0, help="How many passages or candidates the prompt asked about."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Print how a reply to a prompt is read; no model is called.

    answer: the answer that a method takes from the reply; how: how it was read out of it; unknown: whether the reply
    says that it cannot answer; malformed: whether it lacks the form that the prompt asks for.
    """
    from quorum.core.refusals.unknown import is_unknown
    from quorum.nodes.read_answer import read_answer
    from quorum.prompts.read_reply import ARGUMENT_DESCRIPTIONS, list_required_arguments, read_reply
    from quorum.prompts.registry import get_prompt

    check_name(name)
    prompt, extra_arguments = get_prompt(name), {"question": question, "candidates": candidates, "count": count}
    if missing := sorted(argument for argument in list_required_arguments(prompt) if extra_arguments[argument] is None):
        raise SetupError(f"To read a reply to {name!r}, give --{missing[0]} ({ARGUMENT_DESCRIPTIONS[missing[0]]}).")
    text = read_text(reply, reply_file)
    parsed_reply = read_reply(name, text, question=question, candidates=candidates, count=count)
    value = (
        asdict(parsed_reply.value)
        if is_dataclass(parsed_reply.value) and not isinstance(parsed_reply.value, type)
        else parsed_reply.value
    )
    stated_answer = value.get("answer") if isinstance(value, dict) else value
    answer = stated_answer if isinstance(stated_answer, str) else None
    unknown, how = answer is not None and is_unknown(answer), None
    if answer is not None and prompt.short_answer is not None:
        reading = read_answer(question or "", text if prompt.short_answer == "reply" else answer)
        answer, unknown, how = reading.answer, reading.unknown, reading.how
    report = {
        "prompt": name,
        "value": value,
        "malformed": parsed_reply.malformed,
        "is_unknown": unknown,
        "answer": answer,
        "how": how,
    }
    if json:
        print_json(report)
        return
    fields = dict(value) if isinstance(value, dict) else {} if answer is not None else {"value": value}
    fields |= {"answer": answer} if answer is not None or "answer" in fields else {}
    fields |= {"how": f"{how} ({HOW_WORDS[how]})"} if how is not None else {}
    for name_of_field, content in {**fields, "unknown": unknown, "malformed": parsed_reply.malformed}.items():
        typer.echo(f"{name_of_field}: {format_value(content)}")
    if how == "as_is" and not unknown:
        advice = (
            "give --question, so that the built-in reader can read it"
            if question is None
            else "a method asks the model once more for the short answer, unless --set shorten=reader or off"
        )
        typer.echo(f"quorum: no short answer was read out of this reply; {advice}.", err=True)


def list_descriptions(settings: Sequence[str] | None) -> "list[Description]":
    """Each prompt with its family, variables and version, and with the methods and commands that send it."""
    from quorum.graphs.senders import find_senders
    from quorum.prompts.catalogue import describe_prompts

    return describe_prompts(find_senders(), read_overrides(settings))


def read_overrides(settings: Sequence[str] | None) -> "Overrides":
    """The user's prompts that replace built-in ones: from --set prompts=FOLDER or the environment."""
    from quorum.cli.settings import read_context

    return read_context(settings).prompts


def check_name(name: str) -> None:
    """Raise a `SetupError` if no prompt has this name."""
    from difflib import get_close_matches

    from quorum.prompts import BUILT_IN

    if name not in BUILT_IN:
        similar_names = get_close_matches(name.strip().lower().replace("-", "_"), BUILT_IN, n=1)
        suggestion = f"did you mean {similar_names[0]}?" if similar_names else "quorum prompts lists them."
        raise SetupError(f"There is no prompt {name!r}; {suggestion}")


def read_text(reply: str | None, reply_file: Path | None) -> str:
    """The reply: as given, from standard input for "-", or from a file. Raises `SetupError` unless one is given."""
    from quorum.core.files import read_regular

    if (reply is None) == (reply_file is None):
        raise SetupError("Give the reply as --reply TEXT or as --reply-file FILE; --reply - reads standard input.")
    if reply is not None:
        return sys.stdin.read() if reply == "-" else reply
    try:
        return read_regular(reply_file or Path()).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SetupError(f"The reply {str(reply_file)!r} cannot be read ({reason}); give a UTF-8 text file.") from None


def format_value(content: Any) -> str:
    """A value on one line: a bool as yes or no, a list with bars between its items, an empty value as a dash."""
    if content is None or content in ([], ""):
        return "-"
    if isinstance(content, bool):
        return "yes" if content else "no"
    return " | ".join(map(str, content)) if isinstance(content, list) else str(content)


def print_json(value: Any) -> None:
    from json import dumps

    typer.echo(dumps(value, ensure_ascii=False, indent=2))
