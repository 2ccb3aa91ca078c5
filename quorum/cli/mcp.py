"""`quorum mcp`: a server of the Model Context Protocol, for agents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Embeddings, K, Model, Retriever, Settings, Store
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.serving.serve import Options


def mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at /mcp; without it, stdin and stdout.")
    ] = False,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on; another than this machine's: --token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port; 0: any that is free.", min=0, max=65535)
    ] = 8766,
    token: Annotated[
        list[str] | None,
        typer.Option("--token", metavar="TOKEN", envvar="QUORUM_TOKEN", help="Key of HTTP clients.", show_envvar=True),
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Collection that is asked at first.")
    ] = None,
    collections: Annotated[
        str, typer.Option("--collections", metavar="NAMES", help="Further ones that an agent may ask; 'all'.")
    ] = "",
    model: Model = None,
    allow_models: Annotated[
        str, typer.Option("--allow-models", metavar="SPECS", help="Further models that an agent may choose.")
    ] = "",
    questions_per_minute: Annotated[
        int | None, typer.Option("--questions-per-minute", metavar="N", help="The most for one key.", min=1)
    ] = None,
    dollars_per_day: Annotated[
        float | None, typer.Option("--dollars-per-day", metavar="X", help="The most for one key.", min=0)
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
    """Let agents ask and search your documents, by the Model Context Protocol."""
    from importlib.util import find_spec

    from quorum.cli.ask import make_sample
    from quorum.cli.serve import make_options
    from quorum.cli.settings import read_context

    if find_spec("mcp") is None:
        raise SetupError("quorum mcp needs the extra [mcp]; install it with: pip install -e '.[mcp]'")
    options = make_options(host, token, collections, allow_models, questions_per_minute, dollars_per_day, prices)
    context = read_context(
        settings, model=model, retriever=retriever, collection=collection, k=k, store=store, embeddings=embeddings
    )
    make_sample(context)
    if http:
        serve_http(context, host, port, options)
    else:
        serve_stdio(context, options)


def serve_http(context: "Context", host: str, port: int, options: "Options") -> None:
    from quorum.serving.mcp_server import make_mcp_app
    from quorum.serving.serve import serve

    serve(context, host, port, options, lambda address: typer.echo(f"Quorum is at {address}mcp"), make_mcp_app)


def serve_stdio(context: "Context", options: "Options") -> None:
    """Nothing but the protocol is written to stdout."""
    from quorum.serving.mcp_server import make_mcp
    from quorum.serving.serve import check_options, make_service

    make_mcp(make_service(context, options, check_options(context, options))).run("stdio")
