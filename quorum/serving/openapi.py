"""Makes the OpenAPI document that describes the server's HTTP API."""

from collections.abc import Mapping
from typing import Any

from quorum.serving.describe_choices import describe_choices
from quorum.serving.describe_labels import describe_labels
from quorum.serving.documents.describe import describe_documents
from quorum.serving.permissions import ALLOWED_CHOICES, ALLOWED_SETTINGS, LARGEST_VALUES, MODEL_SETTINGS, Permissions
from quorum.serving.runs.describe import PathWriter, describe_runs

TEXT_TYPE, OBJECT_TYPE = {"type": "string"}, {"type": "object"}
JSON_OBJECT, PLAIN_TEXT = {"application/json": OBJECT_TYPE}, {"text/plain": TEXT_TYPE}  # schemas by content type
COMPLETION_DESCRIPTION = (
    "A chat completion in OpenAI's format, with the method's whole result in the field quorum. If the request sets "
    "stream to true: the chunks of this completion."
)
ERROR_STATUSES = ("400", "401", "403", "404", "413", "429", "500", "502", "503")


def describe_api(permissions: Permissions) -> dict[str, Any]:
    """The OpenAPI document. Of the settings, it lists only those that a client may choose."""
    from quorum import __version__

    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Quorum",
            "version": __version__,
            "description": "Question answering over documents, by many methods.",
        },
        "paths": {
            "/v1/models": {
                "get": describe_operation(
                    "The methods, as METHOD and METHOD@COLLECTION", "A list of models in OpenAI's format"
                )
            },
            "/v1/models/{model}": {
                "get": describe_operation("One method", "A model in OpenAI's format")
                | {"parameters": [{"name": "model", "in": "path", "required": True, "schema": TEXT_TYPE}]}
            },
            "/v1/chat/completions": {
                "post": describe_operation(
                    "Ask a question: the last user message",
                    COMPLETION_DESCRIPTION,
                    {**JSON_OBJECT, "text/event-stream": TEXT_TYPE},
                )
                | {
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": describe_request(permissions)}},
                    }
                }
            },
            **describe_runs(PathWriter(describe_operation)),
            **describe_choices(PathWriter(describe_operation)),
            **describe_labels(PathWriter(describe_operation)),
            **describe_documents(PathWriter(describe_operation)),
            "/health": {"get": describe_operation("Whether the server runs", "The server runs") | {"security": []}},
            "/metrics": {
                "get": describe_operation("Metrics for Prometheus", "Text in Prometheus's format", PLAIN_TEXT)
            },
        },
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": {**OBJECT_TYPE, "properties": {"error": describe_error()}}},
        },
        "security": [{"key": []}],
    }


def describe_operation(
    summary: str, description: str, schemas: Mapping[str, dict[str, str]] = JSON_OBJECT
) -> dict[str, Any]:
    """One operation of a path: what it does (`summary`), its 200 response and its errors.

    description: what the 200 response is; schemas: the schema of its body for each content type.
    """
    error_content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    content = {content_type: {"schema": schema} for content_type, schema in schemas.items()}
    errors = {status: {"description": "Refused or failed", "content": error_content} for status in ERROR_STATUSES}
    return {"summary": summary, "responses": {"200": {"description": description, "content": content}, **errors}}


def describe_error() -> dict[str, Any]:
    """The schema of the object `error` in the body of a refused or failed request."""
    return {
        **OBJECT_TYPE,
        "properties": {name: {"type": ["string", "null"]} for name in ("message", "type", "param", "code")},
    }


def describe_request(permissions: Permissions) -> dict[str, Any]:
    """The schema of a chat completion request."""
    message = {**OBJECT_TYPE, "required": ["role"], "properties": {"role": TEXT_TYPE, "content": {}}}
    stream_options = {**OBJECT_TYPE, "properties": {"include_usage": {"type": "boolean"}}}
    return {
        **OBJECT_TYPE,
        "required": ["model", "messages"],
        "properties": {
            "model": {**TEXT_TYPE, "description": "METHOD or METHOD@COLLECTION"},
            "messages": {"type": "array", "items": message, "minItems": 1},
            "stream": {"type": "boolean", "default": False},
            "stream_options": stream_options,
            "quorum": {**OBJECT_TYPE, "properties": describe_settings(permissions), "additionalProperties": False},
        },
    }


def describe_settings(permissions: Permissions) -> dict[str, Any]:
    """The schema of the field `quorum`: the settings that a client may choose, and `sources` and `history`."""
    sources = {"type": "boolean", "default": True, "description": "Whether a list of sources follows the answer"}
    history = {"type": "boolean", "default": True, "description": "Whether earlier messages are read"}
    return {**describe_allowed_settings(permissions), "sources": sources, "history": history}


def describe_allowed_settings(permissions: Permissions) -> dict[str, Any]:
    """The schemas of the settings that a client may choose."""
    from quorum.core.context import get_setting_schemas

    schemas = get_setting_schemas()
    limits = {name: {"maximum": permissions.get_largest_value(name)} for name in LARGEST_VALUES}
    choices = {
        name: {"description": schemas[name]["description"], "enum": list(values)}
        for name, values in ALLOWED_CHOICES.items()
    }
    models = {name: {**TEXT_TYPE, "description": schemas[name]["description"]} for name in MODEL_SETTINGS}
    return {name: {**schemas[name], **limits.get(name, {})} for name in ALLOWED_SETTINGS} | choices | models
