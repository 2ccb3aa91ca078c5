"""`quorum serve`: the page, on this machine."""

from typing import Annotated

import typer

from quorum.cli.options import Embeddings, K, Model, Retriever, Settings, Store
from quorum.core.errors import SetupError


def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on; another than this machine's: --token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port; 0: any that is free.", min=0, max=65535)
    ] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            "--token", metavar="TOKEN", envvar="QUORUM_TOKEN", help="What a visitor has to know.", show_envvar=True
        ),
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Collection that is chosen at first.")
    ] = None,
    model: Model = None,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
) -> None:
    """Open a page to ask questions, watch the graphs at work, compare methods and add documents."""
    from importlib.util import find_spec

    from quorum.cli.ask import make_sample
    from quorum.cli.settings import made_context
    from quorum.ui.guard import check_address
    from quorum.ui.serve import serve

    token = check_address(host, token or None)
    if find_spec("nicegui") is None:
        raise SetupError("The page needs the extra [ui]; install it with: pip install -e '.[ui]', or run: make serve")
    context = made_context(
        settings, model=model, retriever=retriever, collection=collection, k=k, store=store, embeddings=embeddings
    )
    make_sample(context)
    serve(context, host, port, token, tell)


def tell(address: str) -> None:
    typer.echo(f"Quorum is at {address} (stop it with Ctrl-C)")
