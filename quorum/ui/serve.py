"""Creates the page that `quorum serve --old-page` serves beside the API."""

from collections.abc import Sequence

from quorum.serving.access_control import name_client
from quorum.serving.guard import App, Guard
from quorum.serving.service import Service
from quorum.ui.budget import PageBudget

CONTENT_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
REQUEST_OVERHEAD = 10_000_000  # bytes that a request may have besides the files in it


def make_page(service: Service, tokens: Sequence[str], port: int) -> App:
    """The page behind a `Guard`, which lets only permitted requests through. port: the server's port.

    Every visitor needs the first of `tokens`; if there are none, only this machine has access.
    """
    from quorum.ui.app import make_page_app
    from quorum.ui.uploads import LARGEST_UPLOAD

    token = tokens[0] if tokens else None
    app = make_page_app(service.permissions.server_context, PageBudget(service, name_client(token)))
    max_bytes = LARGEST_UPLOAD + REQUEST_OVERHEAD
    return Guard(app, token, port=port, max_bytes=max_bytes, content_policy=CONTENT_POLICY)
