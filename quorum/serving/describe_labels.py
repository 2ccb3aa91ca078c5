"""Labels in the server's OpenAPI document, with an example of every request and response."""

from typing import Any

from quorum.serving.runs.describe import OBJECT_TYPE, TEXT_TYPE, PathWriter

TASK = {"id": "1b9df2d0c4e85a17", "question": "Who books train tickets?", "answers": ["the travel desk"]}


def describe_labels(writer: PathWriter) -> dict[str, Any]:
    """The paths of the answers that the server's owner may label."""
    name: dict[str, Any] = {"parameters": [writer.describe_parameter("name")]}
    right = {
        "type": ["array", "null"],
        "items": {"type": "boolean"},
        "description": "whether each answer is right, in the order in which they are shown; null skips them",
    }
    schema = {**OBJECT_TYPE, "required": ["task"], "properties": {"task": TEXT_TYPE, "right": right}}
    return {
        "/v1/labels": {
            "get": writer.describe(
                "Lists of answers that wait for a label; none for clients that may not label",
                {"object": "list", "data": [{"id": "support", "waiting": 12}]},
            )
        },
        "/v1/labels/{name}": {
            "get": writer.describe(
                "The first answers that wait, without the names of methods",
                {"object": "list", "data": [TASK], "waiting": 12},
                **name,
            ),
            "post": writer.describe(
                "Keep a label",
                {"waiting": 11},
                **name,
                **writer.describe_body(schema, {"task": TASK["id"], "right": [True]}),
            ),
        },
    }
