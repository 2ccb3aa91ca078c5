"""`quorum methods`: lists the methods, or draws the graph of one."""

from typing import Annotated

import typer

from quorum.cli.completion import complete_method
from quorum.cli.options import AsJson
from quorum.core.errors import SetupError

NOTE_ON_CALLS = (
    "calls: the number of model calls for a question, for n samples (1 unless you set more), k passages, K candidates, "
    "s searches, T rounds and d different answers. [condition] x: x more calls, but only if the condition holds; 1..x: "
    "between 1 and x calls. depth: how many of them must be made one after the other. The numbers of calls hold with "
    "--set shorten=off, as in the papers, and with shorten=reader. With shorten=auto, one more call is made if a chat "
    "model answers in a sentence in which the built-in reader cannot read the short answer; with shorten=model, after "
    "every such sentence."
)


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The method to list or draw.",
            show_default=False,
            autocompletion=complete_method,
        ),
    ] = None,
    diagram: Annotated[bool, typer.Option("--diagram", help="Print the graph of NAME in Mermaid.")] = False,
    is_open: Annotated[
        bool,
        typer.Option("--open", help="With --diagram: also show what is inside the nodes that are graphs themselves."),
    ] = False,
    json: AsJson = False,
) -> None:
    """List the methods, or draw the graph of one."""
    from quorum.graphs import find_method, list_methods

    if diagram:
        if name is None:
            raise SetupError(
                "--diagram draws the graph of one method, and no method is named; write for example: "
                "quorum methods concat_pf --diagram."
            )
        typer.echo(find_method(name).draw(is_open=is_open), nl=False)
        return
    if is_open:
        raise SetupError(
            "--open shows what is inside the nodes of a diagram; write for example: quorum methods concat_pf --diagram "
            "--open."
        )
    chosen_methods = [find_method(name)] if name is not None else list(list_methods().values())
    rows = [
        {field: getattr(method, field) for field in ("name", "paper", "summary", "calls", "depth")}
        for method in chosen_methods
    ]
    if json:
        from json import dumps

        typer.echo(dumps(rows, ensure_ascii=False, indent=2))
    else:
        from quorum.cli.show import make_methods_table, make_stdout_console

        make_stdout_console().print(make_methods_table(rows))
        if name is not None:
            make_stdout_console().print(f"Source: {chosen_methods[0].paper}", markup=False, highlight=False)
        make_stdout_console().print(NOTE_ON_CALLS, style="dim")
