"""Runs the server: the API, and the page if there is one, in one process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.compare.prices import FILTER_PROMPTS, VERIFIER_PROMPTS, Prices, find_model
from quorum.serving.access_control import App, split_paths
from quorum.serving.address import check_tokens, listen
from quorum.serving.app import make_app
from quorum.serving.limits import Limits
from quorum.serving.permissions import Permissions
from quorum.serving.served_methods import ServedCascade, read_cascades
from quorum.serving.service import Service

STOP_SECONDS = 10  # how long the answers under way may take when the server is stopped
MakePage = Callable[[Service, Sequence[str], int], App]


@dataclass(frozen=True)
class Options:
    """What clients may do. collections: None for all; models: specs; tokens: the first one is also the page's.

    composed: files of cascades that become methods, as FILE or NAME=FILE; systems: specs of the systems that they ask.
    """

    tokens: tuple[str, ...] = ()
    collections: tuple[str, ...] | None = ()
    models: tuple[str, ...] = ()
    questions_per_minute: int | None = None
    dollars_per_day: float | None = None
    prices: Path | None = None
    composed: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)


def serve(
    base: Context, host: str, port: int, options: Options, on_ready: Callable[[str], None], page: MakePage | None = None
) -> None:
    """Serve until the process is stopped. Blocks. Calls `on_ready` with the address.

    page: creates the application that serves all paths except the API's.
    Raises `SetupError` for an address that is unavailable or that others reach without a token, for a missing
    collection, and for a limit in dollars on a model without a price.
    """
    tokens = check_tokens(host, options.tokens)
    prices = check_options(base, options)
    listening = listen(host, port)
    import uvicorn

    port = int(listening.getsockname()[1])
    config = uvicorn.Config(
        make_server_app(base, options, tokens, prices, page, port),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        server_header=False,
        lifespan="auto" if page is not None else "off",
    )
    on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return


def make_server_app(
    base: Context, options: Options, tokens: Sequence[str], prices: Prices, page: MakePage | None = None, port: int = 0
) -> Any:
    """The API and the page as one application."""
    service = make_service(base, options, prices)
    return split_paths(make_app(service, tokens), None if page is None else page(service, tokens, port))


def make_service(base: Context, options: Options, prices: Prices) -> Service:
    """The service that all requests share. Raises `SetupError` for a cascade that cannot be served."""
    cascades = read_cascades(options.composed, options.systems, base)
    if options.dollars_per_day is not None:
        check_cascade_prices(base, cascades, prices)
    limits = Limits(options.questions_per_minute, options.dollars_per_day)
    return Service(Permissions(base, options.collections, options.models, cascades), limits, prices)


def check_options(base: Context, options: Options) -> Prices:
    """Check the options and return the prices. Raises `SetupError` for a wrong collection, model or price."""
    prices = Prices(options.prices)
    check_collections(base, options.collections)
    check_models(base, options.models)
    if options.dollars_per_day is not None:
        check_prices(base, options.models, prices)
    return prices


def check_collections(base: Context, allowed: Sequence[str] | None) -> None:
    """Raise `SetupError` if an allowed collection does not exist. (A client never learns of other collections.)"""
    if not allowed:
        return
    from quorum.retrievers.collections import list_collections

    existing = {base.collection, *list_collections(base.store)}
    missing_name = next((name for name in allowed if name not in existing), None)
    if missing_name:
        raise SetupError(
            f"--collections names {missing_name!r}, which the store {base.store} does not hold; it has: "
            f"{', '.join(sorted(existing))}."
        )


def check_models(base: Context, models: Sequence[str]) -> None:
    """Raise `SetupError` if an allowed model is not a valid spec."""
    from quorum.models.model_spec import read_spec

    for model in models:
        read_spec(model)


def check_prices(base: Context, models: Sequence[str], prices: Prices) -> None:
    """Raise `SetupError` if dollars are limited and an allowed model has no price."""
    asked_models = [base.model, *models, find_model(VERIFIER_PROMPTS[0], base), find_model(FILTER_PROMPTS[0], base)]
    unknown = next((item for item in asked_models if prices.find_price(item) is None), None)
    if unknown is not None:
        raise SetupError(
            f"--dollars-per-day is given, but the model {unknown!r} has no price; add it to a table with --prices FILE."
        )


def check_cascade_prices(base: Context, cascades: Mapping[str, ServedCascade], prices: Prices) -> None:
    """Raise `SetupError` if dollars are limited and a model or system of a cascade has no price."""
    for name, served_cascade in cascades.items():
        column = served_cascade.make_column(base, prices)
        for stage in served_cascade.cascade.stages:
            context = column.make_stage_context(stage)
            unknown = [
                item
                for item in (context.model, find_model(VERIFIER_PROMPTS[0], context))
                if prices.find_price(item) is None
            ]
            if unknown:
                raise SetupError(
                    f"--dollars-per-day is given, but {unknown[0]!r}, which {stage.name} in {name} asks, has no price; "
                    "add it to a table with --prices FILE."
                )
