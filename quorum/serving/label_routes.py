"""What people label over HTTP: the sampled answers of watched promises, and differing answers of compared methods.

Only the server's owner may. As on the terminal, the methods, their confidence and other labels are not told.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quorum.serving.chat_request import make_field_refusal, read_body
from quorum.serving.errors import Refusal
from quorum.serving.label_sources import LabelSource
from quorum.serving.runs.routes import Wrap

MOST_TASKS = 20  # of a list at a time; the page asks for the next when it needs them


def make_label_routes(sources: Mapping[str, LabelSource], wrap: Wrap) -> list[Route]:
    """The routes. wrap: turns refusals into responses."""
    routes = LabelRoutes(sources)
    return [
        Route("/v1/labels", wrap(routes.list_sources)),
        Route("/v1/labels/{name}", wrap(routes.list_tasks)),
        Route("/v1/labels/{name}", wrap(routes.save), methods=["POST"]),
    ]


class LabelRoutes:
    """The handlers. What reads or writes files runs in a thread, one at a time."""

    def __init__(self, sources: Mapping[str, LabelSource]) -> None:
        self.sources, self.lock = sources, asyncio.Lock()

    async def list_sources(self, request: Request) -> Response:
        """The lists, each with how many answers wait; none for a client that may not label."""
        names = list(self.sources) if request.state.client.is_owner else []
        async with self.lock:
            counts = [len(await asyncio.to_thread(self.sources[name].list_tasks)) for name in names]
        data = [{"id": name, "waiting": count} for name, count in zip(names, counts, strict=True)]
        return JSONResponse({"object": "list", "data": data})

    async def list_tasks(self, request: Request) -> Response:
        """The first answers that wait."""
        source = self.find(request)
        async with self.lock:
            tasks = await asyncio.to_thread(source.list_tasks)
        data = [
            {"id": task.id, "question": task.question, "answers": list(task.answers)} for task in tasks[:MOST_TASKS]
        ]
        return JSONResponse({"object": "list", "data": data, "waiting": len(tasks)})

    async def save(self, request: Request) -> Response:
        """Keep a label: {"task": id, "right": [true, ...] as the answers are shown, or null to skip it}."""
        source = self.find(request)
        body = await read_body(request, 'an object such as {"task": "1", "right": [true]}')
        if not isinstance(body, dict):
            raise make_field_refusal("task", "a text, in an object with right")
        async with self.lock:
            tasks = await asyncio.to_thread(source.list_tasks)
            task = next((task for task in tasks if task.id == body.get("task")), None)
            if task is None:
                raise Refusal(404, "This answer does not wait for a label.", "task_not_found", param="task")
            right = check_right(body.get("right"), len(task.answers))
            try:
                await asyncio.to_thread(source.save, task, right, f"page ({request.state.client.id})")
            except OSError as error:
                message = f"The server cannot save the label ({error.strerror or error}); ask whoever runs it."
                raise Refusal(507, message, "not_saved", "server_error") from None
        return JSONResponse({"waiting": len(tasks) - 1})

    def find(self, request: Request) -> LabelSource:
        """Raises `Refusal` (404) for a client that may not label, as for a list that does not exist."""
        name = str(request.path_params["name"])
        if name not in self.sources or not request.state.client.is_owner:
            raise Refusal(404, f"There is nothing to label under {name[:64]!r}.", "labels_not_found")
        return self.sources[name]


def check_right(value: Any, count: int) -> list[bool] | None:
    """Whether each answer is right; None to skip them. Raises `Refusal`."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != count or not all(isinstance(item, bool) for item in value):
        raise make_field_refusal("right", f"a list of {count} times true or false, or null to skip it")
    return value
