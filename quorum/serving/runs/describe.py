"""The runs API in the server's OpenAPI document, with an example of every request and response."""

from collections.abc import Mapping
from typing import Any

TEXT_TYPE, OBJECT_TYPE, NUMBER_TYPE = {"type": "string"}, {"type": "object"}, {"type": "integer"}
RUN_ID = "20261129-101500-000000a1b2c3d4"
RUN: dict[str, Any] = {
    "id": RUN_ID,
    "object": "run",
    "title": "Who books train tickets?",
    "asked_at": 1795947300.0,
    "question": "Who books train tickets?",
    "methods": ["concat", "sure[k=3]"],
    "settings": {"k": 5},
    "collection": "handbook",
    "state": "running",
}
REQUEST = {name: RUN[name] for name in ("question", "methods", "collection", "settings")}
GROUP = {"answer": "the travel desk", "unknown": False, "methods": ["concat", "sure[k=3]"]}
GROUPS = [{**GROUP, "methods_text": "2 of 2 methods"}]
SPAN = {"method": "concat", "start": 12, "end": 27}
READ_PASSAGE = {"id": "8e22e3752c3091c0", "read_by": ["concat", "sure[k=3]"], "voted_by": [], "cited_by": [SPAN]}
CALL: dict[str, Any] = {
    "method": "concat",
    "node": "concat_answer",
    "name": "answer",
    "prompt": "Answer in a few words ...",
    "reply": "the travel desk",
    "seconds": 0.9,
}
CITATION = {"n": 1, "passage": "8e22e3752c3091c0", "start": 12, "end": 27, "document": "travel.pdf", "page": 3}
CITATION |= {"document_id": "0f3a5b7c9d1e2f30", "metadata": {"source": "travel.pdf", "page": 3}}
RESULT = {
    "answer": "the travel desk",
    "unknown": False,
    "answer_markdown": "the travel desk",
    "verdict": "supported",
    "citations": [CITATION],
    "totals": {"calls": 1, "input_tokens": 773, "output_tokens": 4},
}
ANSWER = {"method": "concat", "state": "finished", "result": RESULT, "seconds": 1.2}
WHOLE_RUN: dict[str, Any] = {
    **RUN,
    "state": "finished",
    "answers": [ANSWER],
    "groups": GROUPS,
    "failures": [],
    "passages": [READ_PASSAGE],
    "passages_text": "1 passage read, by 2 methods",
    "answered_text": "2 of 2 methods have answered",
    "last_event": 35,
}
CONVERSATION = {"format": "quorum conversation 1", "runs": [{**WHOLE_RUN, "events": []}]}
EVENT_TYPES = (
    *("run_started", "node_started", "node_finished", "vote", "candidate", "answer_text", "retrying"),
    *("method_finished", "error", "run_finished"),
)
EVENT_STREAM = (
    f'id: 1\nevent: run_started\ndata: {{"n": 1, "type": "run_started", "question": "{RUN["question"]}", '
    '"methods": ["concat"]}\n\nid: 2\nevent: node_started\n'
    'data: {"n": 2, "type": "node_started", "method": "concat", "node": "begin", "inside": []}\n\n'
)
REQUEST_SCHEMA = {
    **OBJECT_TYPE,
    "required": ["question"],
    "additionalProperties": False,
    "properties": {
        "question": TEXT_TYPE,
        "methods": {"type": "array", "items": TEXT_TYPE, "description": "Methods, with settings as in sure[k=3]"},
        "collection": {**TEXT_TYPE, "description": "Left out: the server's own"},
        "model": {**TEXT_TYPE, "description": "Left out: the server's own"},
        "settings": {**OBJECT_TYPE, "description": "As in the field `quorum` of a chat completion request"},
        "where": {"description": "The setting `where`, for all methods"},
        "follows": {**TEXT_TYPE, "description": "The id of the run that this question follows up"},
    },
}
AFTER = {
    "name": "Last-Event-ID",
    "in": "header",
    "schema": NUMBER_TYPE,
    "description": "The number of the last event that is known; the parameter `after` says the same",
}


class PathWriter:
    """Writes operations with examples. describe_operation: `quorum.serving.openapi.describe_operation`."""

    def __init__(self, describe_operation: Any) -> None:
        self.describe_operation = describe_operation

    def describe(
        self, summary: str, example: Any, content_type: str = "application/json", status: str = "200", **more: Any
    ) -> dict[str, Any]:
        """An operation with an example of its response. more: further fields."""
        schema = OBJECT_TYPE if content_type == "application/json" else TEXT_TYPE
        operation = self.describe_operation(summary, summary, {content_type: schema})
        operation["responses"]["200"]["content"][content_type]["example"] = example
        responses = dict(operation["responses"])
        return {**operation, "responses": {status: responses.pop("200"), **responses}, **more}

    def describe_body(self, schema: Mapping[str, Any], example: Any) -> dict[str, Any]:
        """The field of an operation that describes the request's body."""
        content = {"application/json": {"schema": schema, "example": example}}
        return {"requestBody": {"required": True, "content": content}}

    def describe_parameter(self, name: str) -> dict[str, Any]:
        """A part of the path."""
        return {"name": name, "in": "path", "required": True, "schema": TEXT_TYPE}


def describe_runs(writer: PathWriter) -> dict[str, Any]:
    """The paths of the runs API."""
    describe, describe_body = writer.describe, writer.describe_body
    reader = {**TEXT_TYPE, "enum": ["offline"], "description": "offline: the embedded model answers"}
    method_schema = {**OBJECT_TYPE, "required": ["method"], "properties": {"method": TEXT_TYPE, "reader": reader}}
    method_in_query = {"name": "method", "in": "query", "required": True, "schema": TEXT_TYPE}
    calls = describe(
        "The model calls of a method, with prompts and replies",
        {"object": "list", "data": [CALL]},
        parameters=[method_in_query],
    )
    title_schema = {**OBJECT_TYPE, "required": ["title"], "properties": {"title": TEXT_TYPE}}
    deleted = {"id": RUN_ID, "object": "run", "deleted": True}
    one = "/v1/runs/{id}"
    ask = describe("Ask methods a question", RUN, status="201", **describe_body(REQUEST_SCHEMA, REQUEST))
    retry_body = describe_body(method_schema, {"method": "concat"})
    retry = describe("Ask one method of a run again", RUN, status="202", **retry_body)
    rename = describe("Name a run", RUN | {"title": "Travel"}, **describe_body(title_schema, {"title": "Travel"}))
    events = describe(
        f"The events of a run, numbered, until it ends: {', '.join(EVENT_TYPES)}",
        EVENT_STREAM,
        "text/event-stream",
        parameters=[AFTER],
    )
    events["responses"]["204"] = {"description": "No event will come"}
    paths: dict[str, Any] = {
        "/v1/runs": {
            "post": ask,
            "get": describe(
                "The client's runs, newest first",
                {"object": "list", "data": [RUN], "has_more": False},
                parameters=[
                    {"name": "q", "in": "query", "schema": TEXT_TYPE, "description": "Words of title or question"},
                    {
                        "name": "first",
                        "in": "query",
                        "schema": TEXT_TYPE,
                        "description": "1: without runs that follow another one",
                    },
                    {"name": "before", "in": "query", "schema": TEXT_TYPE, "description": "The id of a run"},
                    {"name": "limit", "in": "query", "schema": NUMBER_TYPE, "description": "1 to 100; 30"},
                ],
            ),
        },
        one: {
            "get": describe("A run with its answers so far", WHOLE_RUN),
            "patch": rename,
            "delete": describe("Stop and remove a run", deleted),
        },
        f"{one}/events": {"get": events},
        f"{one}/conversation": {
            "get": describe("The runs of a conversation, the earliest first", {"object": "list", "data": [WHOLE_RUN]})
        },
        f"{one}/calls": {"get": calls},
        f"{one}/stop": {"post": describe("Stop the methods that have not answered", WHOLE_RUN)},
        f"{one}/retry": {"post": retry},
        f"{one}.md": {"get": describe("A conversation as Markdown", "# Who books train tickets?\n", "text/markdown")},
        f"{one}.json": {"get": describe("A conversation with its events, as a file", CONVERSATION)},
    }
    for path, operations in paths.items():
        if "{id}" in path:
            operations["parameters"] = [writer.describe_parameter("id")]
    return paths
