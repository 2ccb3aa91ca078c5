"""`quorum label`: asks a person whether sampled answers are right."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Store

if TYPE_CHECKING:
    from quorum.evaluation.watch.labelling import LabelTask

CHOICES = {"y": True, "n": False, "s": None}  # key -> whether the answer is right; None to skip it


def label(
    promise: Annotated[
        str, typer.Argument(metavar="PROMISE", help="Name of a watched promise, or the file of its calibration.")
    ],
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who labels; by default the user.")] = None,
    store: Store = None,
) -> None:
    """Label the answers that wait, one after another: y if the answer is right, n if it is wrong, s to skip it.

    The method, its confidence and the labels of others are not shown. Every label is kept at once: stop with q or
    Ctrl-C and go on later. In place of a person, a program may write the keys, one on a line.
    """
    from quorum.cli.collections import get_store
    from quorum.evaluation.watch.folder import find_folder
    from quorum.evaluation.watch.labelling import check_who, list_tasks, save_label

    folder, name = find_folder(promise, get_store(store)), check_who(who or find_user())
    tasks = list_tasks(folder)
    if not tasks:
        typer.echo(f"No answer of {folder.name} waits for a label.")
        return
    count = 0
    for number, task in enumerate(tasks, 1):
        right = ask_person(task, f"{number} of {len(tasks)}")
        if right == []:
            break
        save_label(folder, task, right, name)
        count += 1
    print_end(count, len(tasks))
    typer.echo(f"How the promise stands: quorum watch {folder.name}")


def print_end(count: int, of: int) -> None:
    from quorum.core.text import format_count

    typer.echo(f"{format_count(count, 'answer')} labelled or skipped, {of - count:,} waiting.")


def ask_person(task: "LabelTask", position: str) -> list[bool] | None:
    """Whether each answer is right; None if the question is skipped; empty to stop."""
    typer.echo(f"\n[{position}] {task.question}")
    right = []
    for number, text in enumerate(task.answers, 1):
        mark = "" if len(task.answers) == 1 else f"{number}: "
        typer.echo(f"  {mark}{text}")
    for number in range(1, len(task.answers) + 1):
        key = read_key("" if len(task.answers) == 1 else f"{number} ")
        if key is None:
            return []
        if CHOICES[key] is None:
            return None
        right.append(bool(CHOICES[key]))
    return right


def read_key(subject: str) -> str | None:
    """The key that was typed; None for q and at the end of the input. Asks again for any other."""
    while True:
        try:
            key = input(f"{subject}right? y, n, s (skip), q (stop): ").strip().lower()[:1]
        except EOFError:
            return None
        if key == "q":
            return None
        if key in CHOICES:
            return key


def find_user() -> str:
    """The name of the user who runs the command."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):  # a user without a name, as in a container
        return "unknown"
