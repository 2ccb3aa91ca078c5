"""Creates the page that `quorum serve` serves beside the API: a few files, which ask the API for everything else."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from quorum.serving.access import Access
from quorum.serving.guard import App, Guard
from quorum.serving.service import Service

BUILT_FOLDER = Path(__file__).parent / "built"
# Addresses that the page itself interprets: it shows a conversation, the documents of a collection, answers to label, a
# comparison.
CLIENT_PATHS = (
    "/",
    "/c/{id}",
    "/documents",
    "/documents/{collection}",
    "/label",
    "/label/{name}",
    "/compare",
    "/compare/{id}",
)
SENT_FILES = {
    "app.js": "text/javascript",
    "markdown.js": "text/javascript",
    "app.css": "text/css",
    "icon.svg": "image/svg+xml",
}
LARGEST_BODY = 1_000_000  # bytes; the page's files are only fetched


def make_page(service: Service, access: Access, port: int) -> App:
    """The page behind a `Guard`, which lets only permitted requests through. port: the server's port.

    access: who may open it.
    """

    async def send_page(request: Request) -> Response:
        return FileResponse(BUILT_FOLDER / "index.html", media_type="text/html", headers={"cache-control": "no-cache"})

    async def send_file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SENT_FILES:
            raise HTTPException(404)
        headers = {"cache-control": "no-cache"}
        response = FileResponse(BUILT_FOLDER / name, media_type=SENT_FILES[name], headers=headers)
        stat = (BUILT_FOLDER / name).stat()
        response.set_stat_headers(stat)
        if request.headers.get("if-none-match") == response.headers["etag"]:
            return Response(status_code=304, headers={"etag": response.headers["etag"], **headers})
        return response

    async def explain_missing(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"There is no page at {request.url.path[:100]}; open / to ask.", 404)

    routes = [Route("/page/{name}", send_file), *(Route(path, send_page) for path in CLIENT_PATHS)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: explain_missing})
    return Guard(app, access, port=port, max_bytes=LARGEST_BODY)
