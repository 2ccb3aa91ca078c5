"""`quorum serve`: the page and the API, on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Embeddings, K, Model, Retriever, Settings, Store
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.serving.serve import Options

ALL = "all"


def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on; another than this machine's: --token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port; 0: any that is free.", min=0, max=65535)
    ] = 8765,
    token: Annotated[
        list[str] | None,
        typer.Option(
            "--token",
            metavar="TOKEN",
            envvar="QUORUM_TOKEN",
            help="What a visitor has to know; further ones are keys for the API alone.",
            show_envvar=True,
        ),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Serve the API alone; needs no extra.")] = False,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Collection that is chosen at first.")
    ] = None,
    collections: Annotated[
        str, typer.Option("--collections", metavar="NAMES", help="Further ones for the API's clients; 'all'.")
    ] = "",
    model: Model = None,
    allow_models: Annotated[
        str, typer.Option("--allow-models", metavar="SPECS", help="Further models for the API's clients.")
    ] = "",
    questions_per_minute: Annotated[
        int | None, typer.Option("--questions-per-minute", metavar="N", help="The most for one token (API).", min=1)
    ] = None,
    dollars_per_day: Annotated[
        float | None, typer.Option("--dollars-per-day", metavar="X", help="The most for one token (API).", min=0)
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", metavar="FILE", help="What models cost (TOML or JSON).")
    ] = None,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
) -> None:
    """Open a page to ask questions, watch the graphs at work, compare methods and add documents.

    The same address speaks OpenAI's chat protocol under /v1, for chat windows, agents and programs.
    """
    from importlib.util import find_spec

    from quorum.cli.ask import make_sample
    from quorum.cli.settings import read_context
    from quorum.serving.serve import serve

    options = make_options(host, token, collections, allow_models, questions_per_minute, dollars_per_day, prices)
    if not no_page and find_spec("nicegui") is None:
        raise SetupError(
            "The page needs the extra [ui]; install it with: pip install -e '.[ui]', or run: make serve; or serve the "
            "API alone: quorum serve --no-page"
        )
    context = read_context(
        settings, model=model, retriever=retriever, collection=collection, k=k, store=store, embeddings=embeddings
    )
    make_sample(context)
    if no_page:
        check_collection(context)
        serve(context, host, port, options, tell)
        return
    from quorum.ui.serve import make_page

    serve(context, host, port, options, tell, make_page)


def check_collection(context: "Context") -> None:
    """A collection that is not there is a `SetupError`; the page, where documents can be added, may begin without."""
    from quorum.retrievers.store import open_store

    if isinstance(context.retriever, str):
        open_store(context.store).info(context.collection)


def make_options(
    host: str,
    token: list[str] | None,
    collections: str,
    allow_models: str,
    questions_per_minute: int | None,
    dollars_per_day: float | None,
    prices: Path | None,
) -> "Options":
    """What clients may do, from the options; an address that others reach without a token is a `SetupError`."""
    from quorum.serving.address import check_tokens
    from quorum.serving.serve import Options

    return Options(
        tokens=check_tokens(host, token or ()),
        collections=None if collections.strip() == ALL else read_names(collections),
        models=read_names(allow_models),
        questions_per_minute=questions_per_minute,
        dollars_per_day=dollars_per_day,
        prices=prices,
    )


def read_names(text: str) -> tuple[str, ...]:
    """Names with commas between."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def tell(address: str) -> None:
    typer.echo(f"Quorum is at {address} (stop it with Ctrl-C); for clients of OpenAI's protocol: {address}v1")
