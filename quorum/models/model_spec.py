"""Model specs: "provider:name" -> a client. Every user error here is a `SetupError`."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from quorum.core.errors import SetupError
from quorum.core.redaction import redact_secrets

T = TypeVar("T")
OPENAI_URL = "https://api.openai.com/v1"
PLACEHOLDER_KEY = "none"
OWN_PROVIDERS = ("embedded", "scripted")


@dataclass(frozen=True)
class Spec:
    """provider: "openai", "embedded", ...; name: the model's; base_url: the server's address, if known."""

    provider: str
    name: str
    base_url: str | None = None

    @property
    def text(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider


def read_spec(text: str, kind: str = "model") -> Spec:
    """A spec from its text; checks its form, not whether it can be used."""
    provider, name = split_spec(text, kind)
    if not name:
        return Spec(provider, "")
    return Spec(provider, name, get_openai_url() if provider == "openai" else find_server_url(provider))


@lru_cache(64)
def split_spec(text: str, kind: str) -> tuple[str, str]:
    """(provider, name) of a spec. Quorum's own models have no name."""
    spec = text.strip()
    if spec in (OWN_PROVIDERS if kind == "model" else OWN_PROVIDERS[:1]):
        return spec, ""
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if not colon or not provider or not name:
        suggestion = f"openai:{name or provider or 'NAME'}"
        raise SetupError(f"{kind}={text!r} names no provider; write 'embedded' or provider:name, such as {suggestion}.")
    return provider.replace("-", "_").lower(), name


def get_openai_url() -> str:
    """The base URL of an OpenAI-compatible server, or OpenAI's own."""
    variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    return next((check_url(url, variable) for variable in variables if (url := os.environ.get(variable))), OPENAI_URL)


@lru_cache(64)
def check_url(url: str, variable: str) -> str:
    """The address without a trailing slash. variable: the environment variable that holds it."""
    address = url.strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(
            f"{variable}={hide_login(address)!r} is not an address; write it like http://localhost:8000/v1."
        )
    return address


def find_server_url(provider: str) -> str | None:
    """The address of a provider's server from the environment (OLLAMA_HOST, AZURE_OPENAI_ENDPOINT, ...)."""
    variables = (f"{provider.upper()}_{kind}" for kind in ("BASE_URL", "API_BASE", "API_URL", "ENDPOINT", "HOST"))
    return next((url for variable in variables if (url := os.environ.get(variable, "").strip())), None)


def hide_login(url: str) -> str:
    """The URL without a user's name and password."""
    return re.sub(r"\A([a-z][\w+.-]*://)?[^/]*@", r"\1", url, flags=re.IGNORECASE)


def get_openai_access(spec: Spec) -> dict[str, Any]:
    """base_url and api_key for a client. OpenAI's server needs a key, another server does not."""
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key and not (os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")):
        raise SetupError(
            f"The model {spec.text!r} needs OPENAI_API_KEY (for OpenAI) or OPENAI_BASE_URL (for a compatible server, "
            "such as http://localhost:8000/v1) in the environment; neither is set."
        )
    return {"base_url": spec.base_url, "api_key": key or PLACEHOLDER_KEY}


def make_client(spec: Spec, make: Callable[[], T]) -> T:
    """Call `make`, which uses LangChain. A missing package, provider or key is a `SetupError`."""
    try:
        return make()
    except ImportError as error:
        package = get_package(error, spec)
        raise SetupError(
            f"The model {spec.text!r} needs the package {package}, which is not installed; run: pip install {package}"
        ) from None
    except SetupError:
        raise
    except Exception as error:  # providers raise exceptions of many types for a missing setting
        message = " ".join(str(error).split())
        if "nable to infer model provider" in message or "not supported" in message or "nsupported provider" in message:
            raise SetupError(
                f"The model {spec.text!r} names an unknown provider {spec.provider!r}; use embedded, openai:NAME (any "
                "compatible server by OPENAI_BASE_URL), or another provider of langchain, such as anthropic:NAME."
            ) from None
        raise SetupError(f"The model {spec.text!r} could not be set up: {redact_secrets(message)[:300]}") from error


def get_package(error: ImportError, spec: Spec) -> str:
    """The pip package to install: the one in LangChain's message, else by LangChain's naming convention."""
    package_match = re.search(r"pip install (?:-U )?([\w.-]*\w)", str(error))
    if package_match:
        return package_match.group(1)
    return f"langchain-{spec.provider.replace('_', '-')}"
