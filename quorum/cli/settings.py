"""Reads a command's context from its options and --set."""

from collections.abc import Sequence
from typing import Any

from quorum.core.context import Context, make_context
from quorum.core.errors import SetupError


def read_context(settings: Sequence[str] | None, **options: Any) -> Context:
    """The context from the options and the key=value texts of --set; the environment and the defaults give the rest.

    Raises `SetupError` for a text without a key or "=", and for a setting that is given twice in --set, or both in
    --set and as an option.
    """
    chosen_settings: dict[str, str] = {}
    for item in settings or ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise SetupError(
                f"--set {item!r} cannot be read; write --set key=value, for example --set temperature=0.7."
            )
        if key in chosen_settings:
            raise SetupError(f"--set {key} is given twice ({chosen_settings[key]!r} and {value!r}); give it once.")
        if options.get(key) is not None:
            raise SetupError(f"Both --{key} {options[key]} and --set {key}={value} are given; give one of them.")
        chosen_settings[key] = value
    return make_context(chosen_settings, **options)


def is_stated(name: str, settings: Sequence[str] | None) -> bool:
    """Whether the key=value texts of --set contain the setting with this name, even with its default value."""
    return name in list_stated_settings(settings)


def find_stated_task(context: Context, settings: Sequence[str] | None) -> str | None:
    """The answer type that --set states, as the task of all questions; None if it states none, or "auto": each question
    then has the task that the data give it.
    """
    is_task = is_stated("answer_type", settings) and context.answer_type != "auto"
    return context.answer_type if is_task else None


def list_stated_settings(settings: Sequence[str] | None) -> frozenset[str]:
    """The names of the settings that the key=value texts of --set contain, even with their default values."""
    return frozenset(item.partition("=")[0].strip() for item in settings or ())
