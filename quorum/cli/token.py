"""`quorum token`: adds, lists and revokes the tokens with which a team asks a server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.cli.options import AsJson
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.serving.named_tokens import NamedToken

DEFAULT_FILE = Path("tokens.json")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who asks: a person or a program.", show_default=False)]
File: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--tokens",
        metavar="FILE",
        envvar="QUORUM_TOKEN_FILE",
        show_envvar=True,
        help="Token file, which quorum serve --tokens FILE reads.",
    ),
]
app = typer.Typer(
    name="token",
    help="Add, list and revoke the tokens of a server's token file.",
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def list_by_default(context: typer.Context, file: File = DEFAULT_FILE) -> None:
    """Add, list and revoke the tokens with which a team asks a server. Without a command: list them."""
    if context.invoked_subcommand is None:
        list_tokens(file)
    else:  # this --tokens, before the command, becomes the default of the command's own --tokens
        context.default_map = {context.invoked_subcommand: {"file": file}}


@app.command("add")
def add_token(
    name: Name,
    collections: Annotated[
        str | None,
        typer.Option(
            "--collections",
            metavar="NAMES",
            help="What it may read, separated by commas; by default all.",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="FILTER", help="Only passages with these metadata, such as 'team=HR', in every search."
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="NAMES", help="How it may ask, separated by commas; by default all methods."),
    ] = None,
    questions_per_minute: Annotated[
        int | None,
        typer.Option("--questions-per-minute", metavar="N", min=1, help="In place of the server's own limit."),
    ] = None,
    dollars_per_day: Annotated[
        float | None, typer.Option("--dollars-per-day", metavar="X", min=0, help="In place of the server's own limit.")
    ] = None,
    file: File = DEFAULT_FILE,
) -> None:
    """Make a token, and print it: once, for the file holds only its hash."""
    from secrets import token_hex

    from quorum.core.where import parse_where
    from quorum.serving.named_tokens import Allowance, NamedToken, change_token_file, hash_token, is_name

    if not is_name(name):
        raise SetupError(
            f"A token cannot have the name {name[:80]!r}; give a letter, then up to 63 letters, digits, '_', '.' or "
            "'-' (and not local, owner or health)."
        )
    parse_where(where)
    check_methods(split_names(methods) or ())
    warn_of_collections(split_names(collections) or ())
    token = f"quorum_{token_hex(24)}"
    limits = Allowance(questions_per_minute, dollars_per_day)
    entry = NamedToken(
        name, hash_token(token), split_names(collections), (where or "").strip() or None, split_names(methods), limits
    )
    with change_token_file(file) as tokens:
        if any(other.name == name for other in tokens):
            raise SetupError(
                f"{file} has a token of {name!r} already; give another name, or revoke that one first: quorum token "
                f"revoke {name}."
            )
        tokens.append(entry)
    typer.echo(f"The token of {name}, shown only now; it is sent as API key, and opens the page:", err=True)
    typer.echo(token)


@app.command("list")
def list_tokens(file: File = DEFAULT_FILE, json: AsJson = False) -> None:
    """List the names, and what each may ask."""
    from quorum.core.files import expand_home
    from quorum.serving.named_tokens import read_named_tokens

    tokens = read_named_tokens(expand_home(file))
    if json:
        from json import dumps

        shown = [{key: value for key, value in token.to_json().items() if key != "hash"} for token in tokens]
        typer.echo(dumps(shown, ensure_ascii=False, indent=2))
        return
    for token in tokens:
        typer.echo(f"{token.name}: {describe_token(token)}")
    if not tokens:
        typer.echo(f"{file} holds no token; add one with: quorum token add NAME")


@app.command("revoke")
def revoke_token(name: Name, file: File = DEFAULT_FILE) -> None:
    """Take a token away. A running server refuses its next request."""
    from quorum.core.files import expand_home
    from quorum.serving.named_tokens import change_token_file, read_named_tokens

    read_named_tokens(expand_home(file))  # a missing file is not made
    with change_token_file(file) as tokens:
        kept = [token for token in tokens if token.name != name]
        if len(kept) == len(tokens):
            known = ", ".join(token.name for token in tokens) or "none"
            raise SetupError(f"{file} has no token of {name[:80]!r}; it has: {known}.")
        tokens[:] = kept
    typer.echo(f"{name} is revoked.")


def check_methods(names: tuple[str, ...]) -> None:
    """Raise `SetupError` for a name that looks like a mistyped method. Any other unknown name is warned of: it may be
    that of a cascade, which a server serves with --composed.
    """
    from difflib import get_close_matches

    from quorum.graphs.catalogue import list_methods

    known = list_methods() if names else {}
    for name in names:
        if name in known:
            continue
        similar = get_close_matches(name, known, n=1, cutoff=0.85)
        if similar:
            raise SetupError(f"There is no method {name!r}; did you mean {similar[0]}? quorum methods lists them.")
        typer.echo(f"quorum: {name!r} is no method of Quorum; a server must serve it with --composed.", err=True)


def warn_of_collections(names: tuple[str, ...]) -> None:
    """Say which collections the store of this folder lacks. It may be another store than the server's."""
    if not names:
        return
    from contextlib import suppress

    from quorum.cli.settings import read_context
    from quorum.retrievers.collection_names import SAMPLE
    from quorum.retrievers.collections import list_collections

    with suppress(SetupError):  # without a store that can be read there is nothing to compare with
        store = read_context(None).store
        held = {SAMPLE, *list_collections(store)}
        for name in names:
            if name not in held:
                typer.echo(f"quorum: the store {store} has no collection {name!r} now.", err=True)


def split_names(text: str | None) -> tuple[str, ...] | None:
    """The names in a comma-separated text, each once; None for None."""
    return None if text is None else tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def describe_token(token: "NamedToken") -> str:
    """What a token may ask, on one line."""
    from quorum.core.where import describe_filter, parse_where

    parsed = parse_where(token.where)
    parts = [
        describe_names("collection", token.collections),
        describe_names("method", token.methods),
        *([] if parsed is None else [f"only where {describe_filter(parsed)}"]),
    ]
    if token.limits.questions_per_minute is not None:
        parts.append(f"{token.limits.questions_per_minute} questions a minute")
    if token.limits.dollars_per_day is not None:
        parts.append(f"{token.limits.dollars_per_day:g} dollars a day")
    return "; ".join(parts)


def describe_names(word: str, names: tuple[str, ...] | None) -> str:
    if names is None:
        return f"all {word}s"
    return f"{word}s {', '.join(names)}" if len(names) > 1 else f"{word} {names[0]}" if names else f"no {word}"
