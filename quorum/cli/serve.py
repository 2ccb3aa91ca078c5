"""`quorum serve`: the page and the API, on this machine."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Embeddings, K, Model, Retriever, Settings, Store, Where
from quorum.cli.server_options import (
    ACCESS,
    RECORDS,
    AllowedModels,
    Anchors,
    CascadeFiles,
    DollarsPerDay,
    FirstCollection,
    Host,
    LabelResults,
    Labels,
    LabelShare,
    LogQuestions,
    LogTarget,
    ModelPrices,
    MoreCollections,
    OnRefuted,
    Origins,
    Port,
    QuestionsPerMinute,
    ScoreAtLeast,
    TokenFileOption,
    Tokens,
    WatchArguments,
    WatchJudgeModel,
    WatchTargets,
    make_server_options,
)
from quorum.cli.systems import OwnSystems

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.serving.serve import Options


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Tokens = None,
    token_file: TokenFileOption = None,
    allow_origin: Origins = None,
    no_page: Annotated[
        bool, typer.Option("--no-page", help="Serve the API without the page.", rich_help_panel=ACCESS)
    ] = False,
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
    forget_files: Annotated[
        bool,
        typer.Option(
            "--forget-files",
            help="Do not keep the files of uploads when they have been indexed.",
            rich_help_panel=RECORDS,
        ),
    ] = False,
    watch: WatchTargets = None,
    score_at_least: ScoreAtLeast = None,
    label_share: LabelShare = "5%",
    labels: Labels = "people",
    judge: WatchJudgeModel = None,
    anchors: Anchors = 300,
    on_refuted: OnRefuted = "report",
    label_results: LabelResults = None,
    retriever: Retriever = None,
    k: K = None,
    store: Store = None,
    embeddings: Embeddings = None,
    where: Where = None,
    settings: Settings = None,
) -> None:
    """Open a page to ask questions, watch the graphs at work, compare methods and add documents.

    The same address speaks OpenAI's chat protocol under /v1, for chat windows, agents and programs.
    """
    from quorum.cli.ask import create_sample_if_missing
    from quorum.cli.settings import check_named_settings, read_context
    from quorum.serving.address import check_port

    check_port(port)
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
        forget_files=forget_files,
        watch=WatchArguments(watch, score_at_least, label_share, labels, judge, anchors, on_refuted),
        label_results=label_results,
        log_file=log_file,
        log_questions=log_questions,
    )
    check_named_settings(context)
    tell_address = partial(print_address, err=log_file == "-")
    from quorum.serving.serve import serve as run_server

    make_sample = partial(create_sample_if_missing, context)
    if no_page:
        check_collection(context, options)
        run_server(context, host, port, options, tell_address, prepare=make_sample)
        return
    from quorum.page.app import make_page

    options = allow_own_collections(options, collections, context)
    run_server(context, host, port, options, tell_address, make_page, prepare=make_sample)


def allow_own_collections(options: "Options", collections: str, context: "Context") -> "Options":
    """The options of a page with every collection allowed, if the server has no token, so that it serves this machine's
    own user alone, and neither --collection nor --collections names one.
    """
    if options.access_tokens or options.token_file is not None or collections or context.collection:
        return options
    return replace(options, collections=None)


def check_collection(context: "Context", options: "Options") -> None:
    """Raise `SetupError` if the collection is missing, or if none is named, the store holds several, and clients may
    choose none of them. (The page may start without it, to choose one or add documents.) The sample is made later.
    """
    from quorum.cli.ask import get_collection_to_ask
    from quorum.retrievers.choose_collection import is_sample_asked, locate_collection
    from quorum.retrievers.store import open_store

    if not isinstance(context.retriever, str) or (not context.collection and options.collections != ()):
        return
    if is_sample_asked(context):
        return
    located_context = locate_collection(context)
    open_store(located_context.store).fetch_info(get_collection_to_ask(located_context))


def print_address(address: str, *, err: bool = False) -> None:
    """err: on the standard error, because the standard output holds the request log."""
    typer.echo(f"Quorum is at {address} (stop it with Ctrl-C); for clients of OpenAI's protocol: {address}v1", err=err)
