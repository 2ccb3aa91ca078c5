"""Which methods an evaluation runs, each with its own settings: `concat,post_fusion[vote=staged;k=10]`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from core.context import Context, parse_value
from core.errors import SetupError
from graphs import METHODS, method_of

ITEM = re.compile(r"\s*(?P<method>[^\[\],;=\s]+)\s*(?:\[(?P<settings>[^\[\]]*)\]\s*)?(?:,|$)")


@dataclass(frozen=True)
class MethodRun:
    """One column of an evaluation. `name`, the method with its own settings, is its key in the results.

    top: how many of the passages found are read, the best ones; None: all of them.
    """

    name: str
    method: str
    settings: Mapping[str, str]
    context: Context
    top: int | None = None

    @property
    def pool(self) -> bool:
        """Whether the answers that were voted on can be counted.

        A staged vote stops before all of them are known.
        """
        return self.context.vote == "all" and "passage_answer" in METHODS[self.method].graph.nodes

    def for_task(self, task: str) -> Context:
        """The context with that answer type, unless the run or its context was given one."""
        own = "answer_type" in self.settings or self.context.answer_type != "short"
        return self.context if own or task == "short" else replace(self.context, answer_type=cast(Any, task))


def parse_methods(text: str, context: Context) -> list[MethodRun]:
    """The runs named in `text` ('all' is every method), their settings over those of `context`."""
    runs: list[MethodRun] = []
    position = 0
    while position < len(text):
        item = ITEM.match(text, position)
        if item is None:
            raise SetupError(
                f"Methods {text!r} cannot be read at {text[position:][:30]!r}; "
                "write names with a comma between, settings in brackets: 'concat,post_fusion[vote=staged;k=10]'."
            )
        position = item.end()
        settings = parse_settings((item["settings"] or "").split(";"))
        names = list(METHODS) if item["method"] == "all" else [method_of(item["method"]).name]
        runs += [method_run(name, settings, context) for name in names]
    if not runs:
        raise SetupError(f"No method is named; give 'all' or some of: {', '.join(METHODS)}.")
    twice = {run.name for run in runs if [other.name for other in runs].count(run.name) > 1}
    if twice:
        raise SetupError(f"Method {min(twice)} is named twice; runs of one method need different settings in brackets.")
    return runs


def parse_settings(items: list[str]) -> dict[str, str]:
    """{key: value} of key=value texts; empty ones are skipped."""
    settings: dict[str, str] = {}
    for item in filter(str.strip, items):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise SetupError(f"Setting {item.strip()!r} cannot be read; write it as key=value, for example k=10.")
        if key in settings:
            raise SetupError(f"Setting {key!r} is given twice ({settings[key]} and {value}); give it once.")
        settings[key] = value
    return settings


def method_run(method: str, settings: Mapping[str, str], context: Context) -> MethodRun:
    typed = {key: parse_value(key, value) for key, value in settings.items()}
    name = f"{method}[{';'.join(f'{key}={value}' for key, value in settings.items())}]" if settings else method
    return MethodRun(name=name, method=method, settings=dict(settings), context=replace(context, **typed))
