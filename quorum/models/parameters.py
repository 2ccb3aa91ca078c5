"""Applies the parameters of a request: decoding parameters and a JSON schema, without those that the model refused.

After the first refusal a parameter is left out. For a model given by its spec, this is remembered by model and base URL
until the process ends; for a model object, until its event loop ends.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from langchain_core.language_models import BaseChatModel

from quorum.models.loops import get_loop_cache
from quorum.models.request import Request

LOG = logging.getLogger("quorum")
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")  # two names for one limit; a model takes one of them
SCHEMA_PARAMETER = "response_format"


@dataclass
class Refusals:
    """The names of the parameters that a model refused.

    model: the model object, if `get_refusals` finds these refusals by its id. The reference keeps the object alive, so
    that no other object gets the same id.
    """

    names: set[str] = field(default_factory=set)
    model: BaseChatModel | None = None


REFUSED_PARAMETERS: dict[str, Refusals] = {}  # by the model's label, which names its base URL


def get_refusals(request: Request) -> set[str]:
    """The names of the parameters that this model has refused so far. A caller may add names to the set."""
    if request.is_given_by_spec:
        return REFUSED_PARAMETERS.setdefault(request.model_label, Refusals()).names
    refusals = get_loop_cache().get_or_make(("refusals", id(request.model)), lambda: Refusals(model=request.model))
    return refusals.names


def record_refusal(
    request: Request, name: str, message: str = "does not take {}; going on without it", level: int = logging.WARNING
) -> None:
    """Stop sending this parameter to the model, and log `message` once, with the parameter's name in place of {}.

    Calls that were sent before may still be refused for this parameter. level: of the log.
    """
    refused_names = get_refusals(request)
    if name not in refused_names:
        refused_names.add(name)
        LOG.log(level, "%s %s.", request.model_label, message.format(name))


def list_parameters(request: Request) -> set[str]:
    """The names of the decoding parameters, refused or not, of a request itself and of its model object.

    If the model object has a token limit, both names of the limit are in the set.
    """
    model_parameters = {
        name for name in ("temperature", "top_p", "seed") if get_model_parameter(request.model, name) is not None
    }
    limits = set(TOKEN_LIMITS) if get_model_parameter(request.model, "max_tokens") is not None else set()
    return request.decoding.keys() | model_parameters | limits


def list_refused_parameters(request: Request) -> str:
    """The names of the decoding parameters that are not sent because the model refuses them, separated by commas."""
    return ",".join(sorted(list_parameters(request) & get_refusals(request)))


def get_model_parameter(model: BaseChatModel, name: str) -> Any:
    """A model object's own value of a parameter; None if it has none."""
    return getattr(model, name, None) if name in type(model).model_fields else None


def apply_parameters(request: Request) -> tuple[BaseChatModel, dict[str, Any]]:
    """The model to call and the arguments of the call, which together apply all parameters that are not refused.

    OpenAI's client, the scripted model and models that run in this process take parameters as arguments of the call.
    Any other model is copied, and the fields of the copy get the parameters that its class knows. A refused parameter
    that is set on the model object is set to None in a copy. Copies are shallow: they share the model's client and its
    connections.
    """
    model, refused_names = request.model, get_refusals(request)
    wanted_values = {name: value for name, value in request.decoding.items() if name not in refused_names}
    dropped_values = {
        name: None for name in refused_names - set(TOKEN_LIMITS) if get_model_parameter(model, name) is not None
    }
    if request.is_in_process or takes_parameters(type(model)):
        extra_arguments: dict[str, Any] = {}
        if speaks_openai(type(model)):
            limit_fields, dropped_limit = rename_token_limit(model, refused_names)
            extra_arguments = make_extra_body(model, limit_fields | make_schema_fields(request))
            dropped_values |= dropped_limit
        return copy_model(model, dropped_values), wanted_values | extra_arguments
    known_parameters = {name: value for name, value in wanted_values.items() if name in type(model).model_fields}
    return copy_model(model, dropped_values | known_parameters), {}


def copy_model(model: BaseChatModel, changes: Mapping[str, Any]) -> BaseChatModel:
    return model.model_copy(update=changes) if changes else model


def rename_token_limit(model: BaseChatModel, refused_names: set[str]) -> tuple[dict[str, Any], dict[str, None]]:
    """Rename a model object's token limit in requests if the server refused the name that the client gives it.

    Returns (fields to add to the request's body, fields of the model object to set to None, so that its client does not
    send them).
    """
    limit = get_model_parameter(model, "max_tokens")
    # ChatOpenAI sends its `max_tokens` as max_completion_tokens; other clients send it as max_tokens.
    sent_name, other_name = reversed(TOKEN_LIMITS) if is_subclass_by_name(type(model), "ChatOpenAI") else TOKEN_LIMITS
    if limit is None or sent_name not in refused_names:
        return {}, {}
    return ({} if other_name in refused_names else {other_name: limit}), {"max_tokens": None}


def make_schema_fields(request: Request) -> dict[str, Any]:
    """The JSON schema in the form of the OpenAI protocol. It goes into the body, where LangChain does not change it."""
    if request.schema is None or SCHEMA_PARAMETER in get_refusals(request):
        return {}
    name = str(request.config["metadata"]["prompt"])
    return {
        SCHEMA_PARAMETER: {
            "type": "json_schema",
            "json_schema": {"name": name, "strict": True, "schema": request.schema},
        }
    }


def make_extra_body(model: BaseChatModel, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The call argument that adds fields to a request's body. The model object's own extra fields stay."""
    return {"extra_body": {**(getattr(model, "extra_body", None) or {}), **fields}} if fields else {}


def takes_parameters(model_class: type[BaseChatModel]) -> bool:
    """Whether models of this class take decoding parameters with a call."""
    return speaks_openai(model_class) or is_subclass_by_name(model_class, "ScriptedModel")


def speaks_openai(model_class: type[BaseChatModel]) -> bool:
    """Whether models of this class speak the OpenAI protocol."""
    return is_subclass_by_name(model_class, "BaseChatOpenAI")


@cache
def is_subclass_by_name(model_class: type[BaseChatModel], class_name: str) -> bool:
    """Whether the class or one of its bases has this name. Comparing names spares the import of the named class."""
    return class_name in {base.__name__ for base in model_class.__mro__}
