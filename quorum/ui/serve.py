"""The page as `quorum serve` serves it, beside the API."""

from quorum.core.context import Context
from quorum.ui.guard import App, Guard

SPARE = 10_000_000  # bytes of a request beside the files in it


def make_page(base: Context, token: str | None, port: int) -> App:
    """The page behind its guard. token: demanded of every visitor; None on this machine alone."""
    from quorum.ui.app import build
    from quorum.ui.files import LARGEST_UPLOAD

    return Guard(build(base), token, port=port, largest=LARGEST_UPLOAD + SPARE)
