"""What a client may choose, in the server's OpenAPI document: methods, settings, models and collections."""

from typing import Any

from quorum.serving.runs.describe import OBJECT_TYPE, TEXT_TYPE, PathWriter

METHOD = {
    "id": "concat",
    "object": "method",
    "title": "One answer from all passages",
    "family": "Read all passages at once",
    "summary": "One prompt over all passages.",
    "paper": "Liu et al. 2024",
    "calls": "n",
    "depth": "1",
    "nodes": ["__start__", "begin", "retrieve", "concat_answer", "abstain", "__end__"],
    "edges": [{"source": "begin", "target": "retrieve", "words": "", "conditional": False}],
    "svg": "/v1/methods/concat.svg",
}
SETTING = {"name": "k", "may_choose": True, "value": 5, "schema": {"type": "integer", "minimum": 1, "maximum": 50}}
MODEL = {"id": "openai:small", "object": "model", "may_choose": True, "is_default": True}
COLLECTION = {
    "id": "handbook",
    "object": "collection",
    "is_default": True,
    "state": "ready",
    "passages": 1200,
    "documents": 40,
    "bytes": 5_000_000,
    "changed": "2026-11-29T10:15:00+00:00",
    "is_sample": False,
}


def describe_choices(writer: PathWriter) -> dict[str, Any]:
    """The paths of methods, settings, models and collections."""
    describe, name_schema = writer.describe, {**OBJECT_TYPE, "required": ["name"], "properties": {"name": TEXT_TYPE}}
    is_open = {"name": "open", "in": "query", "schema": TEXT_TYPE, "description": "1: show what is inside its graphs"}
    name, collection = writer.describe_parameter("name"), writer.describe_parameter("collection")
    rename = writer.describe_body(name_schema, {"name": "travel"})
    renamed = {"id": "travel", "object": "collection"}
    return {
        "/v1/methods": {"get": describe("The methods with their graphs", make_list(METHOD))},
        "/v1/methods/{name}": {"get": describe("One method with its graph", METHOD), "parameters": [name]},
        "/v1/methods/{name}.svg": {
            "get": describe("A method's graph, laid out", "<svg/>", "image/svg+xml", parameters=[is_open]),
            "parameters": [name],
        },
        "/v1/efforts": {
            "get": describe(
                "How carefully a question may be asked, and the methods behind it",
                make_list({"name": "Fast", "methods": ["concat"], "reason": "one answer from all passages"}),
                parameters=[{"name": "collection", "in": "query", "schema": TEXT_TYPE}],
            )
        },
        "/v1/settings": {
            "get": describe(
                "The settings in groups, each with its schema and whether a client may choose it",
                make_list({"name": "Search", "settings": [SETTING]}),
            )
        },
        "/v1/providers/models": {
            "get": describe(
                "The models that a client may choose; for the owner also what the provider lists",
                {**make_list(MODEL), "note": None, "settings": ["model", "verifier"]},
            )
        },
        "/v1/collections": {"get": describe("The collections that the client may ask", make_list(COLLECTION))},
        "/v1/collections/{collection}/questions": {
            "get": describe(
                "Questions that a collection answers, to begin with", make_list("Who books train tickets?")
            ),
            "parameters": [collection],
        },
        "/v1/collections/{collection}": {
            "patch": describe("Rename a collection (the owner only)", renamed, **rename),
            "delete": describe("Delete a collection (the owner only)", {**renamed, "deleted": True, "note": None}),
            "parameters": [collection],
        },
    }


def make_list(item: Any) -> dict[str, Any]:
    return {"object": "list", "data": [item]}
