"""The pages: / to ask, /run/ID for an earlier run, with the same form beside it."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from nicegui import app as nicegui_app
from nicegui import html, ui

from quorum.core.context import Context
from quorum.core.errors import QuorumError, SetupError
from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.collections import list_collections
from quorum.ui.cards import RunView
from quorum.ui.follow_up import read_conversation
from quorum.ui.form import Form
from quorum.ui.past_runs import PastRun, find_page_folder, list_past_runs, load_run, save_run
from quorum.ui.query import Query, parse_link
from quorum.ui.run import Run, describe_error, start_run
from quorum.ui.texts import draw_text
from quorum.ui.upload_panel import UploadPanel

ASSETS_FOLDER = Path(__file__).parent / "assets"
PAGE_HEAD = '<link rel="stylesheet" href="/assets/page.css"><script src="/assets/page.js" defer></script>'
MAX_UNDER_WAY = 16  # runs at once, of all visitors
STORE_TIMEOUT_SECONDS = 60  # long, because the store may be on a server or the machine busy
SECONDS_OF_UNIT = ((86400, "day"), (3600, "hour"), (60, "minute"))


class SharedState:
    """What all visitors share: the server's settings and the runs in progress."""

    def __init__(self, base: Context) -> None:
        self.base = base
        self.page_folder = find_page_folder(base)
        self.under_way: dict[str, Run] = {}

    def ask(self, query: Query) -> Run:
        """Start a run. Raises `SetupError` for a bad question or setting, and if too many runs are under way."""
        if len(self.under_way) >= MAX_UNDER_WAY:
            raise SetupError(f"{MAX_UNDER_WAY} questions are under way already; ask again when one is answered.")

        def read_history(method: str) -> Awaitable[list[dict[str, str]]]:
            return read_conversation(query.follows, method, self.find)

        run = start_run(query, query.make_columns(self.base), self.save, read_history)
        self.under_way[run.id] = run
        return run

    async def save(self, run: Run) -> None:
        """Save a run that has ended to a file."""
        try:
            await asyncio.to_thread(save_run, run, self.page_folder / "runs")
        finally:
            self.under_way.pop(run.id, None)

    async def find(self, id_: str) -> Run:
        """A run in progress or an earlier one. Raises `SetupError` for an unknown id."""
        if id_ in self.under_way:
            return self.under_way[id_]
        return await asyncio.to_thread(load_run, id_, self.page_folder / "runs")

    async def list_collections(self) -> list[str]:
        """The store's collections; only the sample if the store does not answer (a question then reports the error)."""
        try:
            collections = await asyncio.to_thread(list_collections, self.base.store)
        except QuorumError:
            collections = []
        return sorted({SAMPLE, *collections})


class Page:
    """One visitor's page."""

    def __init__(self, shared: SharedState) -> None:
        self.shared = shared

    async def draw(self, query: Query, *, message: str = "", run: Run | None = None) -> None:
        """Draw the form at the left and the runs at the right. message: what is wrong with the address."""
        collections = await self.shared.list_collections()
        with html.div().classes("page"):
            with html.div().classes("side"):
                with html.header().classes("brand"):
                    ui.link("Quorum", "/")
                    html.small("answers over your documents, by the methods you choose")
                self.form = Form(self.shared.base, query, collections, self.ask)
                UploadPanel(self.shared.base, self.form.get_setting("collection"), self.choose_collection)
                with ui.expansion("Past runs", on_value_change=self.refresh_past_runs) as past_panel:
                    self.past_runs = html.div()
                past_panel.props("dense switch-toggle-side").classes("past")
            with html.main().classes("runs") as self.runs:
                self.message = draw_text("p", message).classes("error").props("role=alert")
                self.welcome = html.div().classes("empty")
                if run is None:
                    draw_welcome(self.welcome)
                else:
                    RunView(run, self.form.follow)

    def ask(self, query: Query) -> None:
        """Start a run and show it above earlier ones. The page's address becomes the run's."""
        run = self.shared.ask(query)
        self.message.text = ""
        self.welcome.clear()
        with self.runs:
            view = RunView(run, self.form.follow)
        view.root.move(target_index=2)
        self.form.continue_conversation(run)
        ui.navigate.history.push(f"/run/{run.id}")
        ui.run_javascript("document.querySelector('.run').scrollIntoView({block: 'start'})")

    async def refresh_past_runs(self) -> None:
        """Refresh the list of saved runs."""
        past_runs = await asyncio.to_thread(list_past_runs, self.shared.page_folder / "runs")
        self.past_runs.clear()
        with self.past_runs:
            draw_past_runs(past_runs)

    async def choose_collection(self, collection: str) -> None:
        """Choose the collection into which documents were just indexed."""
        self.form.set_collections(await self.shared.list_collections(), collection)


def draw_welcome(container: Any) -> None:
    with container:
        html.h2("Ask a question")
        html.p(
            "Tick two or more methods to see them side by side: what each answers, from which passages, by which "
            "steps, and what it costs."
        )


def draw_past_runs(past_runs: list[PastRun]) -> None:
    if not past_runs:
        html.p("None yet.").classes("note")
    with html.ul():
        for past_run in past_runs:
            with html.li():
                ui.link(past_run.question, f"/run/{past_run.id}")
                html.small(f"{past_run.methods} · {format_age(past_run.asked_at)}")


def format_age(asked_at: float) -> str:
    """'3 hours ago'."""
    seconds = datetime.now().timestamp() - asked_at
    for size, name in SECONDS_OF_UNIT:
        count = int(seconds // size)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


async def find_followed(shared: SharedState, query: Query) -> Run | None:
    """The run that a link's question follows; None if it follows none, or if that run is missing."""
    try:
        return await shared.find(query.follows) if query.follows else None
    except SetupError:
        return None


def restore_query(query: Query, base: Context) -> Query:
    """The query of a run for the form; only its question if its methods or settings no longer exist."""
    try:
        return parse_link(urlsplit(query.make_link()).query, base)[0]
    except SetupError:
        return Query(query.question)


def is_from_another_site(request: Request) -> bool:
    """Whether a link on another site led here. Such a link must not start a run, which may cost money."""
    return request.headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")


def make_page_app(base: Context) -> FastAPI:
    """The application, without access control."""
    shared, fastapi_app = SharedState(base), FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    nicegui_app.add_static_files("/assets", ASSETS_FOLDER)
    ui.add_head_html(PAGE_HEAD, shared=True)

    @ui.page("/", response_timeout=STORE_TIMEOUT_SECONDS)
    async def index(request: Request) -> None:
        page = Page(shared)
        try:
            query, asks_at_once = parse_link(request.url.query, base)
        except SetupError as error:
            await page.draw(Query(), message=describe_error(error))
            return
        await page.draw(query, run=await find_followed(shared, query))
        if asks_at_once and not is_from_another_site(request):
            await ui.context.client.connected()  # returns without a connection if the client is not a browser
            if ui.context.client.has_socket_connection:
                page.form.submit()

    @ui.page("/run/{id_}", response_timeout=STORE_TIMEOUT_SECONDS)
    async def past_run(id_: str) -> None:
        try:
            run = await shared.find(id_)
        except SetupError as error:
            await Page(shared).draw(Query(), message=describe_error(error))
            return
        await Page(shared).draw(restore_query(run.query, base), run=run)

    ui.run_with(
        fastapi_app,
        title="Quorum",
        favicon=ASSETS_FOLDER / "icon.svg",
        dark=None,
        language="en-US",
        tailwind=False,
        reconnect_timeout=10,
        show_welcome_message=False,
    )
    return fastapi_app
