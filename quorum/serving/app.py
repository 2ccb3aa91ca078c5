"""The API as an ASGI application: OpenAI's chat protocol, health, metrics and an OpenAPI document."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from quorum.api.stream import AnswerText, Event, NodeFinished
from quorum.core.cancellation import end_task
from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.core.files import expand_home
from quorum.core.harmless_markdown import HarmlessText
from quorum.core.store_folder import find_own_folder
from quorum.graphs.catalogue import Method
from quorum.serving.access import OPEN_ACCESS, Access
from quorum.serving.access_control import AccessControl, App, Receive, Scope, Send
from quorum.serving.catalogue_routes import make_catalogue_routes
from quorum.serving.chat_request import read_body, read_chat
from quorum.serving.collection_routes import make_collection_routes
from quorum.serving.documents.routes import DocumentRoutes
from quorum.serving.documents.upload_service import UploadService
from quorum.serving.errors import Refusal, explain_failure
from quorum.serving.label_routes import make_label_routes
from quorum.serving.listed_models import list_all_models, list_models
from quorum.serving.log.record import CLIENT_LEFT
from quorum.serving.openapi import describe_api
from quorum.serving.permissions import ServedModel
from quorum.serving.replies import (
    ServedAnswer,
    format_chunk,
    format_event,
    format_remaining_events,
    make_completion,
    make_head,
)
from quorum.serving.runs.routes import make_routes as make_run_routes
from quorum.serving.runs.run_service import RunService
from quorum.serving.service import Job, Service
from quorum.serving.watch_metrics import format_watch_metrics

KEEPALIVE_SECONDS = 10  # a stream without output sends a comment this often, because proxies close idle streams
STREAM_HEADERS = {"x-accel-buffering": "no"}
Handler = Callable[[Request], Awaitable[Response]]


def make_app(service: Service, access: Access = OPEN_ACCESS, *, forget_files: bool = False) -> App:
    """The application behind its access control.

    access: who may ask; by default this machine only. forget_files: the originals of uploads are not kept.
    """
    started_at, server_context = int(time.time()), service.permissions.server_context
    runs_folder = expand_home(find_own_folder(server_context.store)).resolve() / "runs"

    uploads = UploadService(server_context, forget=forget_files)
    uploads.start_recovery()

    def is_busy() -> bool:
        return service.metrics.questions_in_progress > 0

    def wrap(handler: Handler) -> Handler:
        return respond_to_refusals(handler, server_context)

    async def show_models(request: Request) -> Response:
        permissions = service.permissions.of(request.state.client)
        listed = list_all_models if request.query_params.get("all") in ("1", "true") else list_models
        models, methods = await asyncio.to_thread(listed, permissions), permissions.list_methods()
        data = [describe_model(model, methods[model.method], started_at) for model in models]
        return JSONResponse({"object": "list", "data": data})

    async def show_model(request: Request) -> Response:
        permissions = service.permissions.of(request.state.client)
        served_model = await asyncio.to_thread(permissions.find_model, request.path_params["model"])
        method = permissions.find_method(served_model.method)
        if method is None:  # `find_model` has refused it
            raise HTTPException(404)
        return JSONResponse(describe_model(served_model, method, started_at))

    async def complete(request: Request) -> Response:
        chat = read_chat(await read_body(request))
        job = await service.accept(chat, request.state.client)
        if chat.is_streamed:
            event_queue = EventQueue()
            task = service.start(job, event_queue.add)
            return AnswerStream(task, stream_completion(task, event_queue, job, request.state.request_id))
        return await wait_for_answer(request, service.start(job), job)

    async def show_health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def show_metrics(request: Request) -> Response:
        """All counters for the owner, whose key is the first one; for any other key those of its own requests."""
        client = request.state.client
        metrics = service.metrics if client.is_owner else service.find_metrics(client)
        text = metrics.format_text()
        if client.is_owner:
            text += service.log.metrics.format_text()
        if client.is_owner and service.watches is not None:
            standings = await asyncio.to_thread(service.watches.list_standings)
            text += format_watch_metrics(standings, service.watches.withheld)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    async def show_api(request: Request) -> Response:
        return JSONResponse(describe_api(service.permissions.of(request.state.client)))

    routes = [
        Route("/v1/models", wrap(show_models)),
        Route("/v1/models/{model}", wrap(show_model)),
        Route("/v1/chat/completions", wrap(complete), methods=["POST"]),
        Route("/health", show_health),
        Route("/metrics", show_metrics),
        Route("/openapi.json", show_api),
        *make_run_routes(RunService(service, runs_folder), wrap),
        *make_catalogue_routes(service.permissions, wrap),
        *make_label_routes(service.label_sources, wrap),
        *make_collection_routes(service.permissions, wrap, uploads, is_busy),
        *DocumentRoutes(service.permissions, uploads).make_routes(wrap),
    ]
    return AccessControl(Starlette(routes=routes, exception_handlers={HTTPException: refuse_request}), access)


def respond_to_refusals(handler: Handler, server_context: Context) -> Handler:
    """The handler, wrapped so that its refusals, and failures of the store, become responses. A client that left in the
    middle of its body gets none.
    """

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ClientDisconnect:
            return Response(status_code=CLIENT_LEFT)
        except Refusal as refusal:
            return refusal.respond()
        except QuorumError as error:
            return explain_failure(error, server_context, request.state.request_id).respond()

    return handle


async def refuse_request(request: Request, error: Exception) -> Response:
    """The response to an unknown path or HTTP method."""
    assert isinstance(error, HTTPException)  # Starlette calls this handler for this type only
    message = f"{request.method} {request.url.path[:100]} is not served; see /openapi.json."
    return Refusal(error.status_code, message, "not_found", headers=error.headers or {}).respond()


async def wait_for_answer(request: Request, task: "asyncio.Task[ServedAnswer]", job: Job) -> Response:
    """The whole completion. If the client leaves, the run is cancelled."""
    # After the body, the only message is that the client has left.
    disconnect = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            return Response(status_code=CLIENT_LEFT)
        return JSONResponse(make_completion(job.served_model.id, task.result()))
    except Refusal:
        raise
    except Exception as error:  # noqa: BLE001  every failure is reported in OpenAI's format
        raise explain_failure(error, job.context, request.state.request_id) from None
    finally:
        disconnect.cancel()
        await end_task(task)


class AnswerStream(StreamingResponse):
    """A stream of events about a run. If the client leaves, even before the first event, the run is cancelled."""

    def __init__(self, task: "asyncio.Task[ServedAnswer]", events: AsyncIterator[str]) -> None:
        super().__init__(events, media_type="text/event-stream", headers=STREAM_HEADERS)
        self.task = task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await end_task(self.task)


class EventQueue:
    """Carries votes and pieces of the answer from a run to its stream.

    The first piece waits for the second: an answer that comes in one piece is sent with the result, which says whether
    it needs a warning. answer: the pieces sent so far, joined; first_piece: the piece that waits, or empty.
    """

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[dict[str, Any], dict[str, Any]] | None] = asyncio.Queue()
        self.answer = self.first_piece = ""
        self.shown_text = HarmlessText()

    def add(self, event: Event) -> None:
        """Queue a piece of the answer as a delta, and the votes of a node as Quorum's own field.

        Votes of a node that also gives the answer are not queued: they come with the whole result at the end.
        """
        if isinstance(event, AnswerText):
            if not self.answer and (not self.first_piece or event.replaces):
                self.first_piece = event.text
                return
            text = self.first_piece + (f"\n\nCorrected answer: {event.text}" if event.replaces else event.text)
            if event.text:
                self.first_piece = ""
                self.answer += text
                held_back = self.begin_anew() if event.replaces else ""
                self.show(held_back + self.shown_text.add(text))
        elif isinstance(event, NodeFinished) and "answer" not in event.update:
            votes = event.update.get("votes")
            if isinstance(votes, list) and votes:
                self.queue.put_nowait(({}, {"quorum": {"votes": votes}}))

    def show(self, text: str) -> None:
        if text:
            self.queue.put_nowait(({"content": text}, {}))

    def begin_anew(self) -> str:
        """What was held back of the text so far. The next text has nothing to do with it."""
        rest, self.shown_text = self.shown_text.end(), HarmlessText()
        return rest

    def end(self) -> None:
        self.show(self.begin_anew())
        self.queue.put_nowait(None)

    async def read(self) -> AsyncIterator[tuple[dict[str, Any] | None, dict[str, Any]]]:
        """Yield pairs (delta, Quorum's own fields) until the run ends.

        After KEEPALIVE_SECONDS without an event, yield (None, {}).
        """
        while True:
            try:
                async with asyncio.timeout(KEEPALIVE_SECONDS):
                    item = await self.queue.get()
            except TimeoutError:
                yield None, {}
                continue
            if item is None:
                return
            yield item


async def stream_completion(
    task: "asyncio.Task[ServedAnswer]", event_queue: EventQueue, job: Job, request_id: str
) -> AsyncIterator[str]:
    """The completion as events, then [DONE]. An error is an event, too."""
    head = make_head(job.served_model.id, "chat.completion.chunk")
    wants_usage = job.chat.wants_usage
    usage_field: dict[str, Any] = {"usage": None} if wants_usage else {}  # only the last chunk gives numbers
    try:
        yield format_chunk(head, {"role": "assistant", "content": ""}, **usage_field)
        task.add_done_callback(lambda _: event_queue.end())
        async for delta, quorum_fields in event_queue.read():
            yield ": still at work\n\n" if delta is None else format_chunk(head, delta, **quorum_fields, **usage_field)
        for event in format_remaining_events(head, task.result(), event_queue.answer, wants_usage=wants_usage):
            yield event
    except Exception as error:  # noqa: BLE001  every failure is reported in OpenAI's format
        refusal = error if isinstance(error, Refusal) else explain_failure(error, job.context, request_id)
        job.record.fail(refusal.status, refusal.code)
        yield format_event(refusal.body)


def describe_model(served_model: ServedModel, method: Method, created_at: int) -> dict[str, Any]:
    """A method as OpenAI describes a model."""
    fields = {"object": "model", "created": created_at, "owned_by": "quorum", "description": method.summary}
    return {"id": served_model.id, **fields}
