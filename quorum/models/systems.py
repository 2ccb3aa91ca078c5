"""Asks users' own systems: a server of OpenAI's protocol, a LangGraph assistant, a Python function.

Each takes a question and returns its answer as text, with passages and token counts if it reports them.
"""

import asyncio
import importlib
import inspect
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from quorum.core.context import Context
from quorum.core.conversation import remove_served_additions
from quorum.core.errors import CallError, QuorumError, SetupError
from quorum.core.state import Passage, Usage
from quorum.core.thinking import remove_thinking
from quorum.models.loops import get_loop_cache
from quorum.models.model_spec import read_key
from quorum.models.network_settings import explain_network_settings
from quorum.models.refused_access import is_access_refused

SYSTEM_CALL_NAME = "system"  # the name under which the calls of a user's own system are counted
NO_TOKENS = Usage(calls=1, input_tokens=0, output_tokens=0, cached_tokens=0)
FINAL_STATUSES = (401, 404, 422)  # HTTP statuses for a wrong key or assistant: every question fails
SPEC_EXAMPLES = (
    "mine=http://localhost:8000/v1#model, mine=langgraph:http://localhost:2024#agent or mine=python:module:function"
)


@dataclass(frozen=True)
class SystemReply:
    """The reply of a system.

    passages: those that the system read, if it reports them; usage: token counts that it does not report are 0.
    """

    text: str
    passages: list[Passage] = field(default_factory=list)
    usage: Usage = field(default_factory=lambda: NO_TOKENS)


class System(Protocol):
    """A user's own system, which answers questions."""

    @property
    def pricing_model(self) -> str:
        """The name under which the file of `--prices` gives the system's price: openai:MODEL for a chat server,
        openai:NAME for any other system.
        """
        ...

    async def ask(self, question: str, passages: Sequence[Passage] | None, context: Context) -> SystemReply:
        """Answer a question. Raises CallError if it fails, SetupError if no question can succeed."""
        ...


def read_system(name: str, spec: str) -> System:
    """The system of a spec: http(s)://HOST/v1#MODEL, langgraph:URL#ASSISTANT or python:MODULE:FUNCTION.

    >>> read_system("mine", "http://localhost:8000/v1#llama").pricing_model
    'openai:llama'
    """
    kind, _, target = spec.partition(":")
    address, _, model_or_assistant = (spec if kind in ("http", "https") else target).partition("#")
    if kind in ("http", "https", "langgraph"):
        try:
            url_parts = urlsplit(address)
        except ValueError as error:
            raise SetupError(
                f"{name}={spec!r} has no valid URL ({error}); write for example {SPEC_EXAMPLES}."
            ) from None
        if url_parts.scheme not in ("http", "https") or not url_parts.hostname or not model_or_assistant:
            raise SetupError(
                f"The system {name}={spec!r} has no server's URL, or no name of a model or an assistant after '#'; "
                f"write for example {SPEC_EXAMPLES}."
            )
        if kind == "langgraph":
            return Assistant(name, address, model_or_assistant)
        return ChatServer(name, address.rstrip("/"), model_or_assistant)
    module, _, function = target.partition(":")
    if kind != "python" or not module or not function:
        raise SetupError(f"The system {name}={spec!r} cannot be read; write for example {SPEC_EXAMPLES}.")
    return PythonFunction(name, import_function(name, module, function))


def find_key(name: str) -> str | None:
    """The key of the system NAME, from the environment variable NAME_API_KEY; None if it is not set.

    A system named "openai" gets none: its variable would be OPENAI_API_KEY, which is never sent to a system.
    """
    variable = name_key_variable(name)
    return None if variable == "OPENAI_API_KEY" else read_key(variable) or None


def name_key_variable(name: str) -> str:
    """The environment variable that holds a system's key.

    >>> name_key_variable("my-bot")
    'MY_BOT_API_KEY'
    """
    return f"{re.sub(r'[^A-Z0-9]', '_', name.upper())}_API_KEY"


@dataclass(frozen=True)
class ChatServer:
    """A server of OpenAI's chat protocol. Calls to it are retried, limited and counted like those to a model."""

    name: str
    url: str
    model: str

    @property
    def pricing_model(self) -> str:
        return f"openai:{self.model}"

    async def ask(self, question: str, passages: Sequence[Passage] | None, context: Context) -> SystemReply:
        """The reply to a chat with one message, the question; passages are not sent."""
        from quorum.models.call import call

        [reply] = await call(SYSTEM_CALL_NAME, question, context=context, model=self.make_client(context))
        # The server may be a `quorum serve`, which adds sources, a quote or "Not sure. Perhaps: " to an answer.
        return SystemReply(remove_served_additions(reply.text), usage=reply.usage)

    def make_client(self, context: Context) -> Any:
        """The client for this event loop. It does not retry, because `quorum.models.call.call` does."""
        from quorum.models.http_clients import make_http_clients
        from quorum.models.openai_chat import OpenAIChat

        loop_cache = get_loop_cache()
        options: dict[str, Any] = {"max_retries": 0, "timeout": context.timeout, "stream_usage": True}
        access: dict[str, Any] = {"base_url": self.url, "api_key": find_key(self.name) or "none"}

        def make() -> Any:
            clients = make_http_clients(context.timeout, loop_cache, self.url)
            return OpenAIChat.make(self.model, {**options, **access, **clients})

        return loop_cache.get_or_make(("system", self), make)


@dataclass(frozen=True)
class Assistant:
    """An assistant of a LangGraph server. Its input holds the question as `question` and as a user's message, and the
    passages that come with the question, if any, as `given`.
    """

    name: str
    url: str
    assistant: str

    @property
    def pricing_model(self) -> str:
        return f"openai:{self.name}"

    async def ask(self, question: str, passages: Sequence[Passage] | None, context: Context) -> SystemReply:
        """The reply in the assistant's state: the field `answer` or, without it, the last message."""
        from langgraph.pregel.remote import RemoteGraph
        from langgraph_sdk import get_client

        inputs: dict[str, Any] = {"question": question, "messages": [{"role": "user", "content": question}]}
        inputs |= {} if passages is None else {"given": [dict(passage) for passage in passages]}
        with explain_network_settings():
            client = get_client(url=self.url, api_key=find_key(self.name), timeout=context.timeout)
        bound_client(client.http.client, context.timeout)
        try:
            async with client, asyncio.timeout(context.timeout):
                state = await RemoteGraph(self.assistant, client=client).ainvoke(inputs)
            return read_system_reply(self.name, state)
        except QuorumError:
            raise
        except Exception as error:
            status, message = getattr(error, "status_code", None), " ".join(str(error).split())[:300]
            if status in FINAL_STATUSES or (status == 403 and is_access_refused(status, message, set())):
                raise SetupError(
                    f"The system {self.name!r} refuses every question ({message}); check its URL, the assistant's "
                    f"name and the key in {name_key_variable(self.name)}."
                ) from None
            raise make_call_error(self.name, error) from error


@dataclass(frozen=True)
class PythonFunction:
    """A plain or asynchronous function. It gets the question and, if it has a parameter `passages`, the passages."""

    name: str
    function: Any

    @property
    def pricing_model(self) -> str:
        return f"openai:{self.name}"

    async def ask(self, question: str, passages: Sequence[Passage] | None, context: Context) -> SystemReply:
        """The reply in the value that the function returns: a text, or a dictionary with `answer` or `messages`."""
        try:
            takes_passages = "passages" in inspect.signature(self.function).parameters
            arguments: dict[str, Any] = {"passages": passages} if takes_passages else {}
            async with asyncio.timeout(context.timeout):
                if inspect.iscoroutinefunction(self.function):
                    reply = await self.function(question, **arguments)
                else:
                    reply = await asyncio.to_thread(self.function, question, **arguments)
            return read_system_reply(self.name, reply)
        except QuorumError:
            raise
        except Exception as error:
            raise make_call_error(self.name, error) from error


def bound_client(http_client: Any, timeout: float) -> None:
    """Bound the responses of an HTTP client that a library has made (see `quorum.models.bounded_responses`)."""
    from quorum.models.bounded_responses import ACCEPTED_ENCODINGS, make_async_bounding_hook

    http_client.headers["accept-encoding"] = ACCEPTED_ENCODINGS
    http_client.event_hooks["response"].append(make_async_bounding_hook(timeout))


def import_function(name: str, module: str, function: str) -> Any:
    """The function of a module. The module may lie in the working directory.

    Raises `SetupError` if the module cannot be imported, or has no such function.
    """
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        imported_function = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:  # noqa: BLE001  the module may do anything while it is imported
        raise SetupError(
            f"The system {name!r} cannot be imported ({error}); check the module and the function in "
            f"python:{module}:{function}."
        ) from None
    if not callable(imported_function):
        raise SetupError(f"The system {name!r} names {module}:{function}, which is not a function; name a function.")
    return imported_function


def make_call_error(name: str, error: Exception) -> CallError:
    """The error of a question that a system could not answer."""
    message = " ".join(str(error).split())[:300] or type(error).__name__
    return CallError(f"The system {name!r} failed: {type(error).__name__}: {message}")


def read_system_reply(name: str, reply: Any) -> SystemReply:
    """The reply in a system's returned value. Raises CallError if it holds no answer."""
    if isinstance(reply, str):
        return SystemReply(remove_thinking(reply))
    state = reply if isinstance(reply, Mapping) else {}
    text = state.get("answer")
    if not isinstance(text, str) and state.get("messages"):
        text = read_content(state["messages"][-1])
    if not isinstance(text, str):
        raise CallError(f"The system {name!r} returned no answer: give a text, or {{'answer': text}}.")
    passages = [read_passage(passage, rank) for rank, passage in enumerate(state.get("passages") or [], start=1)]
    return SystemReply(remove_thinking(text), passages, read_usage(state.get("usage")))


def read_content(message: Any) -> Any:
    """The text of a message, which is an object or a dictionary."""
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", None)
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return content


def read_passage(value: Any, rank: int) -> Passage:
    """A passage that a system reports.

    value: a text, or a dictionary with the keys id, title and text; a key whose value is None counts as missing.
    rank: becomes the id of a passage that has none.
    """
    fields = value if isinstance(value, Mapping) else {"text": str(value)}
    present = {name: str(fields[name]) for name in ("id", "title", "text") if fields.get(name) is not None}
    return Passage(id=present.get("id", str(rank)), title=present.get("title", ""), text=present.get("text", ""))


def read_usage(value: Any) -> Usage:
    """The token counts that a system reports.

    value: one dictionary {"input_tokens": ...}, or a dictionary that holds one of these for each prompt, as Quorum's
    results do; then their counts are summed. A dictionary beside token counts, such as LangChain's
    "input_token_details", is ignored.
    """
    counts = value if isinstance(value, Mapping) else {}
    has_own_counts = any(isinstance(counts.get(name), int) for name in ("input_tokens", "output_tokens"))
    prompt_counts = [] if has_own_counts else [part for part in counts.values() if isinstance(part, Mapping)]
    parts = prompt_counts or [counts]

    def sum_counts(name: str) -> int:
        return sum(part[name] for part in parts if isinstance(part.get(name), int))

    return Usage(
        calls=sum_counts("calls") or 1,
        input_tokens=sum_counts("input_tokens"),
        output_tokens=sum_counts("output_tokens"),
        cached_tokens=sum_counts("cached_tokens"),
    )
