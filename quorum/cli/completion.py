"""What the shell offers for an argument or an option's value when Tab is pressed."""

from collections.abc import Iterable


def keep_matching(names: Iterable[str], start: str) -> list[str]:
    """The names that begin with what was typed."""
    return sorted(name for name in names if name.startswith(start))


def complete_method(incomplete: str) -> list[str]:
    """The names of methods, those of installed packages included."""
    from quorum.graphs.catalogue import list_methods

    return keep_matching(list_methods(), incomplete)


def complete_methods(incomplete: str) -> list[str]:
    """The last of several names of methods with commas between them."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete_method(last)]


def complete_prompt(incomplete: str) -> list[str]:
    """The names of prompts."""
    from quorum.prompts import BUILT_IN

    return keep_matching(BUILT_IN, incomplete)


def complete_setting(incomplete: str) -> list[str]:
    """The names of settings, for --set, each with its "="."""
    from dataclasses import fields

    from quorum.core.context import Context

    return keep_matching((f"{field.name}=" for field in fields(Context)), incomplete)


def complete_experiment(incomplete: str) -> list[str]:
    """The names of experiments."""
    from quorum.evaluation.experiments.catalogue import EXPERIMENTS

    return keep_matching(EXPERIMENTS, incomplete)
