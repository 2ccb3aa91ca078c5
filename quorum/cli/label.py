"""`quorum label`: asks a person whether answers are right, sampled ones of a server or those of compared methods."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Store
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorum.evaluation.shown.label_task import LabelTask

CHOICES = {"y": True, "n": False, "s": None}  # key -> whether the answer is right; None to skip it


def label(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PROMISE|RESULTS [RESULTS]",
            help="Name of a watched promise, or the file of its calibration; or results of two methods to compare: a "
            "folder of two, or FOLDER:METHOD twice.",
        ),
    ],
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="Who labels; by default the user.")] = None,
    store: Store = None,
) -> None:
    """Label the answers that wait, one after another: y if the answer is right, n if it is wrong, s to skip it.

    The method, its confidence and the labels of others are not shown. Every label is kept at once: stop with q or
    Ctrl-C and go on later. In place of a person, a program may write the keys, one on a line.

    Of results, only the questions are asked whose two answers differ, in random order, and which answer is whose is not
    shown; quorum gate BASELINE NEW --labels decides by the labels.
    """
    from quorum.evaluation.decisions.answer_labels import is_results
    from quorum.evaluation.shown.label_task import check_who

    name = check_who(who or find_user())
    if len(what) == 2 or (len(what) == 1 and is_results(what[0])):
        label_results(what, name)
    elif len(what) == 1:
        label_promise(what[0], name, store)
    else:
        raise SetupError("quorum label takes a promise, or the results of two methods: FOLDER:METHOD FOLDER:METHOD.")


def label_promise(promise: str, who: str, store: str | None) -> None:
    """Label the sampled answers of a watched promise."""
    from quorum.cli.collections import get_store
    from quorum.evaluation.watch.folder import find_folder
    from quorum.evaluation.watch.labelling import list_tasks, save_label

    folder = find_folder(promise, get_store(store))
    tasks = list_tasks(folder)
    if not tasks:
        typer.echo(f"No answer of {folder.name} waits for a label.")
        return
    ask_tasks(tasks, "answer", lambda task, right: save_label(folder, task, right, who))
    typer.echo(f"How the promise stands: quorum watch {folder.name}")


def label_results(texts: list[str], who: str) -> None:
    """Label the answers of two compared methods where they differ."""
    from quorum.evaluation.decisions.answer_labels import read_pair

    pair = read_pair(texts)
    tasks = pair.list_tasks()
    if tasks:
        ask_tasks(
            tasks,
            "question",
            lambda task, right: pair.save(task.id, None if right is None else task.sort_by_method(right), who),
        )
    else:
        typer.echo("All questions whose answers differ are labelled or skipped.")
    sides = " ".join(f"{results.folder}:{method}" for results, method in pair.sides)
    typer.echo(f"What follows: quorum gate {sides} --margin 0.03 --labels")


def ask_tasks(tasks: "list[LabelTask]", noun: str, save: "Callable[[LabelTask, list[bool] | None], None]") -> None:
    """Ask a person, one task after another, until there are no more or the person stops."""
    from quorum.core.text import format_count

    count = 0
    for number, task in enumerate(tasks, 1):
        right = ask_person(task, f"{number} of {len(tasks)}")
        if right == []:
            break
        save(task, right)
        count += 1
    typer.echo(f"{format_count(count, noun)} labelled or skipped, {len(tasks) - count:,} waiting.")


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
