"""The settings of a run as plain data: what may change an answer, as config.json and composed.json keep it."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from quorum.core.context import Context
from quorum.datasets.examples import read_examples
from quorum.models import embedding_name, identity
from quorum.models.context_filters import filter_identity
from quorum.prompts import get_version, load_overrides

HOW = {"store", "journal", "timeout", "attempts", "concurrency", "requests_per_minute", "tokens_per_minute"}
WHEN_SET = {"calibration"}  # described only where there is one


def describe_settings(context: Context, left_out: Collection[str]) -> dict[str, Any]:
    """The settings as plain data: models by what identifies them, overriding prompts by their versions."""
    values = {part.name: getattr(context, part.name) for part in fields(context) if part.name not in left_out}
    return {
        name: plain(name, value, context) for name, value in values.items() if value is not None or name not in WHEN_SET
    }


def plain(name: str, value: Any, context: Context) -> Any:
    """A setting as JSON can hold it."""
    if name in ("model", "verifier") and value is not None:
        return identity(value, context) or class_name(value)
    if name == "context_filter" and value is not None:
        return filter_identity(value)
    if name == "embeddings":
        return embedding_name(value)
    if name == "examples" and value is not None:
        return [dict(example) for example in read_examples(value)]
    if name == "prompts":
        return {one: get_version(one, value) for one in load_overrides(value)}
    return value if value is None or isinstance(value, str | int | float | bool) else class_name(value)


def class_name(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__
