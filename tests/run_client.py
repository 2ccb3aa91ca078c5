"""A client of the runs API that reads a run's events."""

import json
from collections.abc import Iterator
from typing import Any

import httpx


def ask_run(url: str, question: str, *methods: str, key: str = "none", **fields: Any) -> str:
    """Start a run, and return its id."""
    body = {"question": question, "methods": list(methods), **fields}
    response = httpx.post(f"{url}/v1/runs", json=body, headers=make_headers(key), timeout=60)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def iterate_events(url: str, run: str, after: int = 0, key: str = "none") -> Iterator[dict[str, Any]]:
    """The events of a run after a number, as they come. An event counts once its last line has come."""
    headers = {**make_headers(key), "last-event-id": str(after)}
    with httpx.stream("GET", f"{url}/v1/runs/{run}/events", headers=headers, timeout=60) as response:
        assert response.status_code in (200, 204), response.read()
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                event = json.loads(fields["data"])
                assert (fields["id"], fields["event"]) == (str(event["n"]), event["type"])
                yield event
                fields = {}


def read_run(url: str, run: str, after: int = 0, key: str = "none") -> list[dict[str, Any]]:
    """All events of a run after a number, until it has ended."""
    return list(iterate_events(url, run, after, key))


def make_headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}
