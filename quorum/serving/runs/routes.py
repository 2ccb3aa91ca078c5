"""The addresses of the runs API."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from quorum.serving.chat_request import make_field_refusal, read_body
from quorum.serving.client import Client
from quorum.serving.errors import Refusal
from quorum.serving.runs.export import format_markdown
from quorum.serving.runs.follow import STREAM_HEADERS, format_line_as_event, read_last_number
from quorum.serving.runs.request import RUN_ID, read_request, read_title
from quorum.serving.runs.run_folder import SavedRun, summarize_answers
from quorum.serving.runs.run_service import MAX_READERS, RunService

DEFAULT_PAGE, LARGEST_PAGE = 30, 100  # runs in one list
LONGEST_SEARCH = 200  # characters
CONVERSATION_FORMAT = "quorum conversation 1"
OFFLINE = "offline"  # the reader that needs no model server
Handler = Callable[[Request], Awaitable[Response]]
Wrap = Callable[[Handler], Handler]


def make_routes(runs: RunService, wrap: Wrap) -> list[Route]:
    """The routes. wrap: turns the refusals of a handler into responses."""
    routes = RunRoutes(runs)
    one = "/v1/runs/{id}"
    return [
        Route("/v1/runs", wrap(routes.ask), methods=["POST"]),
        Route("/v1/runs", wrap(routes.list_runs)),
        Route(one + ".md", wrap(routes.export_markdown)),
        Route(one + ".json", wrap(routes.export_json)),
        Route(one + "/events", wrap(routes.stream_events)),
        Route(one + "/conversation", wrap(routes.show_conversation)),
        Route(one + "/calls", wrap(routes.list_calls)),
        Route(one + "/stop", wrap(routes.stop), methods=["POST"]),
        Route(one + "/retry", wrap(routes.retry), methods=["POST"]),
        Route(one, wrap(routes.show)),
        Route(one, wrap(routes.rename), methods=["PATCH"]),
        Route(one, wrap(routes.delete), methods=["DELETE"]),
    ]


class RunRoutes:
    """The handlers of the runs API. A client sees its own runs only."""

    def __init__(self, runs: RunService) -> None:
        self.runs = runs

    async def find(self, request: Request) -> SavedRun:
        return await self.runs.find(request.path_params["id"], request.state.client)

    async def ask(self, request: Request) -> Response:
        default_method = self.runs.service.permissions.of(request.state.client).default_method
        run_request = read_request(await read_body(request, "an object with a question"), default_method)
        saved = await self.runs.start(run_request, request.state.client, request.state.request_id)
        return JSONResponse(self.describe(saved, is_running=True), 201, {"location": f"/v1/runs/{saved.id}"})

    async def list_runs(self, request: Request) -> Response:
        query, before, limit = read_list_query(request)
        only_first = request.query_params.get("first") == "1"
        found = await asyncio.to_thread(self.search, request.state.client, query, before, limit + 1, only_first)
        return JSONResponse({"object": "list", "data": found[:limit], "has_more": len(found) > limit})

    def search(
        self, client: Client, query: str, before: str, limit: int, only_first: bool = False
    ) -> list[dict[str, Any]]:
        """A client's runs, newest first. only_first: without those that follow another one. The call blocks."""
        found: list[dict[str, Any]] = []
        may_read = self.runs.make_filter(client)
        for saved in self.runs.list_runs(client):
            is_older = not before or saved.id < before
            earlier = self.runs.folder.read(saved.follows) if only_first and saved.follows else None
            if earlier is not None and may_read(earlier):
                continue
            if is_older and query in f"{saved.title}\n{saved.question}".casefold():
                with suppress(OSError, ValueError):
                    self.runs.folder.close_if_interrupted(saved)
                found.append(self.describe(saved, is_running=self.is_running(saved)))
                if len(found) == limit:
                    break
        return found

    def is_running(self, saved: SavedRun) -> bool:
        """Whether a run has not ended, here or in another process of the server. The call blocks."""
        if saved.id in self.runs.live_runs:
            return True
        with suppress(OSError, ValueError):
            last_event = saved.file.read_last_event()
            return last_event is None or last_event["type"] != "run_finished"
        return False

    def describe(self, saved: SavedRun, *, is_running: bool) -> dict[str, Any]:
        """A run without its answers."""
        head = {"id": saved.id, "object": "run", "title": saved.title, "asked_at": saved.head["asked_at"]}
        return {**head, **saved.head["request"], "state": "running" if is_running else "finished"}

    async def describe_whole(self, saved: SavedRun) -> dict[str, Any]:
        """A run with its answers so far."""
        is_running = await asyncio.to_thread(self.is_running, saved)
        answers = await self.runs.read_answers(saved)
        last_event = await asyncio.to_thread(saved.file.read_last_event)
        return {
            **self.describe(saved, is_running=is_running),
            "answers": [answer.to_json() for answer in answers.values()],
            **summarize_answers(saved, answers),
            "last_event": 0 if last_event is None else last_event["n"],
        }

    async def show(self, request: Request) -> Response:
        return JSONResponse(await self.describe_whole(await self.find(request)))

    async def show_conversation(self, request: Request) -> Response:
        """The run, the runs that it follows, and those that follow one of them, the earliest first."""
        saved = await self.find(request)
        members = await asyncio.to_thread(self.runs.list_conversation, saved, request.state.client)
        return JSONResponse({"object": "list", "data": [await self.describe_whole(member) for member in members]})

    async def list_calls(self, request: Request) -> Response:
        """The model calls of a method, with their prompts and replies. Prompts that the server's owner has written are
        for the owner alone.
        """
        saved = await self.find(request)
        if self.runs.service.permissions.server_context.prompts and not request.state.client.is_owner:
            message = "This server has prompts of its own, which only its owner, whose key is the first one, may read."
            raise Refusal(403, message, "not_the_owner")
        calls = await self.runs.list_calls(saved, request.query_params.get("method", ""))
        return JSONResponse({"object": "list", "data": calls})

    async def export_json(self, request: Request) -> Response:
        """The conversation of a run: each of its runs with all events."""
        saved = await self.find(request)
        runs = []
        for member in await asyncio.to_thread(self.runs.list_conversation, saved, request.state.client):
            whole = await self.describe_whole(member)
            try:
                events = await asyncio.to_thread(lambda file: list(file.read_events()), member.file)
            except (OSError, ValueError):
                raise Refusal(404, f"The run {member.id} cannot be read.", "run_not_found") from None
            runs.append({**whole, "events": events})
        content = {"format": CONVERSATION_FORMAT, "runs": runs}
        text = await asyncio.to_thread(json.dumps, content, ensure_ascii=False, indent=1)
        return Response(text, media_type="application/json", headers=make_download_headers(saved, "json"))

    async def export_markdown(self, request: Request) -> Response:
        """The conversation of a run."""
        saved = await self.find(request)
        members = await asyncio.to_thread(self.runs.list_conversation, saved, request.state.client)
        turns = [(one.head, list((await self.runs.read_answers(one)).values())) for one in members]
        text = format_markdown(members[0].title, turns)
        return PlainTextResponse(text, media_type="text/markdown", headers=make_download_headers(saved, "md"))

    async def rename(self, request: Request) -> Response:
        saved = await self.find(request)
        body = await read_body(request, 'an object such as {"title": "Fees"}')
        title = read_title(body.get("title") if isinstance(body, dict) else None)
        try:
            await asyncio.to_thread(self.runs.folder.write_title, saved.id, title)
        except OSError as error:
            message = f"The server cannot save the title ({error.strerror or error}); ask whoever runs it."
            raise Refusal(507, message, "not_saved", "server_error") from None
        return JSONResponse({"id": saved.id, "object": "run", "title": title})

    async def delete(self, request: Request) -> Response:
        saved = await self.find(request)
        await self.runs.delete(saved)
        return JSONResponse({"id": saved.id, "object": "run", "deleted": True})

    async def stop(self, request: Request) -> Response:
        saved = await self.find(request)
        await self.runs.stop(saved)
        return JSONResponse(await self.describe_whole(saved))

    async def retry(self, request: Request) -> Response:
        saved = await self.find(request)
        body = await read_body(request, 'an object such as {"method": "concat"}')
        fields = body if isinstance(body, dict) else {}
        reader = fields.get("reader")
        if reader not in (None, OFFLINE):
            raise make_field_refusal("reader", f"{OFFLINE!r}, or leave it out")
        client, request_id = request.state.client, request.state.request_id
        await self.runs.retry(saved, fields.get("method"), client, request_id, is_offline=reader == OFFLINE)
        return JSONResponse(self.describe(saved, is_running=True), 202)

    async def stream_events(self, request: Request) -> Response:
        """The events after the header Last-Event-ID, or after the parameter `after`; 204 if none will come, which tells
        a browser not to connect again.
        """
        saved, after = await self.find(request), read_last_number(request)
        if self.runs.reader_count >= MAX_READERS:
            message = "Too many programs are reading events; close some of them, or ask again later."
            raise Refusal(503, message, "overloaded", "server_error", headers={"retry-after": "2"})
        last_event = await asyncio.to_thread(saved.file.read_last_event)
        is_over = last_event is not None and last_event["type"] == "run_finished"
        if last_event is not None and is_over and after >= last_event["n"] and saved.id not in self.runs.live_runs:
            return Response(status_code=204)
        events = self.format_events(saved, after)
        return StreamingResponse(events, media_type="text/event-stream", headers=STREAM_HEADERS)

    async def format_events(self, saved: SavedRun, after: int) -> AsyncIterator[bytes]:
        """The events in the form of server-sent events."""
        self.runs.reader_count += 1
        try:
            async for line in self.runs.follow(saved, after):
                yield format_line_as_event(line)
        finally:
            self.runs.reader_count -= 1


def read_list_query(request: Request) -> tuple[str, str, int]:
    """The parameters q, before and limit of a list. Raises `Refusal`."""
    parameters = request.query_params
    query, before, limit = parameters.get("q", ""), parameters.get("before", ""), parameters.get("limit", "")
    if len(query) > LONGEST_SEARCH:
        raise make_field_refusal("q", f"at most {LONGEST_SEARCH} characters")
    if before and not RUN_ID.fullmatch(before):
        raise make_field_refusal("before", "the id of a run")
    if limit and not (limit.isascii() and limit.isdecimal() and 0 < int(limit[:9]) <= LARGEST_PAGE):
        raise make_field_refusal("limit", f"a number from 1 to {LARGEST_PAGE}")
    return query.casefold(), before, int(limit or DEFAULT_PAGE)


def make_download_headers(saved: SavedRun, suffix: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="quorum-{saved.id}.{suffix}"'}
