"""Reads model specs such as "provider:name", and finds what a client needs: the server's address, key and package.

Every mistake of the user raises a `SetupError`.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from quorum.core.errors import SetupError
from quorum.core.redaction import redact_secrets
from quorum.models.network_settings import explain_network_settings

T = TypeVar("T")
OPENAI_URL = "https://api.openai.com/v1"
PLACEHOLDER_KEY = "none"
RERANK_URL_VARIABLE = "QUORUM_RERANK_BASE_URL"  # the address of the provider api, which ranks passages
OWN_PROVIDERS = ("embedded", "scripted")  # Quorum's own models; only the first can also make embeddings


@dataclass(frozen=True)
class Spec:
    """A model spec that has been read.

    provider: "openai", "embedded", ...; name: the model's name at the provider, empty for Quorum's own models;
    base_url: the server's address, if known.
    """

    provider: str
    name: str
    base_url: str | None = None

    @property
    def text(self) -> str:
        """The spec as a user writes it: "provider:name", or "embedded"."""
        return f"{self.provider}:{self.name}" if self.name else self.provider


def read_spec(text: str, setting: str = "model") -> Spec:
    """A spec from its text. Checks its form, but not whether the provider, the model and a key exist.

    setting: the setting that holds the spec, "model" or "embeddings".
    """
    provider, name = split_spec(text, setting)
    if not name:
        return Spec(provider, "")
    if provider == "api":
        url = os.environ.get(RERANK_URL_VARIABLE, "").strip()
        return Spec(provider, name, check_url(url, RERANK_URL_VARIABLE) if url else None)
    return Spec(provider, name, get_openai_url() if provider == "openai" else find_server_url(provider))


@lru_cache(64)
def split_spec(text: str, setting: str) -> tuple[str, str]:
    """(provider, name) of a spec. The name of Quorum's own models is empty. setting: as for `read_spec`."""
    spec = text.strip()
    if spec in (OWN_PROVIDERS if setting == "model" else OWN_PROVIDERS[:1]):
        return spec, ""
    provider, colon, name = (part.strip() for part in spec.partition(":"))
    if not colon or not provider or not name:
        suggestion = f"openai:{name or provider or 'NAME'}"
        kind = "embedding model" if setting == "embeddings" else "model"
        raise SetupError(
            f"The {kind} {text!r} names no provider; write 'embedded' or provider:name, such as {suggestion}."
        )
    return provider.replace("-", "_").lower(), name


def get_openai_url() -> str:
    """The base URL of the OpenAI-compatible server that the environment names, or else OpenAI's own."""
    variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    return next((check_url(url, variable) for variable in variables if (url := os.environ.get(variable))), OPENAI_URL)


@lru_cache(64)
def check_url(url: str, variable: str) -> str:
    """The address without a trailing slash. variable: the environment variable that holds it."""
    address = url.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:  # such as "http://[::1", where the bracket is not closed
        is_address = False
    if not is_address:
        raise SetupError(
            f"{variable}={hide_login(address)!r} is not an address; write it like http://localhost:8000/v1."
        )
    return address


def find_server_url(provider: str) -> str | None:
    """The address of a provider's server from the environment (OLLAMA_HOST, AZURE_OPENAI_ENDPOINT, ...), or None."""
    variables = (f"{provider.upper()}_{ending}" for ending in ("BASE_URL", "API_BASE", "API_URL", "ENDPOINT", "HOST"))
    return next((url for variable in variables if (url := os.environ.get(variable, "").strip())), None)


def hide_login(url: str) -> str:
    """The URL without a user's name and password."""
    return re.sub(r"\A([a-z][\w+.-]*://)?[^/]*@", r"\1", url, flags=re.IGNORECASE)


def get_openai_access(spec: Spec) -> dict[str, Any]:
    """base_url and api_key for a client. OpenAI's server needs a key, another server does not.

    Raises `SetupError` if the environment has neither a key nor the address of another server.
    """
    key = read_key("OPENAI_API_KEY")
    if not key and not (os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")):
        raise SetupError(
            f"The model {spec.text!r} needs OPENAI_API_KEY (for OpenAI) or OPENAI_BASE_URL (for a compatible server, "
            "such as http://localhost:8000/v1) in the environment; neither is set."
        )
    return {"base_url": spec.base_url, "api_key": key or PLACEHOLDER_KEY}


def read_key(variable: str) -> str:
    """The key in an environment variable, or "". Raises `SetupError` for one with a character that no key has, such as
    a typographic quote, because no header can hold it.
    """
    return check_key(os.environ.get(variable, ""), variable)


def check_key(key: str, name: str) -> str:
    """The key without spaces around it. Raises `SetupError` as `read_key` does. name: what holds it.

    >>> check_key(" sk-1 ", "OPENAI_API_KEY")
    'sk-1'
    """
    key = key.strip()
    wrong = next((character for character in key if not " " <= character <= "~"), None)
    if wrong is not None:
        code = f"U+{ord(wrong):04X}"
        shown = f"{wrong} ({code})" if wrong.isprintable() else code
        raise SetupError(
            f"{name} holds the character {shown}, which no key has; copy the key again, without quotes around it."
        )
    return key


def make_client_or_explain(spec: Spec, create_client: Callable[[], T]) -> T:
    """The client that `create_client` makes with LangChain. Its exceptions (a missing package, an unknown provider, a
    missing key ...) become a `SetupError` that names the spec.
    """
    try:
        with explain_network_settings():
            return create_client()
    except ImportError as error:
        package = get_package(error, spec)
        raise SetupError(
            f"The model {spec.text!r} needs the package {package}, which is not installed; run: pip install {package}"
        ) from None
    except SetupError:
        raise
    except Exception as error:  # providers raise exceptions of many types for a missing setting
        message = " ".join(str(error).split())
        if re.search(r"nable to infer model provider|not supported|nsupported (model_)?provider", message):
            raise SetupError(
                f"The model {spec.text!r} names an unknown provider {spec.provider!r}; use embedded, openai:NAME (set "
                "OPENAI_BASE_URL for a compatible server), or another provider of LangChain, such as anthropic:NAME."
            ) from None
        raise SetupError(f"The model {spec.text!r} could not be set up: {redact_secrets(message)[:300]}") from error


def get_package(error: ImportError, spec: Spec) -> str:
    """The package to install with pip: the one that the message of `error` names, or else langchain-PROVIDER."""
    package_match = re.search(r"pip install (?:-U )?([\w.-]*\w)", str(error))
    if package_match:
        return package_match.group(1).replace("_", "-")
    return f"langchain-{spec.provider.replace('_', '-')}"
