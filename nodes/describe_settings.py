"""Describes settings as plain data: for config.json, for composed.json, and to compare present with recorded ones."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

from quorum.core.context import Context, count_passages_to_find
from quorum.core.where import format_where
from quorum.datasets.examples import read_examples
from quorum.models import get_embedding_name, get_model_identity
from quorum.models.context_filters import get_filter_identity
from quorum.prompts import get_version, load_overrides

SETTINGS_THAT_CHANGE_NO_ANSWER = {
    "store",
    "journal",
    "timeout",
    "attempts",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "embedding_batch",
    "answer_measure",  # config.json names it once, because all methods have the same
}
SILVER_SETTINGS = ("silver_measure", "scorer")  # they change an answer only with filter_mode=silver
OPTIONAL_SETTINGS = {"calibration", "where", "rerank_from", *SILVER_SETTINGS}  # described only if they are set


def describe_settings(context: Context, excluded_names: Collection[str]) -> dict[str, Any]:
    """The settings, except the excluded ones, as plain data.

    Those in OPTIONAL_SETTINGS are left out if they are None. A model is described by what identifies it. A prompt that
    the user overrides is described by its version.
    """
    values = {field.name: getattr(context, field.name) for field in fields(context) if field.name not in excluded_names}
    if "rerank_from" in values:  # what the default stands for is recorded, too
        values["rerank_from"] = None if context.reranker is None else count_passages_to_find(context)
    return {
        name: to_json_value(name, value, context)
        for name, value in values.items()
        if value is not None or name not in OPTIONAL_SETTINGS
    }


def add_unset_silver_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The described settings; with filter_mode=silver, also silver_measure and scorer as None if they were not set.

    `describe_settings` leaves these two out if they are not set. With them, recorded and present settings can be
    compared name by name.

    >>> add_unset_silver_settings({"filter_mode": "silver", "scorer": "completions:test"})
    {'silver_measure': None, 'scorer': 'completions:test', 'filter_mode': 'silver'}
    """
    is_silver = settings.get("filter_mode") == "silver"
    return {**(dict.fromkeys(SILVER_SETTINGS) if is_silver else {}), **settings}


def to_json_value(name: str, value: Any, context: Context) -> Any:
    """A setting as a JSON value."""
    if name in ("model", "verifier") and value is not None:
        return get_model_identity(value, context) or get_text_or_class_name(value)
    if name == "context_filter" and value is not None:
        return get_filter_identity(value)
    if name == "where":
        return format_where(value)
    if name == "embeddings":
        return get_embedding_name(value)
    if name == "retriever" and not isinstance(value, str):
        from quorum.retrievers.identity import identify_retriever

        return identify_retriever(value)
    if name == "examples" and value is not None:
        return [dict(example) for example in read_examples(value)]
    if name == "prompts":
        return {override: get_version(override, value) for override in load_overrides(value)}
    return value if value is None or isinstance(value, str | int | float | bool) else get_text_or_class_name(value)


def format_setting(value: Any) -> str:
    """A described setting as a message shows it: a model by its spec and address, anything else as text."""
    if isinstance(value, Mapping) and "model" in value:
        return f"{value.get('provider')}:{value['model']}" + (
            f" at {value['base_url']}" if value.get("base_url") else ""
        )
    return str(value)


def get_text_or_class_name(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__
