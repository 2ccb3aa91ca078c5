"""`quorum watch`: is what was promised of the answers still kept?"""

from typing import Annotated

import typer

from quorum.cli.options import AsJson, Store
from quorum.core.errors import SetupError

RESET = "reset"


def watch(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[reset] [PROMISE]",
            help="The promise: its name, or the file of its calibration. Without it, all are shown.",
            show_default=False,
        ),
    ] = None,
    because: Annotated[
        str | None, typer.Option("--because", metavar="TEXT", help="With reset: why the promise begins anew.")
    ] = None,
    store: Store = None,
    json: AsJson = False,
) -> None:
    """Say whether the promises that a server watches (quorum serve --watch FILE) are still kept, by the labels so far.

    An alarm is false with a probability of 5% at most, however often you look. quorum label PROMISE asks you for
    labels; quorum watch reset PROMISE --because TEXT begins anew.

    Exit code: 0 if the promise was confirmed since its last reset, 1 if it is refuted, 3 if neither, of several
    promises the worst. 2 means that the input is wrong.
    """
    names = list(words or ())
    if because is not None and names[:1] != [RESET]:
        raise SetupError("--because belongs to a reset; write: quorum watch reset PROMISE --because TEXT")
    from quorum.cli.collections import get_store
    from quorum.evaluation.watch.describe_standing import describe_standing
    from quorum.evaluation.watch.folder import count_watched, find_folder, list_folders
    from quorum.evaluation.watch.standing import compute_standing

    store_address = get_store(store)
    if names[:1] == [RESET]:
        reset_promise(names[1:], because, store_address)
        return
    folders = [find_folder(name, store_address) for name in names] if names else list_folders(store_address)
    if not folders:
        raise SetupError(f"No promise is watched in the store {store_address}; begin with: quorum serve --watch FILE.")
    watched_count = count_watched(store_address)
    standings = [compute_standing(folder, watched_count) for folder in folders]
    if json:
        from json import dumps

        typer.echo(dumps([standing.to_json() for standing in standings], ensure_ascii=False, indent=2))
    else:
        for standing in standings:
            typer.echo(f"{standing.promise.name}: {' '.join(describe_standing(standing))}")
    codes = {standing.exit_code for standing in standings}
    raise typer.Exit(next(code for code in (1, 3, 0) if code in codes))


def reset_promise(names: list[str], because: str | None, store_address: str) -> None:
    """Begin one promise anew."""
    from datetime import UTC, datetime

    from quorum.evaluation.watch.folder import find_folder
    from quorum.evaluation.watch.sampling import format_time
    from quorum.evaluation.watch.standing import reset

    if len(names) != 1 or not (because or "").strip():
        raise SetupError("A reset needs one promise and a reason; write: quorum watch reset PROMISE --because TEXT")
    folder = find_folder(names[0], store_address)
    reset(folder, str(because).strip(), format_time(datetime.now(UTC)))
    typer.echo(f"{folder.name} begins anew; the earlier answers and labels stay in {folder.path}.")
