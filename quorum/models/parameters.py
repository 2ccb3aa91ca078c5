"""What is sent beside a message: decoding parameters and a JSON schema, less what the model has refused.

A refusal is learned from the first one and holds for the life of the process: per model and base URL for a model that
is named, per event loop for a model object.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

from quorum.models.loops import per_loop

if TYPE_CHECKING:
    from quorum.models.request import Request

LOG = logging.getLogger("quorum")
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")  # two names for one limit; a model takes one of them
SCHEMA = "response_format"


@dataclass
class Refusals:
    """The names of what a model has refused; the model object itself, so that no other one gets its identity."""

    names: set[str] = field(default_factory=set)
    model: BaseChatModel | None = None


REFUSALS: dict[str, Refusals] = {}  # by the model's label, which names its base URL


def refused_by(request: "Request") -> set[str]:
    """What this model has refused so far; to be added to."""
    if request.is_named:
        return REFUSALS.setdefault(request.label, Refusals()).names
    made = per_loop().once(("refusals", id(request.model)), lambda: Refusals(model=request.model))
    return made.names


def leave_out(request: "Request", name: str, why: str = "does not take {}; going on without it") -> None:
    """From now on. Other calls may be under way with it, and be refused as this one was."""
    refused = refused_by(request)
    if name not in refused:
        refused.add(name)
        LOG.warning("%s %s.", request.label, why.format(name))


def sendable(request: "Request") -> set[str]:
    """The names of the parameters that a request has, refused or not: its own, and those that a model object brings."""
    brought = {name for name in ("temperature", "top_p", "seed") if setting(request.model, name) is not None}
    limits = set(TOKEN_LIMITS) if setting(request.model, "max_tokens") is not None else set()
    return request.decoding.keys() | brought | limits


def left_out(request: "Request") -> str:
    """The parameters that are not sent because the model refuses them, with commas between them."""
    return ",".join(sorted(sendable(request) & refused_by(request)))


def setting(model: BaseChatModel, name: str) -> Any:
    """A model object's own value of a parameter; None where it has none."""
    return getattr(model, name, None) if name in type(model).model_fields else None


def applied(request: "Request") -> tuple[BaseChatModel, dict[str, Any]]:
    """A model and call arguments that apply the parameters; one client serves all of them.

    OpenAI's client, the embedded and the scripted model take them with the call. Others take them as settings: a
    shallow copy, which shares the connections, has those that the class knows.
    """
    model, refused = request.model, refused_by(request)
    wanted = {name: value for name, value in request.decoding.items() if name not in refused}
    dropped = {name: None for name in refused - set(TOKEN_LIMITS) if setting(model, name) is not None}
    if request.local or takes_parameters(type(model)):
        more: dict[str, Any] = {}
        if speaks_openai(type(model)):
            limit, changes = token_limit(model, refused)
            more, dropped = body_of(model, limit | schema_of(request)), dropped | changes
        return copied(model, dropped), wanted | more
    known = {name: value for name, value in wanted.items() if name in type(model).model_fields}
    return copied(model, dropped | known), {}


def copied(model: BaseChatModel, changes: Mapping[str, Any]) -> BaseChatModel:
    return model.model_copy(update=changes) if changes else model


def token_limit(model: BaseChatModel, refused: set[str]) -> tuple[dict[str, Any], dict[str, None]]:
    """(what goes into the body, what the client must not send): a model object's limit under its other name."""
    limit = setting(model, "max_tokens")
    usual, other = reversed(TOKEN_LIMITS) if is_kind(type(model), "ChatOpenAI") else TOKEN_LIMITS
    if limit is None or usual not in refused:
        return {}, {}
    return ({} if other in refused else {other: limit}), {"max_tokens": None}


def schema_of(request: "Request") -> dict[str, Any]:
    """The JSON schema as the OpenAI protocol has it; it goes into the body, where LangChain leaves it as it is."""
    if request.schema is None or SCHEMA in refused_by(request):
        return {}
    name = str(request.config["metadata"]["prompt"])
    return {SCHEMA: {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": request.schema}}}


def body_of(model: BaseChatModel, more: Mapping[str, Any]) -> dict[str, Any]:
    """The call argument that adds fields to a request's body, beside those that the model object adds."""
    return {"extra_body": {**(getattr(model, "extra_body", None) or {}), **more}} if more else {}


def takes_parameters(kind: type[BaseChatModel]) -> bool:
    """Whether models of this class take decoding parameters with a call."""
    return speaks_openai(kind) or is_kind(kind, "ScriptedModel")


def speaks_openai(kind: type[BaseChatModel]) -> bool:
    """Whether models of this class are servers that speak the OpenAI protocol."""
    return is_kind(kind, "BaseChatOpenAI")


@cache
def is_kind(kind: type[BaseChatModel], name: str) -> bool:
    """Whether a class, or one that it is made from, has that name; nothing is imported to find out."""
    return name in {base.__name__ for base in kind.__mro__}
