"""`quorum label`: asks a person whether sampled answers are right."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorum.cli.options import Store
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quorum.evaluation.watch.folder import WatchFolder

CHOICES = {"y": 0.0, "n": 1.0, "s": None}  # key -> z


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
    from quorum.core.text import format_count
    from quorum.evaluation.watch.folder import find_folder
    from quorum.evaluation.watch.standing import list_waiting

    folder = find_folder(promise, get_store(store))
    waiting = list_waiting(folder)
    if not waiting:
        typer.echo(f"No answer of {folder.name} waits for a label.")
        return
    count = 0
    for number, line in enumerate(waiting, 1):
        show_answer(line, f"{number} of {len(waiting)}")
        key = read_key()
        if key is None:
            break
        save_label(folder, str(line["id"]), CHOICES[key], who)
        count += 1
    rest = len(waiting) - count
    typer.echo(f"{format_count(count, 'answer')} labelled or skipped, {rest:,} waiting.")
    typer.echo(f"How the promise stands: quorum watch {folder.name}")


def show_answer(line: "Mapping[str, Any]", position: str) -> None:
    typer.echo(f"\n[{position}] {line['question']}\n  {line['answer']}")


def read_key() -> str | None:
    """The key that was typed; None for q and at the end of the input. Asks again for any other."""
    while True:
        try:
            key = input("right? y, n, s (skip), q (stop): ").strip().lower()[:1]
        except EOFError:
            return None
        if key == "q":
            return None
        if key in CHOICES:
            return key


def save_label(folder: "WatchFolder", id_: str, z: float | None, who: str | None) -> None:
    """Keep one label on the disk."""
    from datetime import UTC, datetime
    from getpass import getuser

    from quorum.evaluation.watch.folder import LABELS
    from quorum.evaluation.watch.sampling import format_time

    try:
        name = who or getuser()
    except (OSError, KeyError):  # a user without a name, as in a container
        name = "unknown"
    if "\n" in name or len(name) > 100:
        raise SetupError("--who must be a name of at most 100 characters on one line.")
    folder.append(LABELS, {"id": id_, "z": z, "who": name, "time": format_time(datetime.now(UTC))})
