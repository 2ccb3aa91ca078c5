"""Writes the events of a run as JSON: for the server's streams, its files of runs, and programs that save them."""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from quorum.api.events import CandidateFound, Event, MethodFinished, NodeFinished, Retrying, RunFinished, VoteCast
from quorum.core.json_text import replace_surrogates_in_strings
from quorum.evaluation.shown.public_result import describe_result, make_public_update


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as a JSON object: `type`, `method` if the run has several, and the event's own fields.

    Results are as `describe_result` writes them. The objects hold no folders of the machine.

    >>> from quorum import AnswerText
    >>> event_to_json(AnswerText("Tim", method="concat"))
    {'type': 'answer_text', 'method': 'concat', 'text': 'Tim', 'replaces': False}
    """
    head = {"type": event.type} | ({"method": event.method} if event.method else {})
    cleaned: dict[str, Any] = clean_value({**head, **describe_fields(event)})
    return cleaned


def describe_fields(event: Event) -> dict[str, Any]:
    """The fields of an event that are no part of every event."""
    if isinstance(event, NodeFinished):
        update = make_public_update(event.update)
        return {"node": event.node, "inside": event.inside, "update": update, "phase": event.phase}
    if isinstance(event, VoteCast):
        return dict(event.vote)
    if isinstance(event, CandidateFound):
        return {"text": event.candidate, "rank": event.rank}
    if isinstance(event, Retrying):
        return {
            "cause": event.cause,
            "try": event.next_try,
            "tries": event.tries,
            "wait": event.wait,
            "text": event.text,
        }
    if isinstance(event, MethodFinished):
        result = {"result": describe_result(event.result), "seconds": event.seconds}
        of_run = {"groups": event.groups, "answered_text": event.answered_text}
        return result | {name: value for name, value in of_run.items() if value}
    if isinstance(event, RunFinished):
        names = ("groups", "failures", "passages", "passages_text")
        return {name: getattr(event, name) for name in names}
    return {part.name: getattr(event, part.name) for part in fields(event) if part.name != "method"}


def clean_value(value: Any) -> Any:
    """JSON that every parser reads: without lone surrogates, and with null for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(clean_value(str(name))): clean_value(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return replace_surrogates_in_strings(value)
