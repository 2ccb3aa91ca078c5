"""`quorum doctor`: is everything sound? Environment, packages, settings, store, model; and what to do if not."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import AsJson, Collection, Embeddings, Model, Settings, Store

if TYPE_CHECKING:
    from quorum.cli.doctor_checks import Finding

MARKS = {"ok": "ok  ", "note": "note", "fault": "FAIL"}
NoCall = Annotated[bool, typer.Option("--no-call", help="Do not call the model.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Call the model without asking first.")]


def doctor(
    model: Model = None,
    collection: Collection = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
    no_call: NoCall = False,
    yes: Yes = False,
    json: AsJson = False,
) -> None:
    """Check the environment, the packages, the settings, the store and the model, and say what to do.

    The model is called once; what that costs is said first, and you are asked. Exits with 1 if something fails.
    """
    from quorum.cli.doctor_checks import check_model_once, check_place, describe_cost, is_call_needed

    options = {"model": model, "collection": collection, "store": store, "embeddings": embeddings}
    context, findings = check_place(settings, options)
    if not json:
        for finding in findings:
            print_finding(finding)
    if context is not None:
        may_call = not no_call
        if may_call and is_call_needed(context):
            may_call = yes or ask_whether_to_call(describe_cost(context))
        last = check_model_once(context, may_call=may_call, is_refused=no_call)
        findings += last
        if not json:
            for finding in last:
                print_finding(finding)
    has_failed = any(finding.state == "fault" for finding in findings)
    if json:
        print_json(findings, has_failed)
    else:
        faults = sum(finding.state == "fault" for finding in findings)
        typer.echo(f"\n{faults} of {len(findings)} checks failed." if faults else "\nEverything checked is sound.")
    if has_failed:
        raise typer.Exit(1)


def ask_whether_to_call(cost: str) -> bool:
    """Say what the call costs, and ask a person whether to make it. Nobody is asked where there is no terminal."""
    typer.echo(f"quorum: {cost}", err=True)
    if not sys.stdin.isatty():
        return False
    typer.echo("Call it? [y/N] ", err=True, nl=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def print_finding(finding: "Finding") -> None:
    """A finding, and what to do on the next line; on a terminal in its width."""
    from shutil import get_terminal_size
    from textwrap import fill

    width = max(get_terminal_size().columns, 40)
    lines = [f"{MARKS[finding.state]}  {finding.subject}: {finding.text}"]
    lines += [f"      -> {finding.advice}"] if finding.advice else []
    for line in lines:
        indent = " " * (9 if line.startswith("      ->") else 6)
        typer.echo(
            fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
            if sys.stdout.isatty()
            else line
        )


def print_json(findings: "list[Finding]", has_failed: bool) -> None:
    from dataclasses import asdict
    from json import dumps

    content = {"sound": not has_failed, "findings": [asdict(finding) for finding in findings]}
    typer.echo(dumps(content, ensure_ascii=False, indent=2))
