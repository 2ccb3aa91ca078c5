"""Access to a LangSmith account: whether one is set, a quiet log, and errors in one sentence."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from langsmith.utils import LangSmithError, get_env_var
from pydantic import ValidationError

from quorum.core.errors import SetupError
from quorum.models.tracing import copy_without_secrets

LONGEST_MESSAGE = 200  # characters of LangSmith's error message
URL_QUERY = re.compile(r"\?[^\s'\"]+")  # the query of a URL holds ids that say nothing to the user
LANGSMITH_ERRORS = (LangSmithError, OSError, ValidationError)  # OSError: what its HTTP library raises


def check_account(what: str, advice: str) -> None:
    """Raise a `SetupError` if no account is set. what: what needs it; advice: what else the user can do."""
    if not (get_env_var("API_KEY") or get_env_var("ENDPOINT")):
        raise SetupError(
            f"{what} needs an account: set LANGSMITH_API_KEY (and LANGSMITH_ENDPOINT for a server of your own), "
            f"{advice}."
        )


@contextmanager
def silence_langsmith() -> Iterator[None]:
    """In this block LangSmith's log is silent, because we report failures ourselves."""
    logger = logging.getLogger("langsmith")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def describe_error(error: Exception) -> str:
    """The error message without secrets, cut to LONGEST_MESSAGE characters."""
    message = (
        " ".join(URL_QUERY.sub("", str(copy_without_secrets(str(error), hide_passages=False))).split())
        or type(error).__name__
    )
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} ..."
