"""Composed methods written for tests, and the passages that they answer from."""

import json
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.nodes.describe_settings import SETTINGS_THAT_CHANGE_NO_ANSWER, describe_settings

GIVEN_PASSAGES = [
    {"id": "a", "title": "A", "text": "The tower is red."},
    {"id": "b", "title": "B", "text": "The tower is old."},
]


CONTEXT = Context(model="openai:test", k=2, journal="off", retriever="bm25")


StageAcceptance = dict[str, Any] | None  # None: every answer of the stage is accepted


def write_cascade(folder: Path, *stages: tuple[str, StageAcceptance, dict[str, Any]]) -> str:
    """Write a composed method's file and return its path. Each stage: its method, the test that its answer must pass to
    be accepted, and those of its settings that differ from CONTEXT.
    """
    settings = describe_settings(CONTEXT, SETTINGS_THAT_CHANGE_NO_ANSWER | {"retriever", "collection"})
    stage_fields = [
        {"name": method, "method": method, "accept": accept, "settings": {**settings, **stage_settings}, "prompts": {}}
        for method, accept, stage_settings in stages
    ]
    file = folder / "composed.json"
    file.write_text(json.dumps({"kind": "quorum composed", "stages": stage_fields, "certificate": None}))
    return str(file)
