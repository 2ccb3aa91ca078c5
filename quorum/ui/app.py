"""The pages: / to ask; /run/ID shows one run, in progress or earlier, beside the same form."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from nicegui import app as nicegui_app
from nicegui import html, ui

from quorum.core.context import Context
from quorum.core.errors import QuorumError, SetupError
from quorum.retrievers.choose_collection import list_choices
from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.collections import list_collections
from quorum.serving.spending import Spending
from quorum.ui.budget import PageBudget
from quorum.ui.cards import RunView
from quorum.ui.follow_up import read_conversation
from quorum.ui.form import Form
from quorum.ui.past_runs import PastRun, find_saved_data_folder, list_past_runs, load_run, save_run
from quorum.ui.query import AskRequest, parse_link
from quorum.ui.run import Run, describe_error, start_run
from quorum.ui.texts import draw_text
from quorum.ui.upload_panel import UploadPanel

ASSETS_FOLDER = Path(__file__).parent / "assets"
PAGE_HEAD = '<link rel="stylesheet" href="/assets/page.css"><script src="/assets/page.js" defer></script>'
MAX_RUNS_IN_PROGRESS = 16  # of all visitors together
STORE_TIMEOUT_SECONDS = 60  # long, because the store may be on a server, or this machine busy
SECONDS_OF_UNIT = ((86400, "day"), (3600, "hour"), (60, "minute"))


class SharedState:
    """What all visitors share: the server's settings and the runs in progress."""

    def __init__(self, server_context: Context, budget: PageBudget | None = None) -> None:
        self.server_context, self.budget = server_context, budget
        self.saved_data_folder = find_saved_data_folder(server_context)
        self.runs_in_progress: dict[str, Run] = {}

    def ask(self, query: AskRequest) -> Run:
        """Start a run. query: the question, the methods and the settings that a visitor chose.

        Raises `SetupError` for a bad question or setting, and if too many runs are under way.
        """
        if len(self.runs_in_progress) >= MAX_RUNS_IN_PROGRESS:
            raise SetupError(f"{MAX_RUNS_IN_PROGRESS} questions are under way already; ask again when one is answered.")

        def read_history(method: str) -> Awaitable[list[dict[str, str]]]:
            return read_conversation(query.follows_run_id, method, self.find_run)

        columns = query.make_columns(self.server_context)
        reservation = make_spending = None
        if self.budget is not None:
            reservation = self.budget.begin(query.question, columns)
            make_spending = partial(Spending, reservation, self.budget.prices)
        run = start_run(query, columns, self.save, read_history, make_spending)
        if reservation is not None and run.task is not None:
            run.task.add_done_callback(lambda _: reservation.close())
        self.runs_in_progress[run.id] = run
        return run

    async def save(self, run: Run) -> None:
        """Write a run that has ended to a file, and remove it from the runs in progress."""
        try:
            await asyncio.to_thread(save_run, run, self.saved_data_folder / "runs")
        finally:
            self.runs_in_progress.pop(run.id, None)

    async def find_run(self, id_: str) -> Run:
        """A run in progress or an earlier one. Raises `SetupError` for an unknown id."""
        if id_ in self.runs_in_progress:
            return self.runs_in_progress[id_]
        return await asyncio.to_thread(load_run, id_, self.saved_data_folder / "runs")

    async def list_collections(self) -> list[str]:
        """The store's collections; the sample if it has none. If the store does not answer, only the sample is listed;
        the visitor sees the error when a question is asked.
        """
        try:
            collections = await asyncio.to_thread(list_collections, self.server_context.store)
        except QuorumError:
            collections = []
        return sorted(collections) or [SAMPLE]

    async def find_only_collection(self) -> str:
        """The collection that is asked if a visitor chooses none; empty if the store holds several, or does not
        answer.
        """
        context = self.server_context
        try:
            names = [context.collection] if context.collection else await asyncio.to_thread(list_choices, context.store)
        except QuorumError:
            names = []
        return names[0] if len(names) == 1 else ""


class Page:
    """One visitor's page."""

    def __init__(self, shared_state: SharedState) -> None:
        self.shared = shared_state

    async def draw(self, query: AskRequest, *, message: str = "", run: Run | None = None) -> None:
        """Draw the form at the left and the runs at the right.

        message: what is wrong with the address, shown as an error. run: the run to show; None shows the welcome text.
        """
        collections, only_collection = await self.shared.list_collections(), await self.shared.find_only_collection()
        with html.div().classes("page"):
            with html.div().classes("side"):
                with html.header().classes("brand"):
                    ui.link("Quorum", "/")
                    html.small("answers over your documents, by the methods you choose")
                self.form = Form(self.shared.server_context, query, collections, only_collection, self.ask)
                UploadPanel(self.shared.server_context, self.form.get_setting("collection"), self.choose_collection)
                with ui.expansion("Past runs", on_value_change=self.refresh_past_runs) as past_panel:
                    self.past_runs = html.div()
                past_panel.props("dense switch-toggle-side").classes("past-runs")
            with html.main().classes("runs") as self.runs:
                self.message = draw_text("p", message).classes("error").props("role=alert")
                self.welcome = html.div().classes("welcome")
                if run is None:
                    draw_welcome(self.welcome)
                else:
                    RunView(run, self.form.begin_follow_up)

    def ask(self, query: AskRequest) -> None:
        """Start a run and show it above earlier ones. The page's address becomes /run/ID with the id of this run."""
        run = self.shared.ask(query)
        self.message.text = ""
        self.welcome.clear()
        with self.runs:
            view = RunView(run, self.form.begin_follow_up)
        view.root.move(target_index=2)  # below the message (0) and the welcome text (1)
        self.form.continue_conversation(run)
        ui.navigate.history.push(f"/run/{run.id}")
        ui.run_javascript("document.querySelector('.run').scrollIntoView({block: 'start'})")

    async def refresh_past_runs(self) -> None:
        """Refresh the list of saved runs."""
        past_runs = await asyncio.to_thread(list_past_runs, self.shared.saved_data_folder / "runs")
        self.past_runs.clear()
        with self.past_runs:
            draw_past_runs(past_runs)

    async def choose_collection(self, collection: str) -> None:
        """Choose in the form the collection into which the visitor has just indexed documents."""
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
    """How long ago a question was asked, such as '3 hours ago'. asked_at: seconds since 1970."""
    seconds = datetime.now().timestamp() - asked_at
    for size, name in SECONDS_OF_UNIT:
        count = int(seconds // size)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


async def find_followed_run(shared_state: SharedState, query: AskRequest) -> Run | None:
    """The run that the link's question follows up. None if the question is no follow-up or the run is missing."""
    try:
        return await shared_state.find_run(query.follows_run_id) if query.follows_run_id else None
    except SetupError:
        return None


def restore_query(query: AskRequest, server_context: Context) -> AskRequest:
    """The query that the form shows beside a run; only the question if a method or setting no longer exists."""
    try:
        return parse_link(urlsplit(query.make_link()).query, server_context)
    except SetupError:
        return AskRequest(query.question)


def make_page_app(server_context: Context, budget: PageBudget | None = None) -> FastAPI:
    """The application of the page, without access control (`quorum.serving.guard.Guard` adds it).

    budget: the limits that hold for its runs; None: no limits.
    """
    shared_state, fastapi_app = (
        SharedState(server_context, budget),
        FastAPI(docs_url=None, redoc_url=None, openapi_url=None),
    )
    nicegui_app.add_static_files("/assets", ASSETS_FOLDER)
    ui.add_head_html(PAGE_HEAD, shared=True)

    @ui.page("/", response_timeout=STORE_TIMEOUT_SECONDS)
    async def show_start_page(request: Request) -> None:
        page = Page(shared_state)
        try:
            query = parse_link(request.url.query, server_context)
        except SetupError as error:
            await page.draw(AskRequest(), message=describe_error(error))
            return
        await page.draw(query, run=await find_followed_run(shared_state, query))

    @ui.page("/run/{id_}", response_timeout=STORE_TIMEOUT_SECONDS)
    async def show_run(id_: str) -> None:
        try:
            run = await shared_state.find_run(id_)
        except SetupError as error:
            await Page(shared_state).draw(AskRequest(), message=describe_error(error))
            return
        await Page(shared_state).draw(restore_query(run.query, server_context), run=run)

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
