"""`quorum mcp`: a server of the Model Context Protocol, for agents."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Embeddings, K, Model, Retriever, Settings, Store, Where
from quorum.cli.server_options import (
    AllowedModels,
    CascadeFiles,
    DollarsPerDay,
    FirstCollection,
    Host,
    LogQuestions,
    LogTarget,
    ModelPrices,
    MoreCollections,
    Origins,
    Port,
    QuestionsPerMinute,
    TokenFileOption,
    Tokens,
    make_server_options,
)
from quorum.cli.systems import OwnSystems
from quorum.core.errors import SetupError
from quorum.core.extras import describe_install

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.serving.serve import Options


def mcp(
    ctx: typer.Context,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at /mcp; by default over stdin and stdout.")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8766,
    token: Tokens = None,
    token_file: TokenFileOption = None,
    allow_origin: Origins = None,
    collection: FirstCollection = None,
    collections: MoreCollections = "",
    model: Model = None,
    allow_models: AllowedModels = "",
    questions_per_minute: QuestionsPerMinute = None,
    dollars_per_day: DollarsPerDay = None,
    prices: ModelPrices = None,
    cascade_files: CascadeFiles = None,
    own_systems: OwnSystems = None,
    log_file: LogTarget = None,
    log_questions: LogQuestions = False,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    where: Where = None,
    settings: Settings = None,
) -> None:
    """Let agents ask and search your documents, by the Model Context Protocol."""
    from importlib.util import find_spec

    from quorum.cli.serve import check_collection
    from quorum.cli.settings import check_named_settings, read_context

    if find_spec("mcp") is None:
        raise SetupError(f"quorum mcp needs the extra [mcp]; run: {describe_install('mcp')}")
    if log_file == "-" and not http:
        raise SetupError(
            "--log-file - is the standard output, over which quorum mcp speaks the protocol; give a file, or --http."
        )
    # QUORUM_TOKEN may be set for quorum serve; it restricts nobody who starts this program.
    source = ctx.get_parameter_source("token")
    is_token_given = source is not None and source.name == "COMMANDLINE"
    if not http and (is_token_given or token_file is not None or allow_origin):
        raise SetupError(
            "--token, --tokens (or QUORUM_TOKEN_FILE) and --allow-origin say who may ask over HTTP, and quorum mcp "
            "speaks over stdin and stdout; add --http, or leave them out."
        )
    options = make_server_options(
        host,
        token,
        collections,
        allow_models,
        questions_per_minute,
        dollars_per_day,
        prices,
        cascade_files,
        own_systems,
        token_file=token_file,
        origins=allow_origin,
        log_file=log_file,
        log_questions=log_questions,
    )
    context = read_context(
        settings,
        where=where or None,
        model=model,
        retriever=retriever,
        collection=collection,
        k=k,
        store=store,
        embeddings=embeddings,
    )
    check_named_settings(context)
    check_collection(context, options)
    if http:
        serve_http(context, host, port, options)
    else:
        serve_stdio(context, options)


def serve_http(context: "Context", host: str, port: int, options: "Options") -> None:
    from quorum.cli.ask import create_sample_if_missing
    from quorum.serving.mcp_server import make_mcp_app
    from quorum.serving.serve import serve as run_server

    def print_address(address: str) -> None:
        typer.echo(f"Quorum is at {address}mcp", err=options.log_file == "-")

    make_sample = partial(create_sample_if_missing, context)
    run_server(context, host, port, options, print_address, make_mcp_app, prepare=make_sample)


def serve_stdio(context: "Context", options: "Options") -> None:
    """Serve over stdin and stdout. Only the protocol is written to stdout."""
    from quorum.cli.ask import create_sample_if_missing
    from quorum.serving.mcp_server import make_mcp
    from quorum.serving.serve import check_options_and_get_prices, make_service

    service = make_service(context, options, check_options_and_get_prices(context, options))
    try:
        create_sample_if_missing(context)
        make_mcp(service).run("stdio")
    finally:
        service.log.close()
