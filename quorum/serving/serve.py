"""Runs the server in one process: the API and, if the caller gives one, the page or the MCP server."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices, find_model
from quorum.models.rerankers import get_reranking_model
from quorum.models.telemetry.provider import get_tracer
from quorum.serving.access import Access, TokenFile
from quorum.serving.access_control import App, split_paths
from quorum.serving.address import check_tokens, open_listening_socket
from quorum.serving.app import make_app
from quorum.serving.label_sources import find_sources
from quorum.serving.limits import Limits
from quorum.serving.log.log_file import LogFile
from quorum.serving.log.request_log import LoggedApp, RequestLog
from quorum.serving.named_tokens import NamedToken
from quorum.serving.other_origins import check_origins
from quorum.serving.permissions import Permissions
from quorum.serving.served_methods import ServedCascade, read_cascades
from quorum.serving.service import Service
from quorum.serving.watch_account import WatchAccount
from quorum.serving.watched import Watches, WatchOptions, list_judged_models

STOP_SECONDS = 10  # how long answers in progress may still take when the server is stopped
MakeOtherApp = Callable[[Service, Access, int], App]  # takes the service, who may ask, and the port


@dataclass(frozen=True)
class Options:
    """What clients may do.

    access_tokens: the keys of the API; the first one is the owner's, and opens the page. token_file: with the names of
    a team, their tokens' hashes and what each may ask; origins: of other sites whose pages may ask. collections: the
    names of the collections that clients may choose besides the server's own, or None for all; models: the specs of the
    models that they may choose besides the server's own. questions_per_minute, dollars_per_day: the limits of each
    client, None for no limit; prices: a file with prices of models.
    cascade_files: files of `quorum compose` whose cascades clients may choose as methods, as FILE or NAME=FILE;
    own_systems: NAME -> SPEC of the systems outside Quorum that these cascades ask. forget_files: the originals of
    uploads are not kept. watch: the promises of the answers that are watched. label_results: results whose differing
    answers the owner may label, FOLDER or FOLDER:METHOD,FOLDER:METHOD. log_file: where each request gets a line, "-"
    for the standard output, None for nowhere; log_questions: the lines hold questions and answers.
    """

    access_tokens: tuple[str, ...] = ()
    token_file: Path | None = None
    origins: tuple[str, ...] = ()
    collections: tuple[str, ...] | None = ()
    models: tuple[str, ...] = ()
    questions_per_minute: int | None = None
    dollars_per_day: float | None = None
    prices: Path | None = None
    cascade_files: tuple[str, ...] = ()
    own_systems: Mapping[str, str] = field(default_factory=dict)
    forget_files: bool = False
    watch: WatchOptions = field(default_factory=WatchOptions)
    label_results: tuple[str, ...] = ()
    log_file: str | None = None
    log_questions: bool = False


def serve(
    server_context: Context,
    host: str,
    port: int,
    options: Options,
    on_ready: Callable[[str], None],
    make_other_app: MakeOtherApp | None = None,
    prepare: Callable[[], None] = lambda: None,
) -> None:
    """Serve until the process is stopped; only then does the call return. Calls `on_ready` with the address.

    make_other_app: creates the application that serves all paths except the API's: the page or the MCP server. prepare:
    called when all options are checked, before anything is served: what takes long.
    Raises `SetupError` for an address that is unavailable, for one that other machines can reach if there is no token,
    for a collection that does not exist, an invalid model spec, price file, cascade or log file, and a limit in dollars
    if a model has no price.
    """
    has_token_file = options.token_file is not None
    options = replace(options, access_tokens=check_tokens(host, options.access_tokens, has_token_file=has_token_file))
    prices = check_options_and_get_prices(server_context, options)
    import uvicorn

    from quorum.serving.patient_protocol import PatientProtocol

    with open_listening_socket(host, port) as server_socket:
        port = int(server_socket.getsockname()[1])
        app = make_server_app(server_context, options, prices, make_other_app, port)
        config = uvicorn.Config(
            app,
            http=PatientProtocol,
            log_level="warning",
            access_log=False,
            use_colors=False,  # the standard error escapes them
            timeout_graceful_shutdown=STOP_SECONDS,
            server_header=False,
            lifespan="auto" if make_other_app is not None else "off",
        )
        try:
            prepare()
        except BaseException:
            app.log.close()
            raise
        on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        try:
            uvicorn.Server(config).run(sockets=[server_socket])
        except KeyboardInterrupt:
            return
        finally:
            app.log.close()


def make_server_app(
    server_context: Context,
    options: Options,
    prices: Prices,
    make_other_app: MakeOtherApp | None = None,
    port: int = 0,
) -> LoggedApp:
    """One application that serves the API and, if there is one, the other application."""
    service = make_service(server_context, options, prices)
    access = make_access(service, options)
    other_app = None if make_other_app is None else make_other_app(service, access, port)
    app = split_paths(make_app(service, access, forget_files=options.forget_files), other_app)
    return LoggedApp(app, service.log)


def make_service(server_context: Context, options: Options, prices: Prices) -> Service:
    """The service that all requests share. Raises `SetupError` for a cascade that cannot be served, and for a limit in
    dollars if a model of a cascade has no price.
    """
    cascades = read_cascades(options.cascade_files, options.own_systems, server_context)
    if options.dollars_per_day is not None:
        check_cascade_prices(server_context, cascades, prices)
    limits = Limits(options.questions_per_minute, options.dollars_per_day)
    get_tracer()  # so that it is said now, not at the first question, if spans are asked for and cannot be sent
    log = RequestLog(LogFile(options.log_file) if options.log_file else None, with_texts=options.log_questions)
    permissions = Permissions(server_context, options.collections, options.models, cascades)
    service = Service(permissions, limits, prices, log=log)
    if options.watch.targets:
        account = WatchAccount(limits, prices, service.metrics)
        service.watches = Watches(options.watch, server_context, account, cascades, options.own_systems)
        if options.dollars_per_day is not None:
            rivals = {item.promise.name: item.rival for item in service.watches.watched if item.rival is not None}
            check_cascade_prices(server_context, rivals, prices)
            check_prices(server_context, list_judged_models(service.watches.judge), prices)
    service.label_sources = find_sources(service.watches, options.label_results)
    return service


def make_access(service: Service, options: Options) -> Access:
    """Who may ask. Raises `SetupError` for a token file that is missing, malformed, or names what is not served."""
    origins = check_origins(options.origins)
    if options.token_file is None:
        return Access(options.access_tokens, origins=origins)

    def check_token(token: NamedToken) -> None:
        if token.limits.dollars_per_day is not None:
            permissions, place = service.permissions, f"The token of {token.name!r} has dollars_per_day"
            check_prices(permissions.server_context, permissions.models, service.prices, place)
            check_cascade_prices(permissions.server_context, permissions.cascades, service.prices, place)

    def check_names(tokens: Sequence[NamedToken]) -> None:
        service.permissions.check_names(tokens, str(options.token_file))
        filtered = [token.name for token in tokens if token.where is not None]
        if service.watches is not None and filtered:
            print(
                f"quorum: the answers of {', '.join(filtered)} are neither sampled nor withheld by --watch: nothing "
                "was promised under the filters of their tokens.",
                file=sys.stderr,
            )

    return Access(options.access_tokens, TokenFile(options.token_file, check_token, check_names), origins)


def check_options_and_get_prices(server_context: Context, options: Options) -> Prices:
    """Check the options and return the prices. Raises `SetupError` for a collection that does not exist, an invalid
    model spec, an invalid file of prices, and a limit in dollars if a model has no price.
    """
    prices = Prices(options.prices)
    check_collections(server_context, options.collections)
    check_models([*options.models, *([] if options.watch.judge is None else [options.watch.judge])])
    if options.dollars_per_day is not None:
        check_prices(server_context, options.models, prices)
    return prices


def check_collections(server_context: Context, allowed_names: Sequence[str] | None) -> None:
    """Raise `SetupError` if an allowed collection does not exist.

    Only the server's owner sees the message, so it may list all collections.
    """
    if not allowed_names:
        return
    from quorum.retrievers.collection_names import SAMPLE
    from quorum.retrievers.collections import list_collections

    existing_names = {SAMPLE, *list_collections(server_context.store)}
    missing_name = next((name for name in allowed_names if name not in existing_names), None)
    if missing_name:
        raise SetupError(
            f"--collections names {missing_name!r}, which the store {server_context.store} does not hold; it has: "
            f"{', '.join(sorted(existing_names))}."
        )


def check_models(models: Sequence[str]) -> None:
    """Raise `SetupError` if an allowed model is not a valid spec."""
    from quorum.models.model_spec import read_spec

    for model in models:
        read_spec(model)


def check_prices(
    server_context: Context, models: Sequence[str], prices: Prices, place: str = "--dollars-per-day is given"
) -> None:
    """Raise `SetupError` if an allowed model has no price, without which dollars cannot be limited."""
    allowed_models = [
        server_context.model,
        *models,
        find_model("verifier", server_context),
        find_model("context_filter", server_context),
        get_reranking_model(server_context),
    ]
    unpriced = [f"the model {model!r} has" for model in allowed_models if prices.find_price(model) is None]
    if prices.find_embeddings_price(server_context.embeddings) is None:
        unpriced.append(f"the embeddings {server_context.embeddings!r} have")
    if unpriced:
        raise SetupError(
            f"{place}, but {unpriced[0]} no price; write its price into a table and give the table with --prices FILE."
        )


def check_cascade_prices(
    server_context: Context,
    cascades: Mapping[str, ServedCascade],
    prices: Prices,
    place: str = "--dollars-per-day is given",
) -> None:
    """Raise `SetupError` if a model or system of a cascade has no price, without which dollars cannot be limited."""
    for name, served_cascade in cascades.items():
        column = served_cascade.make_column(server_context, prices)
        for stage in served_cascade.cascade.stages:
            context = column.make_stage_context(stage)
            models = (context.model, find_model("verifier", context), get_reranking_model(context))
            unpriced_models = [model for model in models if prices.find_price(model) is None]
            if unpriced_models:
                raise SetupError(
                    f"{place}, but {unpriced_models[0]!r}, which the stage {stage.name!r} of the "
                    f"cascade {name!r} uses, has no price; write its price into a table and give the table with "
                    "--prices FILE."
                )
